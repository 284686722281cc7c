//! Errors of NVIDIA's driver, injected by its stand-in. Most tests need an environment, and so a
//! separate process.

use conformance::{Target, process};
use cuda_standin::image::{DOES_NOT_LINK, FATBIN};
use cuda_standin::loader;
use host_rt::device::DeviceError;
use host_rt::device::LossReason;
use host_rt::image::ImageError;
use host_rt::{Functions, Image, Runtime, RuntimeError};

use crate::image::{c_silent, image};
use crate::refusal::{assert_names, refusal};
use crate::session::{Session, acting, read};
use crate::{Test, test};

/// The prefix of these tests' names.
pub(crate) const PREFIX: &str = "stand_in_errors";

pub(crate) const TESTS: &[Test] = &[
    test!(no_driver).alone_with(&[("LD_LIBRARY_PATH", "/nonexistent")]),
    test!(an_old_driver).alone_with(&[("REVOFF_STAND_IN_VERSION", "11030")]),
    test!(a_driver_that_does_not_start).alone_with(&[("REVOFF_STAND_IN_FAIL", "cuInit:1=100")]),
    test!(no_such_device),
    test!(no_device_at_all).alone_with(&[("REVOFF_STAND_IN_DEVICES", "0")]),
    test!(no_unified_addressing).alone_with(&[("REVOFF_STAND_IN_UNIFIED", "0")]),
    test!(no_memory_pools).alone_with(&[("REVOFF_STAND_IN_POOLS", "0")]),
    test!(out_of_memory),
    test!(out_of_pinned_memory).alone_with(&[("REVOFF_STAND_IN_FAIL", "cuMemHostAlloc:2=2")]),
    test!(the_compiler_says_why),
    test!(the_linker_says_why),
    test!(parts_are_linked),
    test!(a_fatbin_is_asked_for_what_it_is),
    test!(an_assertion_fails).alone_with(&[(
        "REVOFF_STAND_IN_FAIL",
        "cuEventQuery:*=710,cuEventSynchronize:*=710,cuStreamQuery:*=710,cuStreamSynchronize:*=710",
    )]),
    test!(frees_may_wait_for_kernels).alone_with(&[("REVOFF_STAND_IN_WAITS", "1")]),
    test!(copies_may_take_their_time).alone_with(&[("REVOFF_STAND_IN_DELAY", "2000")]),
];

fn no_driver(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["no NVIDIA driver", "libcuda.so"]);
    // Other devices are not affected.
    Runtime::open("host").unwrap();
}

fn an_old_driver(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["is for CUDA 11.3", "CUDA 11.4 or newer"]);
}

fn a_driver_that_does_not_start(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["cuInit: ", "100"]);
}

fn no_such_device(_: &Target) {
    for name in ["cuda:2", "cuda:99999999999", "cuda:", "cuda:x", "cuda:-1"] {
        let error = refusal(name);
        assert!(matches!(error, DeviceError::NoDevice { .. }), "{error}");
        assert_names(&error, &[&format!("`{name}`"), "host, emu, cuda:0, cuda:1"]);
    }
}

fn no_device_at_all(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDevice { .. }), "{error}");
    assert_names(&error, &["`cuda:0`", "host"]);
}

fn no_unified_addressing(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NotSuitable { .. }), "{error}");
    assert_names(&error, &["`cuda:0`", "unified addressing"]);
    nothing_is_left();
}

fn nothing_is_left() {
    // The last owner may be a thread of the device, which is about to end.
    assert_eq!(process::settle(loader::contexts, 0), 0);
    assert_eq!(loader::leaks(), 0);
}

/// Device memory is then allocated in another way.
fn no_memory_pools(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    let used = session.runtime.memory().used;
    let data = session.filled(&[1u64, 2, 3]);
    assert_eq!(read::<u64>(&data), [1, 2, 3]);
    drop(data);
    assert_eq!(session.runtime.memory().used, used);
    drop(session);
    nothing_is_left();
}

fn out_of_memory(target: &Target) {
    let runtime = target.builder().build().unwrap();
    match runtime.alloc(1 << 50).map(drop) {
        Err(RuntimeError::Device(error @ DeviceError::OutOfMemory { .. })) => {
            assert_names(&error, &["`cuda:0`", &(1u64 << 50).to_string()]);
        }
        other => panic!("{other:?}"),
    }
    runtime.alloc(8).expect("there is that much");
}

