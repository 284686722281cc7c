//! Errors of ROCr, which the emulated one makes on demand. Most tests need an environment, and so a
//! separate process.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use conformance::{Target, emulated, process};
use conformance_calls::Outcome;
use hsa_emu::{GpuOptions, Options, counts, report_event};
use revoff_host::device::{BlockShape, EventState};
use revoff_host::device::{DeviceError, Fault};
use revoff_host::image::ImageError;
use revoff_host::shared_abi::gomp::REV_OFFLOAD_VAR;
use revoff_host::shared_abi::image::RUNTIME;
use revoff_host::{Functions, Grid, Image, KernelArg, LaunchError, Runtime, RuntimeError};

use crate::failing_calls::{self, FailingCalls};
use crate::image::{image, shared_object};
use crate::refusal::{assert_names, refusal};
use crate::session::{Session, acting, read};
use crate::{Test, test};

/// The prefix of these tests' names.
pub(crate) const PREFIX: &str = "emu_rocr";

/// Their device.
pub(crate) const DEVICE: &str = "emu:gfx90a";

pub(crate) const TESTS: &[Test] = &[
    test!(it_does_not_start).alone_with(&[("REVOFF_EMU_FAIL", "hsa_init:1=4104")]),
    test!(it_tells_of_no_events).alone_with(&[(
        "REVOFF_EMU_FAIL",
        "hsa_amd_register_system_event_handler:1=4096",
    )]),
    test!(no_such_device),
    test!(out_of_memory),
    test!(out_of_mapped_memory)
        .alone_with(&[("REVOFF_EMU_FAIL", "hsa_amd_memory_pool_allocate:1=4104")]),
    test!(an_image_for_another_gpu),
    test!(a_code_object_that_does_not_load),
    test!(parameters_of_other_sizes),
    test!(blocks_of_lanes),
    test!(blocks_of_no_lanes),
    test!(more_memory_of_a_team_than_there_is),
    test!(a_memory_fault).alone(),
    test!(a_kernel_that_ends_on_a_device_that_is_lost).alone(),
    test!(events_of_gpus).alone(),
    test!(a_queue_that_runs_full).alone_with(&[("REVOFF_EMU_PACKETS", "4")]),
    test!(long_copies_take_little_pinned_memory).alone(),
    test!(a_copy_that_is_a_kernel_holds_up_no_other).alone(),
    test!(a_copy_that_cannot_wait_fails)
        .alone_with(&[("REVOFF_EMU_FAIL", "hsa_amd_signal_async_handler:*=4096")]),
    test!(a_copy_that_outlives_its_device).alone(),
    test!(a_queue_fails_behind_its_copies).alone(),
    test!(a_copy_that_is_refused_half_way).alone_with(&[(
        "REVOFF_EMU_FAIL",
        "hsa_amd_memory_async_copy:3=4096,hsa_amd_memory_async_copy:6=4096",
    )]),
    test!(a_first_driver_call_fails),
    test!(a_second_driver_call_fails),
    test!(a_fifth_driver_call_fails),
    test!(one_call_fails).alone(),
];

fn it_does_not_start(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["hsa_init: ", "OUT_OF_RESOURCES"]);
    // Other devices are not affected.
    Runtime::open("host").unwrap();
}

fn it_tells_of_no_events(target: &Target) {
    let error = refusal(target.device);
    assert!(matches!(error, DeviceError::NoDriver { .. }), "{error}");
    assert_names(&error, &["hsa_amd_register_system_event_handler: "]);
}

fn no_such_device(_: &Target) {
    for name in ["hsa:99999999999", "hsa:", "hsa:x", "hsa:-1"] {
        let error = refusal(name);
        assert!(matches!(error, DeviceError::NoDevice { .. }), "{error}");
        assert_names(&error, &[&format!("`{name}`"), "host, emu"]);
    }
}

fn nothing_is_left() {
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
}

