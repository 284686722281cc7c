//! Polls calls that wait.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use revoff_fn::BoxFuture;

/// How long the thread that serves a call polls it, before it hands the call over: a message between processes takes
/// microseconds, and a hand-over to a thread that sleeps takes longer.
const INLINE: Duration = Duration::from_micros(200);

/// How long the thread polls without a pause after something has happened: MPI has no other way to say that
/// a message came.
const EAGER: Duration = Duration::from_millis(1);

/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// What the thread is told.
pub(crate) enum Message {
    /// A call of a kernel.
    Call(BoxFuture<'static, ()>),
    /// MPI shall end.
    Finish,
}

/// Polls a call; returns whether it is finished. Nothing wakes its task, so an unfinished one is polled again.
pub(crate) fn is_done(call: &mut BoxFuture<'static, ()>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(call.as_mut().poll(&mut context), Poll::Ready(()))
}

/// Polls a call for a moment; returns whether it is finished.
pub(crate) fn is_done_soon(call: &mut BoxFuture<'static, ()>) -> bool {
    let begin = Instant::now();
    loop {
        if is_done(call) {
            return true;
        }
        if begin.elapsed() >= INLINE {
            return false;
        }
        thread::yield_now();
    }
}

/// Polls calls until it is told to finish, or until nobody can tell it anything any more. Returns whether it was told.
/// Calls that wait then are given up.
pub(crate) fn run(messages: &Receiver<Message>) -> bool {
    let mut waiting = vec![];
    let mut eager_until = Instant::now();
    loop {
        let message = if waiting.is_empty() {
            messages.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            messages.try_recv()
        };
        let is_new = match message {
            Ok(Message::Call(call)) => {
                waiting.push(call);
                true
            }
            Ok(Message::Finish) => return true,
            Err(TryRecvError::Empty) => false,
            Err(TryRecvError::Disconnected) => return false,
        };
        let before = waiting.len();
        waiting.retain_mut(|call| !is_done(call));
        let now = Instant::now();
        if is_new || waiting.len() < before {
            eager_until = now + EAGER;
        } else if now < eager_until {
            thread::yield_now();
        } else {
            thread::sleep(PAUSE);
        }
    }
}
