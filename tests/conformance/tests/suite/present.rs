//! Arguments whose data has an original on the host: only raw functions accept those.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance_calls::RawCall;
use revoff_host::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;
use revoff_host::{DeviceBuffer, Functions};

use crate::maps::probing;
use crate::raw::{Done, Form, Where, perform_as, words};
use crate::session::Session;
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(every_kind_of_present_data),
    test!(parts_of_present_data),
    test!(a_pointer_to_present_data),
    test!(data_that_is_present_in_part),
    test!(typed_functions_get_no_originals),
    test!(absent_data_with_a_raw_function),
    test!(originals_in_use_stay),
];

/// The behaviour of a raw function: C functions have no environment, so that each call sends a
/// number to find it by.
type Body = Arc<dyn Fn(&[usize]) + Send + Sync>;

static BODIES: Mutex<BTreeMap<u64, Body>> = Mutex::new(BTreeMap::new());

/// The first argument is the number of a body, the second the number of further ones.
unsafe extern "C" fn raw_probe(args: *mut *mut c_void) {
    // SAFETY: every call of the tests below sends these two values, followed by as many arguments
    // as the second says.
    let (number, args) = unsafe {
        let count = (*args.add(1)).addr();
        (
            (*args).addr() as u64,
            std::slice::from_raw_parts(args.add(2), count),
        )
    };
    let body = BODIES.lock().unwrap().get(&number).cloned();
    let addresses: Vec<_> = args.iter().map(|arg| arg.addr()).collect();
    body.expect("a test that runs")(&addresses);
}

/// A runtime with a raw function.
struct Raw {
    session: Session,
    number: u64,
    seen: Arc<Mutex<Vec<usize>>>,
}

impl Raw {
    /// The function calls `body` with the addresses of its arguments.
    fn new(target: &Target, body: impl Fn(&[usize]) + Send + Sync + 'static) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut functions = Functions::new();
        // SAFETY: only the kernels of these tests call `raw_probe`, with the arguments that it
        // expects.
        unsafe { functions.add_raw("probe", raw_probe).unwrap() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&seen);
        let body = move |args: &[usize]| {
            *note.lock().unwrap() = args.to_vec();
            body(args);
        };
        BODIES.lock().unwrap().insert(number, Arc::new(body));
        Self {
            session: Session::new(target, &functions),
            number,
            seen,
        }
    }

    fn call(&self, data: &DeviceBuffer, forms: &[Form]) -> Done {
        let mut all = vec![Form::value(self.number), Form::value(forms.len() as u64)];
        all.extend(forms);
        let call = RawCall {
            func: words(&self.session).probe,
            device: GOMP_DEVICE_HOST_FALLBACK,
            flags: REVOFF_FLAG_STATUS,
            ..RawCall::default()
        };
        perform_as(&self.session, Where::Memory, data, &all, call)
    }

    fn seen(&self) -> Vec<usize> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        BODIES.lock().unwrap().remove(&self.number);
    }
}

/// Host data that is declared present, until it is dropped.
struct Original<'a> {
    session: &'a Session,
    host: NonNull<u8>,
    len: usize,
    device: u64,
}

impl<'a> Original<'a> {
    fn of(session: &'a Session, buffer: &DeviceBuffer, content: &[u8]) -> Self {
        let host = Box::leak(content.to_vec().into_boxed_slice());
        let (host, len) = (NonNull::from(&mut *host).cast::<u8>(), host.len());
        let device = buffer.address().0;
        // SAFETY: the bytes are leaked, and used only through `host` from here on, until `drop` has
        // removed them from the table.
        unsafe { session.runtime.present().insert(host, device, len) }.unwrap();
        Self {
            session,
            host,
            len,
            device,
        }
    }

    fn addr(&self) -> usize {
        self.host.as_ptr().addr()
    }

    fn content(&self) -> Vec<u8> {
        // SAFETY: valid as long as `self`; no kernel runs while a test reads it.
        unsafe { std::slice::from_raw_parts(self.host.as_ptr(), self.len) }.to_vec()
    }

    fn fill(&self, byte: u8) {
        // SAFETY: valid as long as `self`; no kernel runs while a test writes it.
        unsafe { self.host.as_ptr().write_bytes(byte, self.len) };
    }
}

