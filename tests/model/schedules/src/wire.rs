//! A wire that is a list of requests.

#[path = "../../../../host-rt/src/wire/wake.rs"]
pub mod wake;

#[path = "../../../../host-rt/src/wire/poll.rs"]
#[expect(dead_code, reason = "text is not modelled")]
mod poll;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

pub use self::poll::Poll;
pub(crate) use self::poll::PollWire;
use crate::base::random::chance;
use crate::base::sync::{Condvar, Mutex, lock, wait};

/// A message that breaks the protocol, with the work that its report causes.
#[derive(Clone)]
pub struct ProtocolError(pub(crate) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProtocolError")
    }
}

impl PartialEq for ProtocolError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProtocolError {}

/// The status of a completed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its function has returned.
    Done,
    /// Its launch is aborted.
    Aborted,
    /// The server refuses all calls.
    ShuttingDown,
}

/// A host function.
pub type Function = Arc<dyn Fn() + Send + Sync>;

/// A call of a device thread.
pub struct Call {
    /// The function, and whether it counts as slow.
    pub(crate) function: Function,
    pub(crate) is_slow: bool,
    status: Mutex<Option<Status>>,
    completed: Condvar,
    /// The number of times that the function has begun. Not a word of the model.
    pub(crate) runs: std::sync::atomic::AtomicUsize,
}

impl Call {
    /// A call that has not been made.
    #[must_use]
    pub fn new(is_slow: bool, function: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            function: Arc::new(function),
            is_slow,
            status: Mutex::new(None),
            completed: Condvar::new(),
            runs: std::sync::atomic::AtomicUsize::new(0),
        })
    }

    /// Waits until it is completed.
    pub fn wait(&self) -> Status {
        let mut status = lock(&self.status);
        loop {
            if let Some(status) = *status {
                return status;
            }
            status = wait(&self.completed, status);
        }
    }

    /// The status; `None` if it is not completed.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        *lock(&self.status)
    }

    /// The number of times that its function has begun.
    #[must_use]
    pub fn runs(&self) -> usize {
        // Relaxed: all threads of a model are one.
        self.runs.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Completes it, once.
    pub(crate) fn complete(&self, status: Status) {
        let before = lock(&self.status).replace(status);
        assert_eq!(before, None, "a call is completed twice");
        self.completed.notify_all();
    }
}

/// A request, which must be completed.
pub(crate) struct Request {
    call: Option<Arc<Call>>,
    launch: u32,
}

impl Request {
    pub(crate) fn call(&self) -> &Arc<Call> {
        self.call.as_ref().expect("it is not completed")
    }

    pub(crate) fn launch(&self) -> u32 {
        self.launch
    }

    pub(crate) fn set_launch_if_unknown(&mut self, launch: u32) {
        if self.launch == 0 {
            self.launch = launch;
        }
    }

    pub(crate) fn complete(mut self, status: Status) {
        self.call.take().expect("owned").complete(status);
    }

    /// Leaves it to the thread that has completed it.
    pub(crate) fn forget(mut self) {
        self.call = None;
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.call.is_some() && !std::thread::panicking() {
            panic!("a request is lost");
        }
    }
}

/// A message of a device thread.
enum Message {
    /// A call, and whether it has arrived completely.
    Call(Arc<Call>, bool),
    Broken(ProtocolError),
}

/// A wire.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    messages: Mutex<VecDeque<Message>>,
}

impl Wire {
    /// Begins to write a call.
    pub(crate) fn begin(&self, call: &Arc<Call>) {
        lock(&self.messages).push_back(Message::Call(Arc::clone(call), false));
    }

    /// Has written the call.
    pub(crate) fn publish(&self, call: &Arc<Call>) {
        for message in &mut *lock(&self.messages) {
            if let Message::Call(known, is_complete) = message
                && Arc::ptr_eq(known, call)
            {
                *is_complete = true;
            }
        }
    }

    /// Writes messages that break the protocol.
    pub(crate) fn break_protocol(&self, count: usize, report: impl Fn() + Send + Sync + 'static) {
        let error = ProtocolError(Arc::new(report));
        let errors = (0..count).map(|_| Message::Broken(error.clone()));
        lock(&self.messages).extend(errors);
    }
}

/// Polls a wire.
pub(crate) type RequestPoller = dyn PollWire<Request = Request>;

/// The poller of a wire.
pub(crate) struct Poller {
    pub(crate) wire: Arc<Wire>,
    /// Called when the wire is not polled any more.
    pub(crate) retired: Box<dyn Fn() + Send + Sync>,
}

impl Drop for Poller {
    fn drop(&mut self) {
        (self.retired)();
    }
}

impl PollWire for Poller {
    type Request = Request;

    fn poll(&mut self) -> Poll<Request> {
        // "It may miss a request at first; one of the next polls finds it."
        match chance(4) {
            true => Poll::Empty,
            false => self.poll_all(),
        }
    }

    fn poll_all(&mut self) -> Poll<Request> {
        let mut messages = lock(&self.wire.messages);
        let is_ready = |message: &Message| !matches!(message, Message::Call(_, false));
        let Some(at) = messages.iter().position(is_ready) else {
            return match messages.is_empty() {
                true => Poll::Empty,
                false => Poll::Incomplete,
            };
        };
        match messages.remove(at) {
            Some(Message::Call(call, _)) => Poll::Request(Request {
                call: Some(call),
                launch: 0,
            }),
            Some(Message::Broken(error)) => Poll::ProtocolError(error),
            None => unreachable!("it was found there"),
        }
    }

    fn has_ready(&self) -> bool {
        !lock(&self.wire.messages).is_empty()
    }
}
