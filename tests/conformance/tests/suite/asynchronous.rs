//! Asynchronous host functions, on tokio.

use std::future::pending;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use conformance::Target;
use conformance_calls::{Act, Outcome, Pair, ReadForms, WriteForms};
use revoff_fn::BoxFuture;
use revoff_host::shared_abi::status::Status;
use revoff_host::{CallError, Functions, LaunchError, current_call};
use tokio::sync::Barrier;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::executor::{executor, on};
use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(all_wait_on_few_threads).only(Target::is_parallel),
    test!(all_forms),
    test!(failures_reach_the_launch),
    // Its call, which keeps the device, is never dropped.
    test!(an_executor_that_leaks_a_call_and_panics).alone(),
    test!(a_call_that_is_never_ready_is_aborted).only(Target::reports_status),
    test!(an_executor_may_keep_a_call),
];

/// More device threads than host threads wait for each other, inside a function.
fn all_wait_on_few_threads(target: &Target) {
    let executor = executor();
    // A batch of callers waits at a time. On `host` more threads than slots call, in lock-step without
    // `native` one lane of a warp.
    let lanes_call_together = !target.runs_in_lock_step() || target.wire.name() == Some("native");
    let (grid, batch) = match (target.is_host(), lanes_call_together) {
        (true, _) => ((2, 1000), 1000),
        (false, true) => ((2, 32), 64),
        (false, false) => ((2, 32), 2),
    };
    let barrier = Arc::new(Barrier::new(batch));
    let function = Act::bind_async(move |what| {
        let barrier = Arc::clone(&barrier);
        Box::pin(async move {
            barrier.wait().await;
            // Out of order.
            sleep(Duration::from_millis(what * 7 % 5)).await;
            let launch = current_call().expect("in a function").launch;
            what + u64::from(launch == u32::MAX)
        })
    });
    let mut functions = Functions::new();
    functions.add_async(function, on(&executor)).unwrap();
    let session = Session::build(target, target.builder().threads(2), &functions);
    let (outcomes, result) = session.act(grid, 1, 1, 1);
    result.unwrap();
    for (thread, outcome) in (1..).zip(outcomes) {
        assert_eq!((outcome.ok, outcome.sum), (1, thread));
    }
    assert!(session.runtime.threads() <= 2);
    assert!(current_call().is_none());
}

fn all_forms(target: &Target) {
    let executor = executor();
    let mut functions = Functions::new();
    let reads = ReadForms::bind_async(|words: &[u32], pair: &Pair, big, small, float| {
        Box::pin(async move {
            yield_now().await;
            let words: u32 = words.iter().sum();
            let big: u64 = big.iter().map(|&byte| u64::from(byte)).sum();
            u64::from(words) + pair.left + pair.right + big + u64::from(small) + float.to_bits()
        })
    });
    let writes = WriteForms::try_bind_async(|words, pair, fill, one| {
        Box::pin(async move {
            let sum = words.iter().sum();
            for (word, i) in words.iter_mut().zip(1..) {
                yield_now().await;
                *word = i * 10;
            }
            std::mem::swap(&mut pair.left, &mut pair.right);
            fill.fill(2);
            *one = Pair { left: 3, right: 4 };
            let right = current_call().is_some().into();
            Ok::<_, String>(Pair { left: sum, right })
        })
    });
    functions.add_async(reads, on(&executor)).unwrap();
    functions.add_async(writes, on(&executor)).unwrap();
    let session = Session::new(target, &functions);
    // Small and large memory of the device, besides that of the stack.
    for count in [3u64, 5000] {
        let memory: Vec<u64> = (1..=count).collect();
        let memory = session.filled(&memory);
        let results = session.zeroed::<u64>(10);
        session
            .run("call_forms", (1, 1), &[&memory, &count, &results])
            .unwrap();
        let results: Vec<u64> = read(&results);
        let sum = count * (count + 1) / 2;
        let reads = [
            15 + 30 + 7 * 24 + 9 + 0.5f64.to_bits(),
            30 + (-1.0f64).to_bits(),
        ];
        assert_eq!(results[..2], reads);
        assert_eq!(results[2..8], [6, 1, 60, 30, 14, 7]);
        assert_eq!(results[8..], [sum, sum * 10]);
    }
}

/// Runs `act(what)` in one thread; its status and the launch's error.
fn fail(target: &Target, functions: &Functions, what: u64) -> (Status, CallError) {
    let session = Session::new(target, functions);
    let (outcomes, result) = session.act((1, 1), what, 0, 1);
    assert_eq!((outcomes[0].ok, outcomes[0].failed), (0, 1));
    match result.unwrap_err() {
        LaunchError::Call { first, failed, .. } => {
            assert_eq!(failed, 1);
            (Status(outcomes[0].status), first)
        }
        other => panic!("{other}"),
    }
}