fn out_of_memory(target: &Target) {
    let runtime = target.builder().build().unwrap();
    for bytes in [1 << 45, 1 << 50, u64::MAX] {
        match runtime.alloc(bytes).map(drop) {
            Err(RuntimeError::Device(error @ DeviceError::OutOfMemory { .. })) => {
                assert_names(&error, &["`emu:gfx90a`", &bytes.to_string()]);
            }
            other => panic!("{other:?}"),
        }
    }
    runtime.alloc(8).expect("there is that much");
}

fn out_of_mapped_memory(target: &Target) {
    let functions = acting(|what| what);
    let failed = target.builder().build().and_then(|runtime| {
        runtime.load(&image(target), &functions)?;
        Ok(())
    });
    match failed {
        Err(RuntimeError::Device(error @ DeviceError::NoMappedMemory { .. })) => {
            assert_names(&error, &["`emu:gfx90a`", "REVOFF_BOUNCE"]);
        }
        other => panic!("{other:?}"),
    }
    Session::new(target, &functions).works();
    nothing_is_left();
}

/// An image with `new` wherever it has `old`, of the same length.
fn patched(image: &Image, old: &str, new: &str) -> Image {
    assert_eq!(old.len(), new.len());
    let mut bytes = image.bytes().to_vec();
    let windows = bytes.windows(old.len()).enumerate();
    let places = windows.filter(|(_, bytes)| *bytes == old.as_bytes());
    let places: Vec<_> = places.map(|(place, _)| place).collect();
    assert!(!places.is_empty(), "no `{old}` in the image");
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
    }
    Image::from_bytes("a patched image", bytes).unwrap()
}

fn an_image_for_another_gpu(target: &Target) {
    let runtime = target.builder().build().unwrap();
    let load = |image: &Image| runtime.load(image, &acting(|what| what)).map(drop);
    load(&image(target)).unwrap();
    match load(&patched(&image(target), "amdhsa--gfx90a", "amdhsa--gfx908")) {
        Err(RuntimeError::Image(error @ ImageError::OtherMachine { .. })) => {
            assert_names(&error, &["gfx908", "gfx90a:sramecc+:xnack-", "emu:gfx90a"]);
        }
        other => panic!("{other:?}"),
    }
    // Nor for another kind of device.
    match load(&shared_object()) {
        Err(RuntimeError::Image(error)) => {
            assert_names(&error, &["a shared object", "code objects for gfx90a"])
        }
        other => panic!("{other:?}"),
    }
}

/// Its metadata is right, its header is not.
fn a_code_object_that_does_not_load(target: &Target) {
    const FLAGS: usize = 48;
    const GFX908: u8 = 0x30;
    let mut bytes = image(target).bytes().to_vec();
    bytes[FLAGS] = GFX908;
    let image = Image::from_bytes("a bad image", bytes).unwrap();
    let runtime = target.builder().build().unwrap();
    match runtime.load(&image, &acting(|what| what)) {
        Err(RuntimeError::Image(error @ ImageError::Load { .. })) => assert_names(
            &error,
            &[
                "a bad image",
                "hsa_executable_load_agent_code_object",
                "gfx908",
            ],
        ),
        other => panic!("{:?}", other.map(drop)),
    }
}

fn parameters_of_other_sizes(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let counts = session.filled(&[41u32]);
    let kernel = session.program.kernel("add_one").unwrap();
    // As listed in the code object's metadata.
    assert_eq!(kernel.declaration().sizes, Some(vec![8]));
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let bad: [&[&dyn KernelArg]; 3] = [&[], &[&1u32], &[&counts, &counts]];
    for args in bad {
        // SAFETY: it is not launched.
        match unsafe { kernel.launch(grid, args) } {
            Err(error @ RuntimeError::Device(DeviceError::BadParameters { .. })) => {
                assert_names(
                    &error,
                    &["`add_one` takes 1 parameter of 8 bytes, but got "],
                );
            }
            other => panic!("{:?}", other.map(drop)),
        }
    }
    session.run("add_one", (1, 1), &[&counts]).unwrap();
    assert_eq!(read::<u32>(&counts), [42]);
}

