//! Functions whose arguments another runtime maps, or leaves to this one; and other needs of such a
//! runtime: copies by address, memory with any content.

use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance_calls::RawCall;
use revoff_host::device::Fill;
use revoff_host::map::Arg;
use revoff_host::shared_abi::gomp::{GOMP_DEVICE_HOST_FALLBACK, REVOFF_FLAG_STATUS};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;
use revoff_host::{ForeignError, ForeignFunction, Functions, RequestMemory};

use crate::failures::status;
use crate::raw::{Done, Form, Where, perform_as, words};
use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(another_runtime_maps),
    test!(another_runtime_leaves_it),
    test!(another_runtime_refuses),
    test!(another_runtime_gets_no_invalid_arguments),
    test!(copies_on_the_device),
];

/// A function that adds 1 to each byte of its first argument.
#[derive(Default)]
struct Increments {
    maps: bool,
    refuses: bool,
    calls: Mutex<Vec<&'static str>>,
}

impl ForeignFunction for Increments {
    fn must_map(&self, args: &[Arg]) -> bool {
        assert!(!args.is_empty());
        self.maps
    }

    fn may_have_mapped(&self, _: u64, _: u64) -> bool {
        self.maps
    }

    fn call_mapping(
        &self,
        args: &[Arg],
        memory: Rc<dyn RequestMemory>,
    ) -> Result<(), ForeignError> {
        self.calls.lock().unwrap().push("call_mapping");
        if self.refuses {
            return Err("it does not like it".into());
        }
        let Arg { addr, size, .. } = args[0];
        // In two parts: data that came with a request is found by inner addresses, too.
        let (first, rest) = (size / 2, size - size / 2);
        for (addr, len) in [(addr, first as usize), (addr + first, rest as usize)] {
            let mut bytes = vec![0; len];
            // SAFETY: `bytes` has this length.
            unsafe { memory.read(bytes.as_mut_ptr(), addr, len) }?;
            bytes.iter_mut().for_each(|byte| *byte += 1);
            // SAFETY: `bytes` has this length.
            unsafe { memory.write(addr, bytes.as_ptr(), len) }?;
        }
        Ok(())
    }

    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), ForeignError> {
        self.calls.lock().unwrap().push("call");
        if self.refuses {
            return Err("it does not like it".into());
        }
        // SAFETY: the tests map this many bytes as the first argument.
        let bytes = unsafe { std::slice::from_raw_parts_mut(pointers[0].cast::<u8>(), BYTES) };
        bytes.iter_mut().for_each(|byte| *byte += 1);
        Ok(())
    }
}

/// The size of the argument.
const BYTES: usize = 40;

/// Calls `function` from a device thread with bytes at `place`, which are all 1.
fn call(target: &Target, function: &Arc<Increments>, place: Where) -> Done {
    let forms = [Form::at(0, BYTES, MapKind::TOFROM)];
    call_with(target, function, place, &forms)
}

fn call_with(target: &Target, function: &Arc<Increments>, place: Where, forms: &[Form]) -> Done {
    let session = Session::new(target, &Functions::new());
    let func = words(&session).probe;
    let foreign = Arc::clone(function) as Arc<dyn ForeignFunction>;
    // SAFETY: it takes what this test sends: `BYTES` bytes.
    unsafe { session.program.add_foreign(func, "increments", foreign) };
    let data = session.filled(&[1u8; BYTES]);
    let call = RawCall {
        func,
        device: GOMP_DEVICE_HOST_FALLBACK,
        flags: REVOFF_FLAG_STATUS,
        ..RawCall::default()
    };
    perform_as(&session, place, &data, forms, call)
}

fn check(target: &Target, maps: bool, through: &'static str) {
    for place in [Where::Memory, Where::Stack] {
        let function = Arc::new(Increments {
            maps,
            ..Increments::default()
        });
        let done = call(target, &function, place);
        done.result.unwrap();
        assert!(done.data == [2; BYTES], "{place:?}: {:?}", done.data);
        assert_eq!(*function.calls.lock().unwrap(), [through]);
    }
}

fn another_runtime_maps(target: &Target) {
    check(target, true, "call_mapping");
}

fn another_runtime_leaves_it(target: &Target) {
    check(target, false, "call");
}

fn another_runtime_refuses(target: &Target) {
    for maps in [true, false] {
        let function = Arc::new(Increments {
            maps,
            refuses: true,
            ..Increments::default()
        });
        let done = call(target, &function, Where::Memory);
        let error = done.error();
        assert!(
            error.contains("increments") && error.contains("it does not like it"),
            "{error}"
        );
        assert!(done.data == [1; BYTES]);
        let expected = status(target, Status::REFUSED_MAPPING);
        assert_eq!(done.status.0, expected);
    }
}

/// Another runtime may trust a device.
fn another_runtime_gets_no_invalid_arguments(target: &Target) {
    let invalid = [
        (Form::at(0, 2, MapKind::STRUCT), "members"),
        (Form::at(0, 0, MapKind::ATTACH), "could be attached to"),
        (Form::at(0, 8, MapKind(0xff)), "cannot map this kind"),
        (
            Form::at(0, 8, MapKind::FIRSTPRIVATE.with_align(1 << 40)),
            "alignment",
        ),
        (Form::at(0, 1 << 40, MapKind::TO), "limit"),
    ];
    for (form, reason) in invalid {
        let function = Arc::new(Increments {
            maps: true,
            ..Increments::default()
        });
        let error = call_with(target, &function, Where::Memory, &[form]).error();
        assert!(error.contains(reason), "{error}");
        assert!(function.calls.lock().unwrap().is_empty());
    }
}

fn copies_on_the_device(target: &Target) {
    let session = Session::new(target, &Functions::new());
    let from = session.filled(&(0..=255).collect::<Vec<u8>>());
    let to = session.runtime.alloc_filled(300, Fill::Any).unwrap();
    let mut queue = session.runtime.queue().unwrap();
    queue
        .copy_on_device(to.address() + 3, from.address() + 1, 200)
        .unwrap();
    queue.synchronize().unwrap();
    let copied = read::<u8>(&to);
    assert!(copied[3..203] == (1..=200).collect::<Vec<u8>>());
    let past = queue.copy_on_device(to.address(), from.address(), 301);
    past.and_then(|()| queue.synchronize()).unwrap_err();
}
