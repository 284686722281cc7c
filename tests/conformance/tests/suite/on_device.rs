//! Asynchronous host functions whose data stays in device memory.

use std::future::pending;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use conformance::{Target, emulated, process};
use conformance_calls::{Act, Outcome, Pair, WriteForms};
use revoff_fn::FunctionFailed;
use revoff_host::device::Fault;
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{
    CallError, DeviceBuffer, DeviceCall, DeviceFunction, DeviceReply, Functions, KernelArg,
    LaunchError, StagingBuffer,
};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::executor::{executor, on};
use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(another_thread_answers_in_device_memory),
    test!(the_function_itself_serves_other_calls),
    test!(an_answer_that_does_not_fit_fails),
    test!(an_aborted_call_frees_its_memory).only(Target::reports_status),
    test!(a_lost_device_ends_its_calls)
        .alone()
        .only(can_call_beside_another),
    test!(small_buffers_count_too).alone_with(&[("REVOFF_REQUEST_MEMORY", "1M")]),
];

/// Whether a kernel that faults can call although another call waits: not with one slot.
fn can_call_beside_another(target: &Target) -> bool {
    target.is_lost_by_faults() && target.wire != WireKind::GCC_SLOT
}

/// Words of each thread: too many for a slot of any wire.
const WORDS: u64 = 5000;

/// Functions with `write_forms`, whose calls `on_device` serves. Calls that it declines get 5 in each word.
fn functions(executor: &Runtime, on_device: impl DeviceFunction) -> Functions {
    let mut functions = Functions::new();
    let itself = WriteForms::bind_async(|words, _, _, _| {
        Box::pin(async move {
            words.fill(5);
            Pair::default()
        })
    });
    functions
        .add_async_on_device(itself, on_device, on(executor))
        .expect("the first of its name");
    functions.add(Act::bind(|what| what)).expect("another name");
    functions
}

/// A copy of the words of a call of `write_forms`.
fn words(call: &mut DeviceCall<'_>) -> Option<StagingBuffer> {
    let bytes = call.data(0, MapKind::TOFROM)?;
    assert_eq!(bytes as u64, 8 * WORDS);
    assert!(call.returns::<Pair>(4) && !call.returns::<u64>(4) && !call.returns::<Pair>(3));
    let copy = call.copy_of(0)?;
    assert!(call.owns(&copy));
    assert_eq!(copy.len(), bytes);
    Some(copy)
}

/// Runs a kernel whose threads each call `write_forms` with words that are 1, and returns their sums.
fn call(
    session: &Session,
    threads: u32,
    rounds: u32,
) -> (Vec<u64>, Result<revoff_host::Report, LaunchError>) {
    let (memory, sums) = memory(session, threads);
    let args: [&dyn KernelArg; 4] = [&memory, &WORDS, &rounds, &sums];
    let result = session.run("call_repeatedly", (1, threads), &args);
    (read(&sums), result)
}

/// Memory for `call_repeatedly`.
fn memory(session: &Session, threads: u32) -> (DeviceBuffer, DeviceBuffer) {
    let memory = vec![1u64; WORDS as usize * threads as usize];
    (
        session.filled(&memory),
        session.zeroed::<u64>(threads as usize),
    )
}

/// Multiplies the words of a buffer by 3, as a library would that accesses it.
fn triple(buffer: &StagingBuffer) {
    let first = buffer.as_mut_ptr().cast::<u64>();
    for i in 0..buffer.len() / 8 {
        // SAFETY: the buffer has so many words, and nothing else accesses it.
        unsafe { *first.add(i) *= 3 };
    }
}

fn another_thread_answers_in_device_memory(target: &Target) {
    if target.is_hardware() {
        // The host does not access it.
        return;
    }
    let executor = executor();
    let (jobs, work) = channel::<(StagingBuffer, oneshot::Sender<StagingBuffer>)>();
    let answers = thread::spawn(move || {
        for (buffer, answer) in work {
            let mut copy = vec![0u8; buffer.len()];
            buffer.read(&mut copy).expect("the device works");
            triple(&buffer);
            let mut tripled = vec![0u8; 8];
            buffer.read(&mut tripled).expect("the device works");
            assert_ne!(copy[..8], tripled[..]);
            // The call waits for it.
            answer.send(buffer).expect("the call waits");
        }
    });
    let jobs = Mutex::new(jobs);
    let on_device = move |call: &mut DeviceCall<'_>| {
        let buffer = words(call)?;
        let jobs = jobs.lock().unwrap().clone();
        let future = async move {
            let (answer, answered) = oneshot::channel();
            let sent = jobs.send((buffer, answer));
            sent.map_err(|_| FunctionFailed::new("no thread"))?;
            let buffer = answered.await.map_err(FunctionFailed::new)?;
            // All but the last word.
            let reply = DeviceReply::new(Pair::default());
            Ok(reply.with_data(0, buffer, 8 * (WORDS as usize - 1)))
        };
        Some(Box::pin(future) as _)
    };
    let session = Session::new(target, &functions(&executor, on_device));
    let before = session.runtime.memory().used;
    let (sums, result) = call(&session, 4, 2);
    result.unwrap();
    // After each of the two calls.
    let expected = (3 + 9) * (WORDS - 1) + 2;
    assert_eq!(sums, [expected; 4]);
    let used = || session.runtime.memory().used;
    assert_eq!(process::settle(used, before), before);
    drop((session, executor));
    answers.join().unwrap();
}

