//! Matches messages with receives, as MPI does: a message goes to the first receive that accepts it, in the order in
//! which receives have begun; a receive gets the first message that it accepts, in the order in which they came.
//!
//! MPI is asked for each message before it is received, so its length is known. Only then does MPI get memory, of that
//! length: Open MPI 4.1.4 writes all of a message, also behind a place that is too short. The length is that of a
//! kernel, and so is the place.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::poll_fn;
use std::mem;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use mpi_calls::{ANY, Received};
use revoff_fn::BoxFuture;
use revoff_host::StagingBuffer;

use crate::communication::Communication;
use crate::communicator::{Arrived, Communicator};
use crate::discard::discard;
use crate::error::MpiError;
use crate::progress::Message;
use crate::request::{Buffer, Request, Words};
use crate::run_to_end::RunToEnd;
use crate::turns::Turns;

/// The receives that have begun.
pub(crate) struct Receives {
    communicator: Communicator,
    queues: Mutex<Queues>,
    /// The turns of messages that are too long.
    discards: Arc<Turns>,
}

#[derive(Default)]
struct Queues {
    /// The number of the next receive.
    next: u64,
    /// Those without a message, in the order in which they have begun.
    waiting: BTreeMap<u64, Waiting>,
    /// Those with a message, or with an error.
    matched: HashMap<u64, Result<Request, MpiError>>,
    /// Messages that no receive has accepted yet, in the order in which they came.
    early: VecDeque<Arrived>,
}

/// A receive without a message.
struct Waiting {
    from: u32,
    tag: u32,
    bytes: usize,
    /// Memory of a device with so many bytes; `None` for memory of the host.
    memory: Option<StagingBuffer>,
}

impl Waiting {
    fn accepts(&self, message: &Arrived) -> bool {
        (self.from == ANY || self.from == message.from)
            && (self.tag == ANY || self.tag == message.tag)
    }

    fn what(&self) -> Communication {
        Communication::Receive {
            from: self.from,
            tag: self.tag,
            bytes: self.bytes,
        }
    }

    /// Begins to receive a message that this accepts, unless that is too long: then it is returned as well.
    fn receive(
        self,
        communicator: &Communicator,
        message: Arrived,
    ) -> (Result<Request, MpiError>, Option<Arrived>) {
        let what = self.what();
        let bytes = message.bytes;
        if bytes > self.bytes {
            return (Err(MpiError::Truncated { what, bytes }), Some(message));
        }
        let buffer = match self.memory {
            Some(memory) => Buffer::Device(memory),
            None => Words::new(bytes).into(),
        };
        (communicator.receive(what, message, buffer), None)
    }
}

impl Receives {
    pub(crate) fn new(communicator: Communicator) -> Arc<Self> {
        Arc::new(Self {
            communicator,
            queues: Mutex::default(),
            discards: Arc::default(),
        })
    }

    /// Begins to receive at most `bytes` bytes, into memory of a device with so many, or of the host.
    pub(crate) fn begin(
        self: &Arc<Self>,
        thread: &Sender<Message>,
        (from, tag, bytes): (u32, u32, usize),
        memory: Option<StagingBuffer>,
    ) -> Result<Receive, MpiError> {
        let receive = Waiting {
            from,
            tag,
            bytes,
            memory,
        };
        self.communicator.check_source(receive.what(), from, tag)?;
        let mut queues = self.lock();
        let number = queues.next;
        queues.next += 1;
        let mut early = queues.early.iter();
        let first = early.position(|message| receive.accepts(message));
        let too_long = match first.and_then(|first| queues.early.remove(first)) {
            Some(message) => {
                let (matched, too_long) = receive.receive(&self.communicator, message);
                queues.matched.insert(number, matched);
                too_long
            }
            None => {
                queues.waiting.insert(number, receive);
                None
            }
        };
        drop(queues);
        if let Some(message) = too_long {
            // If the thread has ended, so has MPI.
            let _ = thread.send(Message::Discard(self.discard(message)));
        }
        Ok(Receive {
            receives: Arc::clone(self),
            number,
            thread: thread.clone(),
        })
    }

    /// Matches the messages that have come, if receives wait. This thread may call MPI. Returns those to discard.
    pub(crate) fn progress(&self) -> Vec<BoxFuture<'static, ()>> {
        let mut too_long = vec![];
        let mut queues = self.lock();
        while !queues.waiting.is_empty() {
            match self.communicator.next_message() {
                Ok(Some(message)) => too_long.extend(queues.take(&self.communicator, message)),
                Ok(None) => break,
                Err(code) => {
                    // MPI cannot say which messages have come.
                    for (number, receive) in mem::take(&mut queues.waiting) {
                        let error = MpiError::of(receive.what(), code);
                        queues.matched.insert(number, Err(error));
                    }
                }
            }
        }
        drop(queues);
        let too_long = too_long.into_iter();
        too_long.map(|message| self.discard(message)).collect()
    }

    fn discard(&self, message: Arrived) -> BoxFuture<'static, ()> {
        let turn = self.discards.ask();
        Box::pin(discard(self.communicator, turn, message))
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    /// Gives a message to the first receive that accepts it; returns one that is too long for that.
    fn take(&mut self, communicator: &Communicator, message: Arrived) -> Option<Arrived> {
        let mut waiting = self.waiting.iter();
        let found = waiting.find(|(_, receive)| receive.accepts(&message));
        let number = found.map(|(&number, _)| number);
        let Some(entry) = number.and_then(|number| self.waiting.remove_entry(&number)) else {
            self.early.push_back(message);
            return None;
        };
        let (number, receive) = entry;
        let (matched, too_long) = receive.receive(communicator, message);
        self.matched.insert(number, matched);
        too_long
    }
}

/// A receive. Dropping it before it has a message ends it; a message that it has is received, and lost.
pub(crate) struct Receive {
    receives: Arc<Receives>,
    number: u64,
    thread: Sender<Message>,
}

impl Receive {
    /// Waits until the message is there, in memory that is returned.
    pub(crate) async fn done(self) -> Result<(Received, Vec<Buffer>), MpiError> {
        let matched = poll_fn(
            |_| match self.receives.lock().matched.remove(&self.number) {
                Some(matched) => Poll::Ready(matched),
                None => Poll::Pending,
            },
        );
        let request = matched.await?;
        RunToEnd::new(&self.thread, request.done()).await
    }

    /// Whether the message is received in memory of a device for which `is_it` is true.
    pub(crate) fn is_staged_on(&self, is_it: impl Fn(&StagingBuffer) -> bool) -> bool {
        let queues = self.receives.lock();
        let memory = match queues.waiting.get(&self.number) {
            Some(waiting) => waiting.memory.as_ref(),
            None => {
                let matched = queues.matched.get(&self.number);
                matched.and_then(|matched| matched.as_ref().ok()?.staging())
            }
        };
        memory.is_some_and(is_it)
    }
}

impl Drop for Receive {
    fn drop(&mut self) {
        let mut queues = self.receives.lock();
        let waiting = queues.waiting.remove(&self.number);
        let matched = queues.matched.remove(&self.number);
        drop(queues);
        // Without the lock: a device frees its memory.
        drop(waiting);
        if let Some(Ok(request)) = matched {
            drop(RunToEnd::new(&self.thread, request.done()));
        }
    }
}
