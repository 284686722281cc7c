//! Polls calls that wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use revoff_fn::BoxFuture;

/// How long the thread polls without a pause after something has happened: MPI has no other way to say that
/// a message came.
const EAGER: Duration = Duration::from_millis(1);

/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// The pause if nothing is left but calls that were given up.
const LONG_PAUSE: Duration = Duration::from_millis(10);

/// What the thread is to do.
pub(crate) enum Command {
    /// A call of a kernel.
    Call(BoxFuture<'static, ()>),
    /// To finish a call that was given up.
    Abandoned(BoxFuture<'static, ()>),
    /// A message that nobody gets, whose sender waits.
    Discard(BoxFuture<'static, ()>),
    /// MPI shall end.
    Finish,
}

/// Polls a call; returns whether it is finished. Nothing wakes its task, so an unfinished one is polled again. One that
/// panics, such as in a subscriber of the log, is finished: the thread goes on for the others.
pub(crate) fn is_done(call: &mut BoxFuture<'static, ()>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let poll = AssertUnwindSafe(|| call.as_mut().poll(&mut context));
    catch_unwind(poll).map_or(true, |polled| polled.is_ready())
}

/// Polls calls until it gets [`Command::Finish`], or until there is no sender of messages any more. Returns whether it got
/// that. Calls that wait then are given up; messages are discarded first, since their senders may have to finish as well.
///
/// `progress` precedes each round of polls. It returns the messages to discard.
pub(crate) fn run(
    messages: &Receiver<Command>,
    progress: impl Fn() -> Vec<BoxFuture<'static, ()>>,
) -> bool {
    let (mut waiting, mut discards, mut abandoned) = (vec![], vec![], vec![]);
    let mut eager_until = Instant::now();
    loop {
        let message = match (
            waiting.is_empty() && discards.is_empty(),
            abandoned.is_empty(),
        ) {
            (true, true) => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            _ if Instant::now() < eager_until => {
                thread::yield_now();
                messages.recv_timeout(Duration::ZERO)
            }
            (true, false) => messages.recv_timeout(LONG_PAUSE),
            (false, _) => messages.recv_timeout(PAUSE),
        };
        let is_new = match message {
            Ok(Command::Call(call)) => {
                waiting.push(call);
                true
            }
            Ok(Command::Abandoned(future)) => {
                abandoned.push(future);
                true
            }
            Ok(Command::Discard(future)) => {
                discards.push(future);
                true
            }
            Ok(Command::Finish) => {
                drop(waiting);
                while !discards.is_empty() {
                    discards.retain_mut(|discard| !is_done(discard));
                    thread::yield_now();
                }
                return true;
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        discards.extend(progress());
        let mut is_any_done = false;
        for calls in [&mut waiting, &mut discards, &mut abandoned] {
            let before = calls.len();
            calls.retain_mut(|call| !is_done(call));
            is_any_done |= calls.len() < before;
        }
        if is_new || is_any_done {
            eager_until = Instant::now() + EAGER;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use super::*;

    #[test]
    fn messages_are_discarded_before_the_end() {
        let (sender, messages) = channel();
        let polls = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&polls);
        let discard = poll_fn(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
            5 => Poll::Ready(()),
            _ => Poll::Pending,
        });
        let never = || Box::pin(poll_fn(|_| Poll::Pending));
        for message in [
            Command::Call(never()),
            Command::Abandoned(never()),
            Command::Discard(Box::pin(discard)),
            Command::Finish,
        ] {
            sender.send(message).expect("it is received below");
        }
        assert!(run(&messages, Vec::new));
        // Relaxed, here and above: a number that one thread counts.
        assert_eq!(polls.load(Ordering::Relaxed), 6);
    }
}
