//! Kernels that are declared, without a device.

use std::cell::RefCell;

use host_fn_test_calls::{Colour, Loop, Saxpy, Shapes, Stats, Touch};
use revoff_fn::signature::{Form, Signature};
use revoff_fn::{Argument, Kernel, Launcher, Passed};

/// An argument of a launch: the bytes of a value, or form, bytes, alignment and elements of memory.
#[derive(Debug, PartialEq)]
enum Had {
    Value(Vec<u8>),
    Memory(Form, usize, usize, Option<usize>),
}

/// Writes ones to all memory that comes back.
#[derive(Default)]
struct Fake(RefCell<Vec<Had>>);

impl Launcher for &Fake {
    type Grid = u32;
    type Report = u32;
    type Error = &'static str;

    unsafe fn launch(&self, grid: u32, arguments: &[Argument<'_>]) -> Result<u32, &'static str> {
        for argument in arguments {
            let had = match argument.passed() {
                Passed::Value(value) => Had::Value(value.bytes().to_vec()),
                Passed::Memory(memory) => {
                    if memory.form().copies_back() {
                        // SAFETY: it is writable, with any bytes.
                        unsafe { memory.address().write_bytes(1, memory.bytes()) };
                    }
                    Had::Memory(
                        memory.form(),
                        memory.bytes(),
                        memory.align(),
                        memory.elements(),
                    )
                }
            };
            self.0.borrow_mut().push(had);
        }
        if grid == 0 { Err("no grid") } else { Ok(grid) }
    }
}

fn bound<K: Kernel>(fake: &Fake) -> K::Bound<&Fake> {
    // SAFETY: nothing is launched, and only writable memory is written.
    unsafe { K::bound(fake) }
}

#[test]
fn frozen() {
    // If this number changes, images that were built before no longer match.
    let expected = Signature::new("saxpy")
        .parameter::<f32>(Form::Value, "f32")
        .parameter::<f32>(Form::ToSlice, "f32")
        .parameter::<f32>(Form::ToFromSlice, "f32")
        .finish();
    assert_eq!(Saxpy::SIGNATURE, expected);
    assert_eq!(Saxpy::SIGNATURE, SAXPY);
}

#[test]
fn what_an_image_says() {
    assert_eq!(
        (Saxpy::NAME, Shapes::NAME, Loop::NAME),
        ("saxpy", "shapes", "loop")
    );
    let counts = |info: shared_abi::image::KernelInfo| (info.params, info.bytes);
    assert_eq!(counts(<Saxpy as Kernel>::INFO), (5, 4 + 16 + 16));
    assert_eq!(counts(<Shapes as Kernel>::INFO), (10, 1 + 8 * 9));
    assert_eq!(counts(<Loop as Kernel>::INFO), (0, 0));
    assert_eq!(<Saxpy as Kernel>::INFO.signature, Saxpy::SIGNATURE);
}

#[test]
fn a_definition_is_of_the_declared_type() {
    fn saxpy(_: f32, _: &[f32], _: *mut [f32]) {}
    unsafe fn touch(_: u64) {}
    let (safe, not) = (
        Saxpy::defined_by("saxpy", false, saxpy),
        Touch::defined_by("touch", true, touch),
    );
    assert_eq!(
        (safe, not),
        (<Saxpy as Kernel>::INFO, <Touch as Kernel>::INFO)
    );
}

#[test]
#[should_panic(expected = "declared as the kernel `saxpy`")]
fn a_definition_has_the_declared_name() {
    fn other(_: f32, _: &[f32], _: *mut [f32]) {}
    let _ = Saxpy::defined_by("other", false, other);
}

#[test]
fn every_form_is_passed() {
    let fake = Fake::default();
    let shapes = bound::<Shapes>(&fake);
    let stats = Stats { calls: 1, bytes: 2 };
    let (mut word, mut words) = (0, [0; 3]);
    let (mut colour, mut all) = (Colour([0; 3]), [stats; 2]);
    let done = shapes.launch(
        5,
        7,
        &stats,
        &[1, 2, 3],
        &mut word,
        &mut words,
        &mut colour,
        &mut all,
    );
    assert_eq!(done, Ok(5));
    let expected = [
        Had::Value(vec![7]),
        Had::Memory(Form::To, 16, 8, None),
        Had::Memory(Form::ToSlice, 6, 2, Some(3)),
        Had::Memory(Form::ToFrom, 8, 8, None),
        Had::Memory(Form::ToFromSlice, 12, 4, Some(3)),
        Had::Memory(Form::From, 3, 1, None),
        Had::Memory(Form::FromSlice, 32, 8, Some(2)),
    ];
    assert_eq!(*fake.0.borrow(), expected);
    assert_eq!(
        (word, words, colour),
        (0x0101_0101_0101_0101, [0x0101_0101; 3], Colour([1; 3]))
    );
    assert_eq!(all[1].bytes, 0x0101_0101_0101_0101);
}

#[test]
fn the_launcher_has_the_last_word() {
    let fake = Fake::default();
    assert_eq!(bound::<Loop>(&fake).launch(0), Err("no grid"));
    let touch = bound::<Touch>(&fake);
    // SAFETY: nothing is launched.
    assert_eq!(unsafe { touch.launch(1, 0xabcd) }, Ok(1));
    assert_eq!(
        *fake.0.borrow(),
        [Had::Value(0xabcd_u64.to_ne_bytes().to_vec())]
    );
}

/// Computed by a separate program.
const SAXPY: u64 = 0xfe33_db52_224a_230c;
