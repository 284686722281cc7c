//! Calls of NVIDIA's driver: each fails once, which causes an error and nothing worse; and the number
//! that a typed launch makes.

use std::time::{Duration, Instant};

use conformance::Target;
use conformance_calls::launch::{Increment, Places};
use cuda_emu::counts;
use revoff_host::device::{BlockShape, DeviceAddr};
use revoff_host::{Functions, Grid, Image, LaunchError, RuntimeError};

use crate::driver_errors::silent;
use crate::failing_calls::{self, FailingCalls, Fault};
use crate::image::image;
use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_first_driver_call_fails),
    test!(a_second_driver_call_fails),
    test!(a_fifth_driver_call_fails),
    test!(a_driver_call_loses_the_device),
    test!(one_call_fails).alone(),
    test!(a_typed_launch_uses_one_queue).alone(),
    // Resources of a launch past its deadline are never freed.
    test!(a_typed_launch_leaves_no_copy_from_the_host).alone_with(&[(DELAY, "200000")]),
];

/// `CUDA_ERROR_UNKNOWN`, and `CUDA_ERROR_LAUNCH_FAILED`.
const UNEXPECTED: u32 = 999;
const LOSS: u32 = 719;

/// Microseconds before each copy.
const DELAY: &str = "REVOFF_EMU_COPY_DELAY";

/// The calls of this device that fail in turn.
const CALLS: FailingCalls = FailingCalls {
    user: "emu_driver::one_call_fails",
    environments: &[&[], &[("REVOFF_EMU_POOLS", "0")]],
    at_start: &["cuInit", "cuDriverGetVersion"],
    tolerated: &[
        // These free.
        "cuDevicePrimaryCtxRelease_v2",
        "cuEventDestroy_v2",
        "cuLinkDestroy",
        "cuMemFreeAsync",
        "cuMemFreeHost",
        "cuMemFree_v2",
        "cuModuleUnload",
        "cuStreamDestroy_v2",
        // The size of the memory is unknown.
        "cuMemGetInfo_v2",
        // The address stays unknown, which it is here in any case.
        "cuPointerGetAttribute",
        // The host waits instead.
        "cuEventCreate",
        "cuStreamWaitEvent",
        // It makes the caller's context current again.
        "cuCtxSetCurrent:2",
    ],
    never_called: &[
        // For GPUs that are installed.
        "cuDeviceGetCount",
        "cuDeviceGetName",
        "cuDeviceGetPCIBusId",
        // These describe errors.
        "cuGetErrorName",
        "cuGetErrorString",
    ],
    infallible: &[],
};

/// Those that report progress. After an unexpected failure, kernels may still run, so their resources, including the
/// context, are left alone.
const PROGRESS: [&str; 5] = [
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
];

fn a_first_driver_call_fails(_: &Target) {
    CALLS.fail(1, UNEXPECTED);
}

fn a_second_driver_call_fails(_: &Target) {
    CALLS.fail(2, UNEXPECTED);
}

fn a_fifth_driver_call_fails(_: &Target) {
    CALLS.fail(5, UNEXPECTED);
}

fn a_driver_call_loses_the_device(_: &Target) {
    CALLS.fail(2, LOSS);
}

/// Uses all features, repeatedly.
fn one_call_fails(target: &Target) {
    let fault = failing_calls::fault();
    let is_in_the_dark = fault
        .as_ref()
        .is_some_and(|fault| fault.code == UNEXPECTED && PROGRESS.contains(&&*fault.function));
    let is_release = |fault: &Fault| fault.function == "cuDevicePrimaryCtxRelease_v2";
    let leaks = is_in_the_dark || fault.as_ref().is_some_and(is_release);
    CALLS.repeat(
        target,
        || counts().faults,
        // A lost device is usable again only without its context.
        || counts().contexts,
        leaks,
        || use_it(target),
    );
    // Resources that could not be freed, with or without a context, still exist.
    let frees = [
        "Free",
        "Destroy",
        "Unload",
        "Release",
        "SetCurrent",
        "GetCurrent",
    ];
    let may_leak = |fault: &Fault| frees.iter().any(|free| fault.function.contains(free));
    if !is_in_the_dark && !fault.as_ref().is_some_and(may_leak) {
        assert_eq!(counts().leaks, 0, "leaks");
    }
}

