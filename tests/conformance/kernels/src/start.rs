//! Kernels whose calls do not block.

use core::array::from_fn;
use core::mem::forget;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use conformance_calls::{Act, Note, Outcome, Pair, WriteForms, act};
use revoff_device::thread;
use revoff_fn::{CallError, Posts, Started};

/// Calls of a thread at a time.
const CALLS: usize = 8;

fn record(outcome: &mut Outcome, result: Result<u64, CallError>) {
    match result {
        Ok(result) => {
            outcome.sum = outcome.sum.wrapping_add(result);
            outcome.ok += 1;
        }
        Err(error) => {
            outcome.failed += 1;
            outcome.status = error.status().0;
        }
    }
}

/// Runs a future to its end.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Each thread starts 8 calls of `act`, with `what` and the 7 numbers after it. It then, by `how`: waits
/// for the last one first (0); polls until each is ready, and waits (1); awaits them (2); drops them (3).
/// Thread `i` writes the outcome to `outcomes[i]`; the status is that of the last failed call.
///
/// # Safety
/// There is an [`Outcome`] for each thread.
#[revoff_device::kernel]
pub unsafe fn start_act(what: u64, how: u64, outcomes: *mut Outcome) {
    let mut outcome = Outcome::default();
    let mut calls: [_; CALLS] = from_fn(|i| Some(Act::start(what + i as u64)));
    for i in (0..CALLS).rev() {
        let Some(started) = calls[i].take() else {
            continue;
        };
        match started {
            Err(error) => record(&mut outcome, Err(error)),
            Ok(call) => match how {
                0 => record(&mut outcome, call.wait()),
                1 => {
                    while !call.is_ready() {
                        revoff_device::arch::pause(1000);
                    }
                    record(&mut outcome, call.wait());
                }
                2 => record(&mut outcome, block_on(call)),
                _ => drop(call),
            },
        }
    }
    // SAFETY: each thread writes its own.
    unsafe { outcomes.add(thread::global() as usize).write(outcome) };
}

/// Starts calls with results in memory, and checks these; the last one is forgotten. `results` has the
/// number of correct results and of changed bytes after the call that was forgotten.
///
/// # Safety
/// `memory` has three words, 1 to 3, and `results` two.
#[revoff_device::kernel]
pub unsafe fn start_forms(memory: *mut u64, results: *mut u64) {
    // SAFETY: the launcher promises it; no other thread runs.
    let memory = unsafe { core::slice::from_raw_parts_mut(memory, 3) };
    let mut correct = 0;
    let [mut pair, mut other] = [Pair {
        left: 10,
        right: 20,
    }; 2];
    let [mut one, mut two] = [Pair::default(); 2];
    let (mut fill, mut full) = ([0; 7], [0; 3]);
    let mut few = [1, 2, 3];
    let first = WriteForms::start(&mut few, &mut pair, &mut fill, &mut one);
    let second = WriteForms::start(memory, &mut other, &mut full, &mut two);
    let moved = [second, first];
    for (i, started) in moved.into_iter().enumerate() {
        let result = started.and_then(Started::wait);
        correct += u64::from(result == Ok(Pair { left: 6, right: !6 })) << i;
    }
    correct += u64::from(few == [2, 4, 6] && *memory == [2, 4, 6]) << 2;
    correct += u64::from((pair.left, pair.right, other) == (21, 10, pair)) << 3;
    correct += u64::from(fill == [1, 2, 3, 4, 5, 6, 7] && full == [1, 2, 3]) << 4;
    correct += u64::from(one == Pair { left: 3, right: 4 } && two == one) << 5;
    // A call that does not fit a slot is refused.
    let mut many = [0; 100];
    let is_refused = WriteForms::start(&mut many, &mut pair, &mut fill, &mut one).is_err();
    correct += u64::from(is_refused) << 6;

    let mut mine = [7; 3];
    if let Ok(started) = WriteForms::start(&mut mine, &mut pair, &mut fill, &mut one) {
        forget(started);
    }
    // The next call has its reply, so that of the one before has probably come, too.
    correct += u64::from(act(1) == Ok(1)) << 7;
    // SAFETY: see above.
    unsafe {
        results.write(correct);
        results.add(1).write(u64::from(mine != [7; 3]));
    }
}

/// One thread starts calls of `act` until one is refused, then calls without starting, finishes all, and
/// starts one more. The outcome: the calls that were started and refused, and the sum of the results.
///
/// # Safety
/// There is an [`Outcome`].
#[revoff_device::kernel]
pub unsafe fn start_too_many(what: u64, outcome: *mut Outcome) {
    let mut all = Outcome::default();
    let mut calls: [_; 16] = from_fn(|_| match Act::start(what) {
        Ok(call) => Some(call),
        Err(error) => {
            all.failed += 1;
            all.status = error.status().0;
            None
        }
    });
    record(&mut all, act(what));
    for call in &mut calls {
        if let Some(call) = call.take() {
            record(&mut all, call.wait());
        }
    }
    record(&mut all, Act::start(what).and_then(Started::wait));
    // SAFETY: the launcher promises it.
    unsafe { outcome.write(all) };
}

/// Each thread posts `count` notes with its number and the note's, and `bytes` bytes of text. Writes the
/// number of failures.
///
/// # Safety
/// There is a word for each thread.
#[revoff_device::kernel]
pub unsafe fn post_notes(count: u64, bytes: u64, failed: *mut u32) {
    let me = u64::from(thread::global());
    let text = [b'x'; 2000];
    let mut posts = Posts::<4>::new();
    for n in 0..count {
        let text = text.get(..bytes as usize).unwrap_or(&[]);
        Note::post(&mut posts, me << 32 | n, text);
    }
    posts.wait();
    // SAFETY: each thread writes its own.
    unsafe { failed.add(me as usize).write(posts.failed()) };
}

/// Starts a call of `act`, and a note with 300 bytes of `memory`, which it overwrites before the host can
/// have served the note.
///
/// # Safety
/// `memory` has 300 bytes.
#[revoff_device::kernel]
pub unsafe fn start_and_overwrite(memory: *mut u8) {
    // SAFETY: the launcher promises it; no other thread runs.
    let memory = unsafe { core::slice::from_raw_parts_mut(memory, 300) };
    let first = Act::start(1);
    let second = Note::start(2, memory);
    memory.fill(b'y');
    thread::system_fence();
    let first = first.and_then(Started::wait);
    let second = second.and_then(Started::wait);
    assert!(first.is_ok() && second.is_ok());
}