fn the_function_itself_serves_other_calls(target: &Target) {
    let executor = executor();
    // Also if the copy has started.
    let declines = |call: &mut DeviceCall<'_>| {
        words(call)?;
        None
    };
    let session = Session::new(target, &functions(&executor, declines));
    let (sums, result) = call(&session, 2, 1);
    result.unwrap();
    assert_eq!(sums, [5 * WORDS; 2]);
    let panics = |call: &mut DeviceCall<'_>| {
        words(call)?;
        panic!("before the future")
    };
    let session = Session::new(target, &functions(&executor, panics));
    let (_, result) = call(&session, 1, 1);
    match result.unwrap_err() {
        LaunchError::Call { first, .. } => {
            let CallError::Panicked { message, .. } = first else {
                panic!("{first}")
            };
            assert!(message.contains("before the future"), "{message}");
        }
        other => panic!("{other}"),
    }
}

fn an_answer_that_does_not_fit_fails(target: &Target) {
    let executor = executor();
    // No data of an argument, and too much.
    for (argument, more) in [(4, 0), (9, 0), (0, 8)] {
        let on_device = move |call: &mut DeviceCall<'_>| {
            call.data(0, MapKind::TOFROM)?;
            let bytes = 8 * WORDS as usize + more;
            let buffer = call.alloc(bytes)?;
            let reply = DeviceReply::new(Pair::default()).with_data(argument, buffer, bytes);
            Some(Box::pin(async move { Ok(reply) }) as _)
        };
        let session = Session::new(target, &functions(&executor, on_device));
        let (sums, result) = call(&session, 1, 1);
        let error = result.unwrap_err();
        assert!(
            matches!(
                &error,
                LaunchError::Call {
                    first: CallError::Map { .. },
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(sums, [WORDS]);
    }
}

fn an_aborted_call_frees_its_memory(target: &Target) {
    let executor = executor();
    let on_device = |call: &mut DeviceCall<'_>| {
        let buffer = words(call)?;
        let future = async move {
            // A poll finds that the launch was aborted.
            while buffer.len() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(DeviceReply::new(Pair::default()))
        };
        Some(Box::pin(future) as _)
    };
    let builder = target.builder().deadline(Duration::from_secs(1));
    let session = Session::build(target, builder, &functions(&executor, on_device));
    let before = session.runtime.memory().used;
    let (sums, result) = call(&session, 2, 1);
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`write_forms` (2 calls)"), "{text}");
    let LaunchError::Deadline { has_ended, .. } = error else {
        panic!("{text}")
    };
    assert!(has_ended);
    assert_eq!(sums, [WORDS; 2]);
    let used = || session.runtime.memory().used;
    assert_eq!(process::settle(used, before), before);
    session.works();
}

fn a_lost_device_ends_its_calls(target: &Target) {
    let executor = executor();
    let (started, has_started) = channel();
    let alive = Arc::new(());
    let once = Mutex::new(Some((started, Arc::clone(&alive))));
    let on_device = move |call: &mut DeviceCall<'_>| {
        let buffer = words(call)?;
        let (started, of_future) = once.lock().unwrap().take()?;
        let future = async move {
            started.send(()).map_err(FunctionFailed::new)?;
            pending::<()>().await;
            drop((buffer, of_future));
            Ok(DeviceReply::new(Pair::default()))
        };
        Some(Box::pin(future) as _)
    };
    let session = Session::new(target, &functions(&executor, on_device));
    let (memory, sums) = memory(&session, 1);
    let args: [&dyn KernelArg; 4] = [&memory, &WORDS, &1u32, &sums];
    let waiting = session.start("call_repeatedly", (1, 1), &args);
    has_started.recv().unwrap();
    let outcomes = session.zeroed::<Outcome>(4);
    let args: [&dyn KernelArg; 3] = [&1u64, &3u32, &outcomes];
    let faulted = session.run("call_and_trap", (1, 4), &args);
    for result in [faulted, waiting.wait()] {
        let error = result.unwrap_err();
        let is_lost = matches!(
            error,
            LaunchError::Fault {
                fault: Fault::Lost(_),
                ..
            }
        );
        assert!(is_lost, "{error}");
    }
    // A call of a kernel that does not run any more is given up, and its future woken.
    assert_eq!(process::settle(|| Arc::strong_count(&alive), 1), 1);
    drop(executor);
    drop((waiting, memory, sums, outcomes, session));
    // The last owner may be a thread of the device, which is about to end.
    assert_eq!(process::settle(emulated::unfreed, 0), 0);
}

/// A function may keep any number of buffers, which is up to the kernel.
fn small_buffers_count_too(target: &Target) {
    const LIMIT: usize = (1 << 20) / 4096;
    for bytes in [4096, 1] {
        let executor = executor();
        let kept = Arc::new(Mutex::new(vec![]));
        let keep = Arc::clone(&kept);
        let on_device = move |call: &mut DeviceCall<'_>| {
            keep.lock().unwrap().push(call.alloc(bytes)?);
            let reply = async { Ok(DeviceReply::new(Pair::default())) };
            Some(Box::pin(reply) as _)
        };
        let session = Session::new(target, &functions(&executor, on_device));
        let (memory, sums) = (session.filled(&[1u64]), session.zeroed::<u64>(1));
        // One small word: the function itself serves the last calls within the budget.
        let args: [&dyn KernelArg; 4] = [&memory, &1u64, &(LIMIT as u32 + 50), &sums];
        session.run("call_repeatedly", (1, 1), &args).unwrap();
        assert_eq!(kept.lock().unwrap().len(), LIMIT);
        let sums: Vec<u64> = read(&sums);
        assert_eq!(sums, [LIMIT as u64 + 5 * 50]);
        kept.lock().unwrap().clear();
    }
}