fn use_it(target: &Target) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = target.builder().build()?;
    let program = runtime.load(&image(target), &acting(|what| what))?;
    let empty = ".version 7.0\n.target sm_60\n.address_size 64\n";
    let parts = vec![silent(), Image::from_bytes("empty", empty.as_bytes())?];
    let linked = Image::link("linked", parts)?;
    let linked = runtime.load(&linked, &Functions::new())?;
    let _ = (runtime.memory(), runtime.description());
    let outcomes = runtime.alloc(4 * size_of::<conformance_calls::Outcome>() as u64)?;
    let kernel = program.kernel("call_act")?;
    let args: [&dyn revoff_host::KernelArg; 4] = [&1u64, &0u64, &3u32, &outcomes];
    let grid = Grid {
        teams: 2,
        threads: 2,
    };
    // SAFETY: the parameters are those of `call_act`, with an outcome for each
    // thread, allocated until the launch has been waited for.
    unsafe { kernel.launch(grid, &args) }?.wait()?;
    let mut data = vec![conformance_calls::Outcome::default(); 4];
    outcomes.read(0, &mut data)?;
    // A failure is an error, never a wrong result.
    assert!(data.iter().all(|outcome| outcome.ok == 3));
    let number = runtime.alloc_from(&[41u64])?;
    let much = linked.kernel("silent")?.with_block(BlockShape {
        shared_bytes: 60_000,
        ..BlockShape::default()
    });
    let one = Grid {
        teams: 1,
        threads: 1,
    };
    let copy = runtime.alloc(8)?;
    let (mut first, mut second) = (runtime.queue()?, runtime.queue()?);
    // SAFETY: the parameter is that of `silent`, allocated until the launch has been waited for.
    let launch = unsafe { much.enqueue(&mut *first, one, &[&number]) }?;
    second.wait_event(&first.record_event());
    second.copy_on_device(copy.address(), number.address(), 8)?;
    // SAFETY: nothing is copied: nothing has this address.
    let unknown = unsafe { second.copy_from_device([0u8; 8].as_mut_ptr(), DeviceAddr(8), 8) };
    unknown.expect_err("nothing has this address");
    second.synchronize()?;
    launch.wait()?;
    let mut copied = [0u64];
    copy.read(0, &mut copied)?;
    assert_eq!(copied, [42]);
    Ok(())
}

/// Whatever its number of slices, a typed launch takes one queue. The host waits for the kernel, and
/// then once more for the copies back.
fn a_typed_launch_uses_one_queue(target: &Target) {
    let session = Session::new(target, &Functions::new());
    let places = session.program.bind::<Places>().unwrap();
    let increment = session.program.bind::<Increment>().unwrap();
    let grid = Grid {
        teams: 1,
        threads: 2,
    };
    let (bytes, words) = (vec![1u8; 1000], vec![2u64; 1000]);
    let three_slices = || {
        let mut found = [0; 6];
        places
            .launch(grid, &bytes, &words, &[], &mut found)
            .unwrap();
    };
    let mut counts = [0u32; 100];
    let mut mapped = session.runtime.map_tofrom(&mut counts).unwrap();
    let mut nothing_comes_back = || increment.launch(grid, &mut mapped).map(drop).unwrap();
    // Streams and events are created once.
    three_slices();
    nothing_comes_back();
    assert_eq!(calls_of(three_slices), (1, 1));
    assert_eq!(calls_of(nothing_comes_back), (1, 0));
}

/// The kernel's deadline passes before the copies to the device begin, which read the caller's memory.
fn a_typed_launch_leaves_no_copy_from_the_host(target: &Target) {
    let builder = target.builder().deadline(Duration::from_millis(20));
    let session = Session::build(target, builder, &Functions::new());
    let kernel = session.program.bind::<Increment>().unwrap();
    // Too many for the pinned memory.
    let mut counts = vec![0u32; 1 << 20];
    let grid = Grid {
        teams: 1,
        threads: 2,
    };
    let start = Instant::now();
    let error = kernel.launch(grid, &mut counts).unwrap_err();
    assert!(
        matches!(error, RuntimeError::Launch(LaunchError::Deadline { .. })),
        "{error}"
    );
    let delay = std::env::var(DELAY).unwrap().parse().unwrap();
    assert!(start.elapsed() >= Duration::from_micros(delay));
}

/// The queues that `run` uses, and the waits of the host other than those for a kernel.
fn calls_of(run: impl FnOnce()) -> (u64, u64) {
    let calls = || (counts().stream_queries, counts().stream_waits);
    let before = calls();
    run();
    let after = calls();
    (after.0 - before.0, after.1 - before.1)
}