fn failures_reach_the_launch(target: &Target) {
    let executor = executor();
    let bind = || {
        Act::try_bind_async(|what| {
            assert!(what != 0, "before the future");
            Box::pin(async move {
                yield_now().await;
                match what {
                    1 => Err("no more"),
                    2 => panic!("in the future"),
                    _ => pending().await,
                }
            })
        })
    };
    let check = |spawn: Box<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>, what, text: &str| {
        let mut functions = Functions::new();
        functions.add_async(bind(), spawn).unwrap();
        let (status, error) = fail(target, &functions, what);
        assert!(error.to_string().contains(text), "{error}");
        if target.reports_status() {
            assert_eq!(status, Status::FUNCTION_FAILED);
        }
        error
    };
    let tokio = || -> Box<dyn Fn(BoxFuture<'static, ()>) + Send + Sync> {
        let handle = executor.handle().clone();
        Box::new(move |call| drop(handle.spawn(call)))
    };
    let panicked = |error| matches!(error, CallError::Panicked { .. });
    assert!(panicked(check(tokio(), 0, "before the future")));
    assert!(panicked(check(tokio(), 2, "in the future")));
    let error = check(tokio(), 1, "host function `act` failed: no more");
    assert!(matches!(error, CallError::Failed { .. }));
    // An executor that drops a call at once, after a poll, or with a panic.
    let error = check(Box::new(drop), 3, "dropped before it was ready");
    assert!(matches!(error, CallError::Dropped { .. }));
    let handle = executor.handle().clone();
    let aborts = move |call| {
        let task = handle.spawn(call);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            task.abort();
        });
    };
    check(Box::new(aborts), 3, "dropped before it was ready");
    let panics = Box::new(|_call| panic!("no room"));
    check(panics, 3, "dropped before it was ready");
}

fn an_executor_that_leaks_a_call_and_panics(target: &Target) {
    let mut functions = Functions::new();
    let function = Act::bind_async(|_| Box::pin(pending()));
    let leak = |call: BoxFuture<'static, ()>| {
        std::mem::forget(call);
        panic!("no room")
    };
    functions.add_async(function, leak).unwrap();
    let (status, error) = fail(target, &functions, 3);
    let error = error.to_string();
    let expected = "executor of host function `act` panicked: no room";
    assert!(error.contains(expected), "{error}");
    if target.reports_status() {
        assert_eq!(status, Status::FUNCTION_FAILED);
    }
}

fn a_call_that_is_never_ready_is_aborted(target: &Target) {
    let executor = executor();
    let alive = Arc::new(());
    let of_function = Arc::clone(&alive);
    let mut functions = Functions::new();
    let function = Act::bind_async(move |_| {
        let of_future = Arc::clone(&of_function);
        Box::pin(async move {
            loop {
                sleep(Duration::from_millis(5)).await;
                assert!(Arc::strong_count(&of_future) > 2);
            }
        })
    });
    functions.add_async(function, on(&executor)).unwrap();
    let builder = target.builder().deadline(Duration::from_secs(1));
    let session = Session::build(target, builder, &functions);
    let (outcomes, result) = session.act((2, 2), 1, 0, 1);
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("pending on the host: `act` (4 calls)"),
        "{text}"
    );
    let LaunchError::Deadline { has_ended, .. } = error else {
        panic!("{text}")
    };
    assert!(has_ended);
    for outcome in outcomes {
        assert_eq!(Status(outcome.status), Status::ABORTED);
    }
    // The futures are dropped by their next poll.
    let until = Instant::now() + Duration::from_secs(10);
    while Arc::strong_count(&alive) > 2 {
        assert!(Instant::now() < until, "futures of aborted calls live on");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whatever polls a call completes it. An executor may keep a call of an aborted launch for longer than
/// the runtime lives.
fn an_executor_may_keep_a_call(target: &Target) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut functions = Functions::new();
    let function = Act::bind_async(|what| Box::pin(async move { what }));
    let keep = move |call: BoxFuture<'static, ()>| drop(sender.send(call));
    functions.add_async(function, keep).unwrap();
    let session = Session::new(target, &functions);
    let executor = executor();
    let acting = session.start_act((1, 1), 5, 0, 1);
    executor.block_on(receiver.recv().unwrap());
    acting.launch.wait().unwrap();
    assert_eq!(read::<Outcome>(&acting.outcomes)[0].sum, 5);
    if !target.reports_status() {
        return;
    }
    for is_polled in [false, true] {
        let session = Session::new(target, &functions);
        let acting = session.start_act((1, 1), 5, 0, 1);
        let call = receiver.recv().unwrap();
        assert!(acting.launch.abort());
        acting.launch.wait().unwrap_err();
        drop((acting, session));
        match is_polled {
            true => executor.block_on(call),
            false => drop(call),
        }
    }
}
