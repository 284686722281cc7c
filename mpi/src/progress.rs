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

/// A command for the thread.
pub(crate) enum Command {
    /// A call of a kernel.
    Call(BoxFuture<'static, ()>),
    /// To finish a message of a call that was given up.
    Abandoned(BoxFuture<'static, ()>),
    /// To finish a collective function of a call that was given up. Other ranks may never take part.
    AbandonedCollective(BoxFuture<'static, ()>),
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

/// Communications of calls that have ended, which go on because other ranks may wait for them.
#[derive(Default)]
pub(crate) struct Rest {
    /// Messages, of which some are discarded.
    pub(crate) messages: Vec<BoxFuture<'static, ()>>,
    pub(crate) collectives: Vec<BoxFuture<'static, ()>>,
}

impl Rest {
    /// Adds the communications of a command that comes when MPI ends.
    pub(crate) fn add(&mut self, command: Command) {
        match command {
            Command::Abandoned(rest) | Command::Discard(rest) => self.messages.push(rest),
            Command::AbandonedCollective(rest) => self.collectives.push(rest),
            Command::Call(_) | Command::Finish => {}
        }
    }

    /// Polls all; returns whether something is finished.
    pub(crate) fn poll(&mut self) -> bool {
        let is_any_done = poll_all(&mut self.messages);
        poll_all(&mut self.collectives) || is_any_done
    }
}

/// Polls calls, and removes the finished ones; returns whether there are such.
fn poll_all(calls: &mut Vec<BoxFuture<'static, ()>>) -> bool {
    let before = calls.len();
    calls.retain_mut(|call| !is_done(call));
    calls.len() < before
}

/// Polls calls until it gets [`Command::Finish`], or until there is no sender of messages any more. If it got that, it gives
/// up calls that wait, and returns the rest.
///
/// `progress` precedes each round of polls. It returns the messages to discard.
pub(crate) fn run(
    messages: &Receiver<Command>,
    progress: impl Fn() -> Vec<BoxFuture<'static, ()>>,
) -> Option<Rest> {
    let (mut waiting, mut discards, mut abandoned) = (vec![], vec![], Rest::default());
    let mut eager_until = Instant::now();
    loop {
        let message = match (
            waiting.is_empty() && discards.is_empty(),
            abandoned.messages.is_empty() && abandoned.collectives.is_empty(),
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
            Ok(Command::Discard(future)) => {
                discards.push(future);
                true
            }
            Ok(Command::Finish) => {
                abandoned.messages.append(&mut discards);
                return Some(abandoned);
            }
            Ok(command) => {
                abandoned.add(command);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return None,
        };
        discards.extend(progress());
        let is_done = [
            poll_all(&mut waiting),
            poll_all(&mut discards),
            abandoned.poll(),
        ];
        if is_new || is_done.contains(&true) {
            eager_until = Instant::now() + EAGER;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use super::*;

    #[test]
    fn all_but_calls_is_left_at_the_end() {
        let (sender, messages) = channel();
        // Futures that never end, of which the references that are left tell whether they are dropped.
        let owned: [Arc<()>; 4] = Default::default();
        let [call, collective, message, discard] = owned.each_ref().map(|owned| {
            let owned = Arc::clone(owned);
            let never = poll_fn(move |_| {
                let _ = &owned;
                Poll::Pending
            });
            Box::pin(never) as BoxFuture<'static, ()>
        });
        for message in [
            Command::Call(call),
            Command::AbandonedCollective(collective),
            Command::Abandoned(message),
            Command::Discard(discard),
            Command::Finish,
        ] {
            sender.send(message).expect("it is received below");
        }
        let rest = run(&messages, Vec::new).expect("it ends by the command");
        assert_eq!(owned.each_ref().map(Arc::strong_count), [1, 2, 2, 2]);
        assert_eq!((rest.messages.len(), rest.collectives.len()), (2, 1));
    }
}
