//! Errors of NVIDIA's driver, which the emulated one makes on demand. Most tests need an environment, and
//! so a separate process.

use conformance::{Target, emulated, process};
use revoff_host::device::LossReason;
use revoff_host::device::{BlockShape, DeviceError};
use revoff_host::image::ImageError;
use revoff_host::{Functions, Grid, Image, RuntimeError};

use crate::image::image;
use crate::refusal::{assert_names, refusal};
use crate::session::{Session, acting, read};
use crate::{Test, test};

/// The prefix of these tests' names.
pub(crate) const PREFIX: &str = "emu_driver";

/// Their device.
pub(crate) const DEVICE: &str = "emu:sm_90";

pub(crate) const TESTS: &[Test] = &[
    test!(an_old_driver).alone_with(&[("REVOFF_EMU_CUDA_VERSION", "11030")]),
    test!(a_driver_that_does_not_start).alone_with(&[("REVOFF_EMU_FAIL", "cuInit:1=100")]),
    test!(no_such_device),
    test!(no_unified_addressing).alone_with(&[("REVOFF_EMU_UNIFIED", "0")]),
    test!(no_memory_pools).alone_with(&[("REVOFF_EMU_POOLS", "0")]),
    test!(out_of_memory),
    test!(much_shared_memory_is_asked_for),
    test!(out_of_pinned_memory).alone_with(&[("REVOFF_EMU_FAIL", "cuMemHostAlloc:2=2")]),
    test!(the_compiler_says_why),
    test!(the_linker_says_why),
    test!(parts_are_linked),
    test!(an_assertion_fails).alone_with(&[(
        "REVOFF_EMU_FAIL",
        "cuEventQuery:*=710,cuEventSynchronize:*=710,cuStreamQuery:*=710,cuStreamSynchronize:*=710",
    )]),
    test!(frees_may_wait_for_kernels).alone_with(&[("REVOFF_EMU_FREES_WAIT", "1")]),
    test!(copies_may_take_their_time).alone_with(&[("REVOFF_EMU_COPY_DELAY", "2000")]),
];

fn an_old_driver(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["is for CUDA 11.3", "CUDA 11.4 or newer"]);
}

fn a_driver_that_does_not_start(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["cuInit: ", "CUDA_ERROR_NO_DEVICE"]);
}

fn no_such_device(_: &Target) {
    for name in ["cuda:99999999999", "cuda:", "cuda:x", "cuda:-1"] {
        let error = refusal(name);
        assert!(matches!(error, DeviceError::NoDevice { .. }), "{error}");
        assert_names(&error, &[&format!("`{name}`"), "host, emu"]);
    }
}

fn no_unified_addressing(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NotSuitable { .. }), "{error}");
    assert_names(&error, &["`emu:sm_90`", "unified addressing"]);
    nothing_is_left();
}

fn nothing_is_left() {
    // The last owner may be a thread of the device, which is about to end.
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
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
            assert_names(&error, &["`emu:sm_90`", &(1u64 << 50).to_string()]);
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
            assert_names(&error, &["`emu:sm_90`", "REVOFF_BOUNCE", "ulimit -l"]);
        }
        other => panic!("{other:?}"),
    }
    Session::new(target, &functions).works();
    nothing_is_left();
}

/// PTX with an instruction that does not exist.
fn bad_text(name: &str) -> Image {
    let text =
        ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry bad() { nonsense; ret; }\n";
    Image::from_bytes(name, text.as_bytes()).unwrap()
}

/// PTX with a kernel `silent`, which adds 1 to a number.
pub(crate) fn silent() -> Image {
    let text = "\
.version 7.0
.target sm_60
.address_size 64
.visible .entry silent(.param .u64 number)
{
    .reg .b64 %at, %n;
    ld.param.u64 %at, [number];
    ld.u64 %n, [%at];
    add.u64 %n, %n, 1;
    st.u64 [%at], %n;
    ret;
}
";
    Image::from_bytes("silent", text.as_bytes()).unwrap()
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
        &["a bad text", "CUDA_ERROR_INVALID_PTX", "nonsense"],
    );
}

fn the_linker_says_why(target: &Target) {
    let parts = vec![image(target), bad_text("a bad part")];
    let error = load_error(target, &Image::link("both", parts).unwrap());
    assert_names(&error, &["cuLinkComplete", "a bad part", "nonsense"]);
    let parts = vec![silent(), silent()];
    let error = load_error(target, &Image::link("twice", parts).unwrap());
    assert_names(&error, &["cuLinkComplete", "`silent` is defined"]);
}

fn parts_are_linked(target: &Target) {
    let parts = vec![silent(), image(target)];
    let both = Image::link("both", parts).unwrap();
    let runtime = target.builder().build().unwrap();
    let session = Session::on(&runtime, &both, &acting(|what| what));
    session.works();
    let number = session.filled(&[41u64]);
    session.run("silent", (1, 1), &[&number]).unwrap();
    assert_eq!(read::<u64>(&number), [42]);
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

/// Above 48 KiB, the driver wants to be asked before the launch.
fn much_shared_memory_is_asked_for(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let counts = session.zeroed::<u32>(1);
    let run = |shared_bytes| {
        let kernel = session.program.kernel("add_one").unwrap();
        let kernel = kernel.with_block(BlockShape {
            shared_bytes,
            ..BlockShape::default()
        });
        let grid = Grid {
            teams: 1,
            threads: 1,
        };
        // SAFETY: the parameter is that of `add_one`, with a count for each thread, allocated until
        // the launch has been waited for.
        unsafe { kernel.launch(grid, &[&counts]) }.map(|launch| launch.wait().unwrap())
    };
    run(100 << 10).unwrap();
    run(200 << 10).unwrap();
    assert_eq!(read::<u32>(&counts), [2]);
    let error = run(1 << 20).unwrap_err();
    assert_names(&error, &["a team of this kernel has at most", "1048576"]);
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
