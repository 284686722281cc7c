//! Calls of NVIDIA's driver: each fails once, which causes an error and nothing worse; and the number
//! that a typed launch makes.

use std::time::{Duration, Instant};

use conformance::{Target, child, process};
use conformance_calls::launch::{Increment, Places};
use cuda_emu::counts;
use revoff_host::{Functions, Grid, LaunchError, RuntimeError};

use crate::driver_errors::PREFIX;
use crate::image::image;
use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(calls_for_devices_fail),
    test!(calls_for_contexts_fail),
    test!(calls_for_memory_fail),
    test!(calls_for_modules_fail),
    test!(calls_for_events_fail),
    test!(one_call_fails).alone(),
    test!(a_typed_launch_uses_one_queue).alone(),
    // Resources of a launch past its deadline are never freed.
    test!(a_typed_launch_leaves_no_copy_from_the_host).alone_with(&[(DELAY, "200000")]),
];

/// Microseconds before each copy.
const DELAY: &str = "REVOFF_EMU_COPY_DELAY";

/// Functions of the driver, whose failure must only cause an error.
const OF_DEVICES: &[&str] = &[
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuMemGetInfo_v2",
    "cuFuncGetAttribute",
    "cuLaunchKernel",
];
const OF_CONTEXTS: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
];
const OF_MEMORY: &[&str] = &[
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostGetDevicePointer_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
];
const OF_MODULES: &[&str] = &[
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetGlobal_v2",
];
const OF_EVENTS: &[&str] = &[
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
];

/// Those of these that report progress. After an unexpected failure, kernels may still run, so
/// their resources, including the context, are left alone.
const PROGRESS: [&str; 4] = [
    "cuStreamSynchronize",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
];

/// The failing calls: with an unexpected error, or one that loses the device.
const FAULTS: [(u32, u32); 4] = [(1, 999), (2, 999), (5, 999), (2, 719)];

fn calls_for_devices_fail(_: &Target) {
    fail(OF_DEVICES);
}

fn calls_for_contexts_fail(_: &Target) {
    fail(OF_CONTEXTS);
}

fn calls_for_memory_fail(_: &Target) {
    fail(OF_MEMORY);
}

fn calls_for_modules_fail(_: &Target) {
    fail(OF_MODULES);
}

fn calls_for_events_fail(_: &Target) {
    fail(OF_EVENTS);
}

fn fail(functions: &[&str]) {
    let name = format!("{PREFIX}::one_call_fails");
    let mut failed = Vec::new();
    for function in functions {
        for (call, code) in FAULTS {
            let fault = format!("{function}:{call}={code}");
            let environment = [("REVOFF_EMU_FAIL", fault.as_str())];
            if let Err(what) = child::run(&name, &environment) {
                failed.push(format!("{fault}: {what}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Whether the state of the device is unknown after that.
fn is_in_the_dark(fault: &str) -> bool {
    fault.ends_with("=999") && PROGRESS.iter().any(|call| fault.starts_with(call))
}

/// Uses all features, repeatedly.
fn one_call_fails(target: &Target) {
    let fault = std::env::var("REVOFF_EMU_FAIL").unwrap_or_default();
    let is_in_the_dark = is_in_the_dark(&fault);
    // The failing call may be in the second iteration.
    for time in 0..6 {
        let result = use_it(target);
        if fault.is_empty() || time == 5 {
            result.expect("nothing fails any more");
        }
        // A lost device is usable again only when everything is dropped.
        if !is_in_the_dark {
            assert_eq!(process::settle(|| counts().contexts, 0), 0, "contexts");
        }
    }
    // Functions called once or twice have no fifth call; otherwise a fault that did not happen has
    // tested nothing.
    if !fault.is_empty() && !fault.contains(":5=") {
        assert_eq!(counts().faults, 1, "calls that failed");
    }
    // Resources that could not be freed, with or without a context, still exist.
    let frees = ["Free", "Destroy", "Unload", "SetCurrent", "GetCurrent"];
    if !is_in_the_dark && !frees.iter().any(|free| fault.contains(free)) {
        assert_eq!(counts().leaks, 0, "leaks");
    }
}

fn use_it(target: &Target) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = target.builder().build()?;
    let program = runtime.load(&image(target), &acting(|what| what))?;
    let _ = (runtime.memory(), runtime.description());
    let outcomes = runtime.alloc(4 * size_of::<conformance_calls::Outcome>() as u64)?;
    let kernel = program.kernel("call_act")?;
    let args: [&dyn revoff_host::KernelArg; 4] = [&1u64, &0u64, &3u32, &outcomes];
    let grid = revoff_host::Grid {
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