fn out_of_pinned_memory(target: &Target) {
    let functions = acting(|what| what);
    let failed = target.builder().build().and_then(|runtime| {
        runtime.load(&image(target), &functions)?;
        Ok(())
    });
    match failed {
        Err(RuntimeError::Device(error @ DeviceError::NoMappedMemory { .. })) => {
            assert_names(&error, &["`cuda:0`", "REVOFF_BOUNCE", "ulimit -l"]);
        }
        other => panic!("{other:?}"),
    }
    Session::new(target, &functions).works();
    nothing_is_left();
}

/// PTX that only the reader accepts.
fn bad_text(name: &str) -> Image {
    let text = format!(".version 7.8\n// stand-in: {DOES_NOT_LINK}\n.target sm_90\n");
    Image::from_bytes(name, text.into_bytes()).unwrap()
}

fn load_error(target: &Target, image: &Image) -> ImageError {
    let runtime = target.builder().build().unwrap();
    match runtime.load(image, &Functions::new()) {
        Err(RuntimeError::Image(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was loaded"),
    }
}

fn the_compiler_says_why(target: &Target) {
    let error = load_error(target, &bad_text("a bad text"));
    assert_names(
        &error,
        &["a bad text", "CUDA_ERROR_INVALID_PTX", DOES_NOT_LINK],
    );
}

fn the_linker_says_why(target: &Target) {
    let parts = vec![image(target), bad_text("a bad part")];
    let error = load_error(target, &Image::link("both", parts).unwrap());
    assert_names(&error, &["cuLinkAddData", "a bad part", DOES_NOT_LINK]);
    let parts = vec![c_silent(target), c_silent(target)];
    let error = load_error(target, &Image::link("twice", parts).unwrap());
    assert_names(&error, &["Multiple definition of 'silent'"]);
}

fn parts_are_linked(target: &Target) {
    let parts = vec![c_silent(target), image(target)];
    let both = Image::link("both", parts).unwrap();
    let runtime = target.builder().build().unwrap();
    let session = Session::on(&runtime, &both, &acting(|what| what));
    session.works();
    let number = session.filled(&[41u64]);
    session.run("silent", (1, 1), &[&number]).unwrap();
    assert_eq!(read::<u64>(&number), [42]);
}

/// Only the driver knows the contents of a fatbin.
fn a_fatbin_is_asked_for_what_it_is(target: &Target) {
    let fatbin = [&FATBIN[..], image(target).bytes(), b"\0"].concat();
    let fatbin = Image::from_bytes("a fatbin", fatbin).unwrap();
    let runtime = target.builder().build().unwrap();
    Session::on(&runtime, &fatbin, &acting(|what| what)).works();
}

/// A host function frees while its kernel waits for it.
fn frees_may_wait_for_kernels(target: &Target) {
    let runtime = target.builder().build().unwrap();
    let other = runtime.clone();
    let functions = acting(move |what| {
        let memory = other.alloc(1000).expect("device memory");
        drop(memory);
        what
    });
    Session::on(&runtime, &image(target), &functions).works();
}

/// A failed assertion, as in a kernel's panic: only the driver has its location.
fn an_assertion_fails(target: &Target) {
    let runtime = target.builder().build().unwrap();
    match runtime.queue().unwrap().synchronize() {
        Err(DeviceError::Lost { device, reason }) => {
            let LossReason::Driver(failure) = &reason else {
                panic!("{reason:?}")
            };
            const CUDA_ERROR_ASSERT: u32 = 710;
            let call = "cuStreamSynchronize";
            assert_eq!((failure.call, failure.code), (call, CUDA_ERROR_ASSERT));
            let error = DeviceError::Lost { device, reason };
            assert_names(
                &error,
                &["CUDA_ERROR_ASSERT", "panicked", "standard error output"],
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Without waiting for a copy, the data would be wrong.
fn copies_may_take_their_time(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let numbers: Vec<u64> = (0..100_000).collect();
    let data = session.filled(&numbers);
    assert_eq!(read::<u64>(&data), numbers);
    session.works();
}
