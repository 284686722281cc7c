//! Polls calls that wait.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use revoff_fn::BoxFuture;

/// How long the thread polls without a pause after something has happened: MPI has no other way to say that
/// a message came.
const EAGER: Duration = Duration::from_millis(1);

/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// The pause if no call of a kernel waits, but something else is left to do.
const LONG_PAUSE: Duration = Duration::from_millis(10);

/// What the thread is told.
pub(crate) enum Message {
    /// A call of a kernel.
    Call(BoxFuture<'static, ()>),
    /// What MPI does beside calls, such as for calls that were given up.
    Rest(BoxFuture<'static, ()>),
    /// MPI shall end.
    Finish,
}

/// Polls a call; returns whether it is finished. Nothing wakes its task, so an unfinished one is polled again.
pub(crate) fn is_done(call: &mut BoxFuture<'static, ()>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(call.as_mut().poll(&mut context), Poll::Ready(()))
}

/// Polls calls until it is told to finish, or until nobody can tell it anything any more. Returns whether it was told.
/// Calls that wait then are given up.
///
/// `progress` precedes each round of polls. What it returns is polled, too.
pub(crate) fn run(
    messages: &Receiver<Message>,
    progress: impl Fn() -> Vec<BoxFuture<'static, ()>>,
) -> bool {
    let (mut waiting, mut rest) = (vec![], vec![]);
    let mut eager_until = Instant::now();
    loop {
        let message = match (waiting.is_empty(), rest.is_empty()) {
            (true, true) => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            _ if Instant::now() < eager_until => {
                thread::yield_now();
                messages.recv_timeout(Duration::ZERO)
            }
            (true, false) => messages.recv_timeout(LONG_PAUSE),
            (false, _) => messages.recv_timeout(PAUSE),
        };
        let is_new = match message {
            Ok(Message::Call(call)) => {
                waiting.push(call);
                true
            }
            Ok(Message::Rest(future)) => {
                rest.push(future);
                true
            }
            Ok(Message::Finish) => return true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        rest.extend(progress());
        let before = waiting.len() + rest.len();
        for calls in [&mut waiting, &mut rest] {
            calls.retain_mut(|call| !is_done(call));
        }
        if is_new || waiting.len() + rest.len() < before {
            eager_until = Instant::now() + EAGER;
        }
    }
}