fn with_block(
    session: &Session,
    kernel: &str,
    lanes: u32,
    shared_bytes: u32,
) -> revoff_host::Kernel {
    let kernel = session.program.kernel(kernel).unwrap();
    kernel.with_block(BlockShape {
        lanes,
        shared_bytes,
        ..BlockShape::default()
    })
}

/// Blocks of two dimensions: `lanes` device threads per thread of the grid.
fn blocks_of_lanes(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let counts = session.zeroed::<u32>(2 * 3 * 8);
    let grid = Grid {
        teams: 2,
        threads: 3,
    };
    let kernel = with_block(&session, "add_one", 8, 0);
    // SAFETY: the parameter is that of `add_one`, with a count for each thread, allocated until
    // the launch has been waited for.
    unsafe { kernel.launch(grid, &[&counts]) }
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(read::<u32>(&counts), [1; 2 * 3 * 8]);
}

fn blocks_of_no_lanes(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let count = session.zeroed::<u32>(1);
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let kernel = with_block(&session, "add_one", 0, 0);
    // SAFETY: the parameter is that of `add_one`, with a count for the thread, allocated until the
    // launch has been waited for.
    match unsafe { kernel.launch(grid, &[&count]) } {
        Err(RuntimeError::Device(error @ DeviceError::BadGrid { .. })) => {
            assert_names(&error, &["0 lanes"])
        }
        other => panic!("{:?}", other.map(drop)),
    }
    session.works();
}

fn more_memory_of_a_team_than_there_is(target: &Target) {
    const MAX_BYTES: u32 = 64 << 10;
    let session = Session::new(target, &acting(|what| what));
    let count = session.zeroed::<u32>(1);
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    for (bytes, fits) in [(MAX_BYTES, true), (MAX_BYTES + 1, false), (u32::MAX, false)] {
        let kernel = with_block(&session, "add_one", 1, bytes);
        // SAFETY: the parameter is that of `add_one`, with a count for the thread, allocated until
        // the launch has been waited for.
        match unsafe { kernel.launch(grid, &[&count]) } {
            Ok(launch) => {
                assert!(fits, "{bytes} were taken");
                launch.wait().unwrap();
            }
            Err(RuntimeError::Device(error @ DeviceError::BadGrid { .. })) => {
                assert!(!fits, "{error}");
                assert_names(&error, &[&bytes.to_string(), &MAX_BYTES.to_string()]);
            }
            Err(other) => panic!("{other}"),
        }
    }
    session.works();
}

fn a_memory_fault(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let second = Session::new(target, &acting(|what| what));
    let kernel = session.program.kernel("add_one").unwrap();
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    // SAFETY: nothing has this address, as emulated GPUs find out.
    let launch = unsafe { kernel.launch(grid, &[&0xdead_0000u64]) }.unwrap();
    match launch.wait() {
        Err(LaunchError::Fault {
            fault: Fault::Lost(message),
            ..
        }) => {
            for words in ["`add_one`", "0xdead0000"] {
                assert!(message.contains(words), "no {words}: {message}");
            }
        }
        other => panic!("{other:?}"),
    }
    // The other device is not affected, nor are those that are opened later.
    second.works();
    drop((launch, kernel, session, second));
    nothing_is_left();
    Session::new(target, &acting(|what| what)).works();
}

/// Events of GPUs, as ROCr numbers them.
const MEMORY_FAULT: u32 = 0;
const HW_EXCEPTION: u32 = 1;
const MEMORY_ERROR: u32 = 2;

