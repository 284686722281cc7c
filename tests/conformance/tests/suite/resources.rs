//! The resources of a runtime, and that it frees them. Each test runs in a separate process, which
//! it measures.

use std::time::Duration;

use conformance::{Target, process};
use conformance_calls::Outcome;
use revoff_host::Runtime;

use crate::image::image;
use crate::maps::probing;
use crate::raw::{Form, Where, perform};
use crate::session::{Session, acting, acting_or};
use crate::{Test, test};
use revoff_host::shared_abi::map_kind::MapKind;

pub(crate) const TESTS: &[Test] = &[
    test!(threads_end_with_the_runtime).alone(),
    test!(no_more_threads_than_allowed).alone(),
    test!(device_memory_comes_back)
        .alone()
        .only(Target::shares_no_memory),
    test!(nothing_runs_while_no_kernel_does).alone(),
    test!(cost_does_not_grow).alone(),
];

fn use_it(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let (outcomes, result) = session.act((8, 8), 1, 0, 10);
    result.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.ok == 10));
}

fn threads_end_with_the_runtime(target: &Target) {
    // Creates everything that the process has only once.
    use_it(target);
    let (threads, files) = (process::threads(), process::files());
    for _ in 0..10 {
        use_it(target);
        assert!(process::settle(process::threads, threads) <= threads);
        assert!(
            process::settle(process::files, files) <= files,
            "the images' files"
        );
    }
    // Even after calls that failed and kernels that trapped.
    {
        let session = Session::new(target, &acting_or(|_| Err("no".to_owned())));
        session.act((4, 4), 1, 0, 3).1.unwrap_err();
        let outcomes = session.zeroed::<Outcome>(4);
        let args: [&dyn revoff_host::KernelArg; 3] = [&1u64, &0u32, &outcomes];
        session.run("call_and_trap", (2, 2), &args).unwrap_err();
    }
    assert!(process::settle(process::threads, threads) <= threads);
    assert!(process::settle(process::files, files) <= files);
    // A runtime that never ran a kernel.
    drop(target.builder().build().unwrap());
    assert!(process::settle(process::threads, threads) <= threads);
}

fn serving() -> usize {
    process::thread_names()
        .get("serve ")
        .or(process::thread_names().get("serve"))
        .copied()
        .unwrap_or(0)
}

fn no_more_threads_than_allowed(target: &Target) {
    for limit in [1, 2, 8] {
        let most = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let seen = std::sync::Arc::clone(&most);
        let functions = acting(move |what| {
            seen.fetch_max(serving(), std::sync::atomic::Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            what
        });
        let session = Session::build(target, target.builder().threads(limit), &functions);
        session.act((8, 8), 1, 0, 2).1.unwrap();
        let most = most.load(std::sync::atomic::Ordering::Relaxed);
        assert!(
            (1..=limit).contains(&most),
            "{most} threads serve, at most {limit} may"
        );
        assert!(session.runtime.threads() <= limit);
        drop(session);
        assert_eq!(process::settle(serving, 0), 0);
    }
}

/// Used device memory, after waiting for frees: a device may delay them.
fn used(runtime: &Runtime, expected: u64) -> u64 {
    process::settle(|| runtime.memory().used, expected)
}

fn device_memory_comes_back(target: &Target) {
    let runtime = target.builder().build().unwrap();
    assert_eq!(runtime.memory().used, 0, "nothing has been asked for");
    let functions = acting(|what| what);
    // The first image that calls allocates the claims, which stay.
    Session::on(&runtime, &image(target), &functions).works();
    let before = used(&runtime, runtime.cost().device.next_multiple_of(256));
    assert!(before >= runtime.cost().device, "what claims need");
    assert!(before < runtime.cost().device + 4096, "and little else");
    for _ in 0..3 {
        let session = Session::on(&runtime, &image(target), &functions);
        let other = Session::on(&runtime, &image(target), &functions);
        // Images with variables in device memory use more.
        let loaded = runtime.memory().used;
        let held = session.zeroed::<u8>(1 << 20);
        assert_eq!(runtime.memory().used, loaded + (1 << 20));
        session.works();
        other.works();
        drop(held);
        assert_eq!(used(&runtime, loaded), loaded);
        drop((session, other));
        assert_eq!(used(&runtime, before), before);
    }
    assert!(
        runtime.alloc(runtime.memory().total).is_err(),
        "there is not that much"
    );
    assert_eq!(used(&runtime, before), before);
}

/// Measures processor time, so that other load of the machine does not matter.
fn nothing_runs_while_no_kernel_does(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.act((8, 8), 1, 0, 20).1.unwrap();
    let used_in_a_while = || {
        let before = process::cpu_time();
        std::thread::sleep(Duration::from_millis(300));
        process::cpu_time() - before
    };
    // Activity after a kernel comes to rest, late on a busy machine.
    let mut used = (0..20).map(|_| used_in_a_while());
    assert!(
        used.any(|used| used < Duration::from_millis(30)),
        "it never came to rest"
    );
    session.works();
}

/// For any number of kernels and requests.
fn cost_does_not_grow(target: &Target) {
    let (session, _) = probing(target, |_| Ok(()));
    let (cost, before) = (session.runtime.cost(), session.runtime.memory().used);
    for size in [8, 100, 60_000] {
        for place in [Where::Memory, Where::Stack] {
            let forms = [Form::at(0, size, MapKind::TOFROM)];
            perform(&session, place, &vec![1; size], &forms)
                .result
                .unwrap();
        }
    }
    assert_eq!(
        (session.runtime.cost(), used(&session.runtime, before)),
        (cost, before)
    );
    assert!(cost.mapped > 0 && cost.device > 0 && cost.threads == 8);
}