impl Drop for Original<'_> {
    fn drop(&mut self) {
        // In a failed test a call may still use it: the bytes then stay.
        if self.session.runtime.present().remove(self.device).is_ok() {
            let bytes = std::ptr::slice_from_raw_parts_mut(self.host.as_ptr(), self.len);
            // SAFETY: leaked from a box of this length in `of`, and removed from the table.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

/// Kinds, and whether they copy to the original, and from it.
const KINDS: [(MapKind, bool, bool); 20] = [
    (MapKind::TO, false, false),
    (MapKind::FROM, false, false),
    (MapKind::TOFROM, false, false),
    (MapKind::ALLOC, false, false),
    (MapKind::FORCE_ALLOC, false, false),
    (MapKind::FORCE_PRESENT, false, false),
    (MapKind::ZERO_LEN_ARRAY_SECTION, false, false),
    (MapKind::DELETE, false, false),
    (MapKind::RELEASE, false, false),
    (MapKind::TO_PSET, false, false),
    (MapKind::FORCE_TO, true, false),
    (MapKind::FORCE_FROM, false, true),
    (MapKind::FORCE_TOFROM, true, true),
    (MapKind::ALWAYS_TO, true, false),
    (MapKind::ALWAYS_FROM, false, true),
    (MapKind::ALWAYS_TOFROM, true, true),
    (MapKind::ALWAYS_PRESENT_TO, true, false),
    (MapKind::ALWAYS_PRESENT_FROM, false, true),
    (MapKind::ALWAYS_PRESENT_TOFROM, true, true),
    (MapKind(MapKind::TO.0 | 0x60), false, false),
];

fn every_kind_of_present_data(target: &Target) {
    let raw = Raw::new(target, |_| {});
    for len in [8, 100, 300, 30_000] {
        for (kind, to, from) in KINDS {
            let data = raw.session.filled(&vec![1u8; len]);
            let original = Original::of(&raw.session, &data, &vec![2; len]);
            let done = raw.call(&data, &[Form::at(0, len, kind)]);
            let what = format!("{len} bytes, {kind:?}");
            done.result
                .as_ref()
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(
                raw.seen(),
                [original.addr()],
                "{what}: it gets the original"
            );
            let on_host = if to { 1 } else { 2 };
            assert!(
                original.content() == vec![on_host; len],
                "{what}: on the host"
            );
            let on_device = if from { on_host } else { 1 };
            assert!(done.data == vec![on_device; len], "{what}: on the device");
        }
        let data = raw.session.filled(&vec![1u8; len]);
        let original = Original::of(&raw.session, &data, &vec![2; len]);
        raw.call(&data, &[Form::at(0, len, MapKind::FIRSTPRIVATE)])
            .result
            .unwrap();
        let seen = raw.seen()[0];
        assert!(
            !(original.addr()..original.addr() + len).contains(&seen),
            "a private copy"
        );
        original.fill(3);
        let done = raw.call(&data, &[Form::at(0, len, MapKind::FORCE_FROM)]);
        done.result.unwrap();
        assert!(done.data == vec![3; len]);
    }
    assert!(raw.session.runtime.present().is_empty());
}

fn parts_of_present_data(target: &Target) {
    let raw = Raw::new(target, |_| {});
    let data = raw.session.filled(&[1u8; 1000]);
    let original = Original::of(&raw.session, &data, &[2; 1000]);
    let forms = [
        Form::at(100, 50, MapKind::TO),
        Form::at(990, 10, MapKind::ALWAYS_TO),
        Form::at(500, 300, MapKind::ALWAYS_FROM),
        Form::at(1000, 0, MapKind::ALLOC),
    ];
    let done = raw.call(&data, &forms);
    done.result.unwrap();
    let base = original.addr();
    assert_eq!(raw.seen()[..3], [base + 100, base + 990, base + 500]);
    assert!(original.content() == [vec![2; 990], vec![1; 10]].concat());
    assert!(done.data == [vec![1; 500], vec![2; 300], vec![1; 200]].concat());
}

/// Absent data that contains a pointer to present data.
fn a_pointer_to_present_data(target: &Target) {
    let raw = Raw::new(target, |_| {});
    let shown = raw.session.filled(&[1u8; 64]);
    let original = Original::of(&raw.session, &shown, &[2; 64]);
    let data = raw.session.filled(&[shown.address().0 + 16, 0, 0]);
    let forms = [
        Form::at(0, 24, MapKind::TO_PSET),
        Form::at(0, 0, MapKind::POINTER),
    ];
    raw.call(&data, &forms).result.unwrap();
    assert_eq!(
        raw.seen()[1],
        original.addr() + 16,
        "the descriptor's pointer"
    );
}

fn data_that_is_present_in_part(target: &Target) {
    let raw = Raw::new(target, |_| {});
    let data = raw.session.filled(&[1u8; 100]);
    // Only the first half.
    let part = Original::of(&raw.session, &data, &[2; 50]);
    for form in [
        Form::at(40, 20, MapKind::TOFROM),
        Form::at(0, 51, MapKind::FORCE_PRESENT),
    ] {
        let done = raw.call(&data, &[form]);
        assert!(done.error().contains("only in part"), "{}", done.error());
        let expected = if target.reports_status() {
            Status::REFUSED_MAPPING
        } else {
            Status::NONE
        };
        assert_eq!(done.status, expected);
        assert_eq!(done.data, [1; 100]);
    }
    assert!(raw.seen().is_empty(), "the function did not run");
    raw.call(&data, &[Form::at(50, 50, MapKind::TOFROM)])
        .result
        .unwrap();
    assert_eq!(part.content(), [2; 50]);
}

/// Others may use an original at any time, so references to it would be unsound.
fn typed_functions_get_no_originals(target: &Target) {
    let (session, notes) = probing(target, |_| Ok(()));
    let data = session.filled(&[1u8; 64]);
    let original = Original::of(&session, &data, &[2; 64]);
    let call = RawCall {
        func: words(&session).probe,
        device: GOMP_DEVICE_HOST_FALLBACK,
        flags: REVOFF_FLAG_STATUS,
        ..RawCall::default()
    };
    let form = Form::at(0, 64, MapKind::TO);
    let done = perform_as(&session, Where::Memory, &data, &[form], call);
    assert!(
        done.error().contains("is mapped host memory"),
        "{}",
        done.error()
    );
    assert!(notes.lock().unwrap().is_empty());
    drop(original);
    let done = perform_as(&session, Where::Memory, &data, &[form], call);
    done.result.unwrap();
    assert_eq!(notes.lock().unwrap()[0].bytes, [1; 64]);
}

fn absent_data_with_a_raw_function(target: &Target) {
    let raw = Raw::new(target, |args| {
        // SAFETY: the one argument is 8 bytes that the call sends both ways.
        unsafe { *(args[0] as *mut u64) += 1 };
    });
    let data = raw.session.filled(&[41u64]);
    let done = raw.call(&data, &[Form::at(0, 8, MapKind::TOFROM.with_align(8))]);
    done.result.unwrap();
    assert_eq!(done.data, 42u64.to_ne_bytes());
}

/// While a call uses an original it cannot be removed from the table.
fn originals_in_use_stay(target: &Target) {
    let tried = Arc::new(Mutex::new(None));
    let (note, runtime) = (Arc::clone(&tried), Arc::new(Mutex::new(None)));
    let place: Arc<Mutex<Option<(revoff_host::Runtime, u64)>>> = Arc::clone(&runtime);
    let raw = Raw::new(target, move |_| {
        let place = place.lock().unwrap();
        let (runtime, device) = place.as_ref().expect("it was set before the call");
        *note.lock().unwrap() = Some(runtime.present().remove(*device));
    });
    let data = raw.session.filled(&[1u8; 64]);
    let original = Original::of(&raw.session, &data, &[2; 64]);
    *runtime.lock().unwrap() = Some((raw.session.runtime.clone(), data.address().0));
    raw.call(&data, &[Form::at(8, 8, MapKind::TO)])
        .result
        .unwrap();
    let error = tried
        .lock()
        .unwrap()
        .take()
        .expect("it was called")
        .unwrap_err();
    assert!(
        error.to_string().contains("in use by a running host call"),
        "{error}"
    );
    raw.session
        .runtime
        .present()
        .remove(data.address().0)
        .expect("nobody uses it now");
    // A body that owns the runtime would keep it forever.
    runtime.lock().unwrap().take();
    drop(original);
}