/// The end of a kernel and its fault are separate words, in any order: a kernel that has ended on a
/// lost device has failed.
fn a_kernel_that_ends_on_a_device_that_is_lost(target: &Target) {
    // Without these symbols the image has no calls, so that only this test notices its end.
    let mut quiet = image(target);
    for symbol in [RUNTIME, REV_OFFLOAD_VAR] {
        quiet = patched(&quiet, symbol, &"_".repeat(symbol.len()));
    }
    assert!(!quiet.has_reverse_offload());
    let runtime = target.builder().build().unwrap();
    let session = Session::on(&runtime, &quiet, &Functions::new());
    let count = session.filled(&[41u32]);
    let mut queue = session.runtime.queue().unwrap();
    let [launch, behind] =
        [(); 2].map(|()| session.enqueue(&mut *queue, "add_one", (1, 1), &[&count]));
    // Then the first has ended, too.
    behind.wait().unwrap();
    assert!(report_event(MEMORY_FAULT, 0), "it takes the event");
    match launch.wait() {
        Err(LaunchError::Fault {
            fault: Fault::Lost(message),
            ..
        }) => {
            assert!(message.contains("a kernel has faulted"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// An event of a GPU loses only that GPU, and events of other users' GPUs are left to them.
fn events_of_gpus(target: &Target) {
    let first = target.builder().build().unwrap();
    let second = target.builder().build().unwrap();
    let other = hsa_emu::add_gpu(GpuOptions {
        machine: Options::default(),
        memory: 1 << 30,
        is_strict: true,
        report: Arc::new(|_| ()),
    })
    .unwrap();
    for kind in [MEMORY_FAULT, HW_EXCEPTION, MEMORY_ERROR] {
        assert!(!report_event(kind, other), "event {kind}");
    }
    for (runtime, number, kind) in [(first, 0, MEMORY_ERROR), (second, 1, HW_EXCEPTION)] {
        runtime.alloc(8).unwrap();
        assert!(report_event(kind, number), "event {kind}");
        match runtime.alloc(8).map(drop) {
            Err(RuntimeError::Device(error @ DeviceError::Lost { .. })) => {
                assert_names(&error, &["`emu:gfx90a`", "is lost"]);
            }
            other => panic!("{other:?}"),
        }
    }
    hsa_emu::remove_gpu(other);
}

/// A caller that queues more waits for room.
fn a_queue_that_runs_full(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let count = session.zeroed::<u32>(1);
    let mut queue = session.runtime.queue().unwrap();
    let launches: Vec<_> = (0..100)
        .map(|_| session.enqueue(&mut *queue, "add_one", (1, 1), &[&count]))
        .collect();
    for launch in &launches {
        launch.wait().unwrap();
    }
    assert_eq!(read::<u32>(&count), [100]);
}

fn long_copies_take_little_pinned_memory(target: &Target) {
    const LEN: usize = 20 << 20;
    let runtime = target.builder().build().unwrap();
    let data: Vec<u32> = (0..LEN as u32 / 4).collect();
    let before = counts().most_pinned;
    let zeros = runtime.alloc(LEN as u64).unwrap();
    assert!(read::<u32>(&zeros).iter().all(|&word| word == 0));
    let filled = runtime.alloc_from(&data).unwrap();
    assert!(read::<u32>(&filled) == data, "they came back changed");
    let mut back = vec![0u32; LEN / 4];
    let mut queue = runtime.queue().unwrap();
    // SAFETY: both are left alone until the queue has been synchronised.
    unsafe {
        queue
            .copy_to_device(zeros.address(), data.as_ptr().cast(), LEN)
            .unwrap();
        queue
            .copy_from_device(back.as_mut_ptr().cast(), zeros.address(), LEN)
            .unwrap();
    }
    queue.synchronize().unwrap();
    assert!(back == data, "they came back changed");
    let taken = counts().most_pinned - before;
    assert!(taken <= 8 << 20, "{taken} bytes for copies of {LEN}");
}

/// A kernel whose calls the host answers by copies, and a copy that waits for one of ROCr's own
/// kernels, for which the first kernel leaves no room.
fn a_copy_that_is_a_kernel_holds_up_no_other(target: &Target) {
    const LEN: usize = 1 << 20;
    let runtime = target.builder().build().unwrap();
    let (begins, begun) = mpsc::channel();
    let (queued, is_queued) = mpsc::channel();
    let is_queued = Mutex::new(is_queued);
    let other = runtime.clone();
    let functions = acting(move |what| {
        begins.send(()).expect("the test waits for it");
        let until_queued = is_queued.lock().unwrap().recv();
        until_queued.expect("the test goes on until all is queued");
        let data = other.alloc_from(&[what; 100]).expect("device memory");
        read::<u64>(&data).iter().sum()
    });
    let session = Session::on(&runtime, &image(target), &functions);
    let outcomes = session.zeroed::<Outcome>(1);
    let (from, to) = (session.filled(&[7u8; LEN]), session.zeroed::<u8>(LEN));
    let (mut first, mut second) = (runtime.queue().unwrap(), runtime.queue().unwrap());
    let args: [&dyn KernelArg; 4] = [&7u64, &0u64, &1u32, &outcomes];
    let launch = session.enqueue(&mut *first, "call_act", (1, 1), &args);
    begun.recv().unwrap();
    let word = [8u8; 8];
    second
        .copy_on_device(to.address(), from.address(), LEN)
        .unwrap();
    // SAFETY: `word` is left alone until the queue has been synchronised.
    unsafe { second.copy_to_device(to.address(), word.as_ptr(), word.len()) }.unwrap();
    queued.send(()).unwrap();
    second.synchronize().unwrap();
    launch.wait().unwrap();
    let copied = read::<u8>(&to);
    assert_eq!((&copied[..8], &copied[8..]), (&word[..], &[7; LEN - 8][..]));
    assert_eq!(read::<Outcome>(&outcomes)[0].sum, 700);
}

/// If ROCr watches no signals, copies that have to wait are rejected, and waiting threads poll.
fn a_copy_that_cannot_wait_fails(target: &Target) {
    let (queued, is_queued) = mpsc::channel();
    let is_queued = Mutex::new(is_queued);
    let functions = acting(move |what| {
        let until_queued = is_queued.lock().unwrap().recv();
        until_queued.expect("the test goes on until all is queued");
        what
    });
    let session = Session::new(target, &functions);
    let outcomes = session.zeroed::<Outcome>(1);
    let mut queue = session.runtime.queue().unwrap();
    let args: [&dyn KernelArg; 4] = [&7u64, &0u64, &1u32, &outcomes];
    let launch = session.enqueue(&mut *queue, "call_act", (1, 1), &args);
    let word = [8u8; 8];
    // SAFETY: `word` is left alone until the queue has been synchronised.
    let copied = unsafe { queue.copy_to_device(outcomes.address(), word.as_ptr(), word.len()) };
    queued.send(()).unwrap();
    let error = copied.expect_err("nobody tells when the kernel has ended");
    assert_names(&error, &["`emu:gfx90a`", "hsa_amd_signal_async_handler: "]);
    queue.synchronize().unwrap();
    launch.wait().unwrap();
    assert_eq!(read::<Outcome>(&outcomes)[0].sum, 7);
    assert!(counts().faults > 0, "calls that failed");
    drop((launch, queue, outcomes, session));
    nothing_is_left();
}

/// After device loss, a waiter may free the target of a copy, although the engine may still perform
/// the copy.
fn a_copy_that_outlives_its_device(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let from = session.filled(&[7u8; 8]);
    let (mut first, mut second) = (
        session.runtime.queue().unwrap(),
        session.runtime.queue().unwrap(),
    );
    let mut to = [vec![1u8; 8], vec![1u8; 8]];
    let held = hsa_emu::hold_copies();
    for (queue, to) in [&mut first, &mut second].into_iter().zip(&mut to) {
        // SAFETY: it is left alone until the device is found to be lost.
        unsafe { queue.copy_from_device(to.as_mut_ptr(), from.address(), to.len()) }.unwrap();
    }
    let event = second.record_event();
    assert!(report_event(MEMORY_ERROR, 0));
    let lost = first.synchronize().unwrap_err();
    assert!(matches!(lost, DeviceError::Lost { .. }), "{lost}");
    let is_lost =
        |state| matches!(state, EventState::Failed(why) if why.to_string().contains("is lost"));
    assert!(is_lost(event.check()));
    // The memory has another use from here on.
    to.iter_mut().for_each(|to| to.fill(2));
    drop(held);
    assert_eq!(process::settle(|| counts().copies, 0), 0);
    for queue in [&mut first, &mut second] {
        queue.synchronize().unwrap_err();
    }
    assert!(is_lost(event.check()));
    assert_eq!(to, [[2; 8], [2; 8]]);
}

/// A waiter that finds an event failed may free the targets of the copies before it.
fn a_queue_fails_behind_its_copies(target: &Target) {
    let copied = |runtime: &Runtime, to: &mut [u8]| {
        let from = runtime.alloc_from(&[7u8; 8]).unwrap();
        let mut queue = runtime.queue().unwrap();
        let held = hsa_emu::hold_copies();
        // SAFETY: it is left alone until an event behind it is found done or failed.
        unsafe { queue.copy_from_device(to.as_mut_ptr(), from.address(), to.len()) }.unwrap();
        (from, queue, held)
    };
    let [runtime, other] = [(); 2].map(|()| target.builder().build().unwrap());
    let (mut to, mut never) = (vec![1u8; 8], vec![1u8; 8]);
    let (far_from, mut far, held) = copied(&other, &mut never);
    drop(held);
    far.synchronize().unwrap();
    let (_kept, mut queue, held) = copied(&runtime, &mut to);
    let before = queue.record_event();
    // SAFETY: `never` is left alone until an event after the copy is found done or failed.
    unsafe { far.copy_from_device(never.as_mut_ptr(), far_from.address(), never.len()) }.unwrap();
    let lost = far.record_event();
    assert!(report_event(MEMORY_ERROR, 1));
    queue.wait_event(&lost);
    let behind = queue.record_event();
    assert_eq!(behind.check(), EventState::Pending);
    assert_eq!(to, [1; 8]);
    drop(held);
    assert!(behind.sync().unwrap_err().to_string().contains("is lost"));
    assert_eq!(to, [7; 8]);
    before.sync().unwrap();
    let error = queue.synchronize().unwrap_err();
    assert!(
        matches!(error, DeviceError::DependencyFailed { .. }),
        "{error}"
    );
    queue.synchronize().unwrap();
}

/// After a rejected copy the caller may free its memory: no part of it is pending.
fn a_copy_that_is_refused_half_way(target: &Target) {
    const LEN: usize = 4 << 20;
    let runtime = target.builder().build().unwrap();
    let data = vec![7u8; LEN];
    // The third piece of each is rejected.
    let zeroed = || runtime.alloc(LEN as u64).map(drop);
    let filled = || runtime.alloc_from(&data).map(drop);
    let ways: [&(dyn Fn() -> Result<(), RuntimeError> + Sync); 2] = [&zeroed, &filled];
    for way in ways {
        let held = hsa_emu::hold_copies();
        std::thread::scope(|scope| {
            let refused = scope.spawn(way);
            process::settle(|| 2u64.saturating_sub(counts().copies), 0);
            // The failure is not reported before the pieces end, however long that takes.
            std::thread::sleep(Duration::from_millis(50));
            let waits = !refused.is_finished();
            drop(held);
            let error = refused.join().unwrap().unwrap_err();
            assert!(waits, "pieces of it are under way: {error}");
            assert_names(&error, &["`emu:gfx90a`", "hsa_amd_memory_async_copy: "]);
        });
    }
    assert_eq!(counts().faults, 2);
    let filled = runtime.alloc_from(&data).unwrap();
    assert!(read::<u8>(&filled) == data, "they came back changed");
}

/// The calls of this device that fail in turn.
const CALLS: FailingCalls = FailingCalls {
    user: "emu_rocr::one_call_fails",
    environments: &[&[]],
    at_start: &["hsa_init", "hsa_amd_register_system_event_handler"],
    tolerated: &[
        // These free.
        "hsa_amd_memory_pool_free",
        "hsa_code_object_reader_destroy",
        "hsa_executable_destroy",
        "hsa_queue_destroy",
        "hsa_signal_destroy",
        // Threads that wait poll instead.
        "hsa_amd_signal_async_handler",
        // The description counts no compute units.
        "hsa_agent_get_info:5",
    ],
    never_called: &[
        "hsa_shut_down",
        "hsa_signal_wait_scacquire",
        // It describes errors.
        "hsa_status_string",
        // For GPUs that are installed.
        "hsa_system_get_info",
    ],
    infallible: &[
        "hsa_queue_load_read_index_scacquire",
        "hsa_queue_store_write_index_screlease",
        "hsa_signal_load_scacquire",
        "hsa_signal_store_relaxed",
        "hsa_signal_store_screlease",
    ],
};

/// `HSA_STATUS_ERROR`.
const UNEXPECTED: u32 = 4096;

fn a_first_driver_call_fails(_: &Target) {
    CALLS.fail(1, UNEXPECTED);
}

fn a_second_driver_call_fails(_: &Target) {
    CALLS.fail(2, UNEXPECTED);
}

fn a_fifth_driver_call_fails(_: &Target) {
    CALLS.fail(5, UNEXPECTED);
}

/// Uses all features, repeatedly.
fn one_call_fails(target: &Target) {
    // Resources that could not be freed still exist.
    let leaks = failing_calls::fault().is_some_and(|fault| {
        ["free", "destroy"]
            .iter()
            .any(|word| fault.function.contains(word))
    });
    CALLS.repeat(
        target,
        || counts().faults,
        || counts().held,
        leaks,
        || use_it(target),
    );
}

fn use_it(target: &Target) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = target.builder().build()?;
    let (queued, is_queued) = mpsc::channel::<()>();
    let is_queued = Mutex::new(is_queued);
    let functions = acting(move |what| {
        // Until the sender is dropped.
        let _ = is_queued.lock().unwrap().recv();
        what
    });
    let program = runtime.load(&image(target), &functions)?;
    let _ = (runtime.memory(), runtime.description());
    let outcomes = runtime.alloc(4 * size_of::<Outcome>() as u64)?;
    let kernel = program.kernel("call_act")?;
    let args: [&dyn KernelArg; 4] = [&1u64, &0u64, &3u32, &outcomes];
    let grid = Grid {
        teams: 2,
        threads: 2,
    };
    let mut data = vec![Outcome::default(); 4];
    let mut queue = runtime.queue()?;
    // SAFETY: the parameters are those of `call_act`, with an outcome for each
    // thread, allocated until the launch has been waited for.
    let launch = unsafe { kernel.enqueue(&mut *queue, grid, &args) }?;
    // SAFETY: `data` is left alone until the queue has been synchronised, or is gone.
    let copied = unsafe {
        let (to, len) = (data.as_mut_ptr().cast(), size_of_val(&*data));
        queue.copy_from_device(to, outcomes.address(), len)
    };
    drop(queued);
    copied?;
    queue.synchronize()?;
    launch.wait()?;
    drop(queue);
    // A failure is an error, never a wrong result.
    assert!(data.iter().all(|outcome| outcome.ok == 3));
    Ok(())
}
