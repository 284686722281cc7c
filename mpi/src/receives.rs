//! Receives, and the messages that have come for them (`matching`).
//!
//! MPI is asked for each message before it is received, so its length is known. Only then does MPI get memory, of that
//! length: Open MPI 4.1.4 writes all of a message, also behind a place that is too short. The length is that of a
//! kernel, and so is the place.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use mpi_calls::Received;
use revoff_fn::BoxFuture;
use revoff_host::StagingBuffer;

use crate::communication::Communication;
use crate::communicator::{Arrived, Communicator};
use crate::discard::discard;
use crate::error::MpiError;
use crate::matching::{HasSource, Matching, Source};
use crate::progress::Command;
use crate::request::{Buffer, Request, Words};
use crate::run_to_end::RunToEnd;
use crate::ticket_queue::TicketQueue;

/// The most messages that one call of [`Receives::progress`] matches: other calls wait for it.
const BATCH: u32 = 64;

/// The receives that have begun.
pub(crate) struct Receives {
    communicator: Communicator,
    queues: Mutex<Queues>,
    /// Messages that are discarded.
    discards: Arc<TicketQueue>,
    /// Bytes of the message that is to be discarded, and that there is no memory for; 0 if there is none.
    lacking: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Queues {
    matching: Matching<Waiting, Arrived>,
    /// The receives with a message, or with an error.
    matched: HashMap<u64, Result<Request, MpiError>>,
}

/// A receive without a message.
struct Waiting {
    source: Source,
    bytes: usize,
    /// Memory of a device with so many bytes; `None` for memory of the host.
    memory: Option<StagingBuffer>,
}

impl HasSource for Waiting {
    fn source(&self) -> Source {
        self.source
    }
}

impl Waiting {
    fn what(&self) -> Communication {
        let Source { from, tag } = self.source;
        let bytes = self.bytes;
        Communication::Receive { from, tag, bytes }
    }

    /// Begins to receive a message, unless it is too long, there is no memory, or MPI fails: then it is returned as well.
    fn receive(
        self,
        communicator: &Communicator,
        mut message: Arrived,
    ) -> (Result<Request, MpiError>, Option<Lost>) {
        let what = self.what();
        let bytes = message.bytes;
        let lost = |message, memory| Some(Lost { message, memory });
        if bytes > self.bytes {
            let error = MpiError::Truncated { what, bytes };
            return (Err(error), lost(message, self.memory.map(Buffer::Device)));
        }
        let buffer = match self.memory {
            Some(memory) => Buffer::Device(memory),
            None => match Words::new(bytes) {
                Ok(words) => words.into(),
                Err(error) => return (Err(error), lost(message, None)),
            },
        };
        let mut buffers = vec![buffer];
        match communicator.receive(what, &mut message, &mut buffers) {
            Ok(request) => (Ok(request), None),
            Err(error) => (Err(error), lost(message, buffers.pop())),
        }
    }
}

/// A message that nobody gets, and the memory of its receive: a device frees it, so it is dropped without the lock.
struct Lost {
    message: Arrived,
    memory: Option<Buffer>,
}

impl Receives {
    pub(crate) fn new(communicator: Communicator) -> Arc<Self> {
        Arc::new(Self {
            communicator,
            queues: Mutex::default(),
            discards: Arc::default(),
            lacking: Arc::default(),
        })
    }

    /// Begins to receive at most `bytes` bytes, into memory of a device with so many, or of the host.
    pub(crate) fn begin(
        self: &Arc<Self>,
        thread: &Sender<Command>,
        (from, tag, bytes): (u32, u32, usize),
        memory: Option<StagingBuffer>,
    ) -> Result<Receive, MpiError> {
        let receive = Waiting {
            source: Source { from, tag },
            bytes,
            memory,
        };
        self.communicator.check(receive.what())?;
        let mut queues = self.lock();
        let (number, found) = queues.matching.begin(receive);
        let lost = found.and_then(|(receive, message)| {
            queues.receive(&self.communicator, number, receive, message)
        });
        drop(queues);
        if let Some(lost) = lost {
            // If the thread has ended, so has MPI.
            let _ = thread.send(Command::Discard(self.discard(lost)));
        }
        Ok(Receive {
            receives: Arc::clone(self),
            number,
            thread: thread.clone(),
        })
    }

    /// Matches messages that have come, [`BATCH`] at most, if receives wait. This thread may call MPI. Returns those to
    /// discard.
    pub(crate) fn progress(&self) -> Vec<BoxFuture<'static, ()>> {
        let (mut lost, mut freed) = (vec![], vec![]);
        let mut queues = self.lock();
        for _ in 0..BATCH {
            if !queues.matching.has_receives() {
                break;
            }
            match self.communicator.next_message() {
                Ok(Some(message)) => {
                    let found = queues.matching.add_message(message);
                    lost.extend(found.and_then(|(number, receive, message)| {
                        queues.receive(&self.communicator, number, receive, message)
                    }));
                }
                Ok(None) => break,
                Err(code) => {
                    // MPI cannot say which messages have come.
                    for (number, receive) in queues.matching.remove_all() {
                        let error = MpiError::of(receive.what(), code);
                        queues.matched.insert(number, Err(error));
                        freed.push(receive.memory);
                    }
                }
            }
        }
        drop(queues);
        // Without the lock: a device frees it.
        drop(freed);
        lost.into_iter().map(|lost| self.discard(lost)).collect()
    }

    /// The messages that no receive gets any more, to discard. This thread alone calls MPI.
    ///
    /// # Errors
    /// MPI fails.
    pub(crate) fn unreceived(&self) -> Result<Vec<BoxFuture<'static, ()>>, MpiError> {
        let mut messages: Vec<_> = self.lock().matching.remove_messages().collect();
        let failed = |code| MpiError::of(Communication::Finish, code);
        while let Some(message) = self.communicator.next_message().map_err(failed)? {
            messages.push(message);
        }
        let lost = messages.into_iter().map(|message| Lost {
            message,
            memory: None,
        });
        Ok(lost.map(|lost| self.discard(lost)).collect())
    }

    fn discard(&self, Lost { message, memory }: Lost) -> BoxFuture<'static, ()> {
        drop(memory);
        let ticket = self.discards.issue();
        let lacking = Arc::clone(&self.lacking);
        Box::pin(discard(self.communicator, ticket, message, lacking))
    }

    /// The length of a message that waits for memory, to be discarded.
    pub(crate) fn lacking(&self) -> Option<usize> {
        // Relaxed: a number alone.
        Some(self.lacking.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    /// Begins to receive a message, for the receive of that number; returns it if that cannot take it.
    fn receive(
        &mut self,
        communicator: &Communicator,
        number: u64,
        receive: Waiting,
        message: Arrived,
    ) -> Option<Lost> {
        let (matched, lost) = receive.receive(communicator, message);
        self.matched.insert(number, matched);
        lost
    }
}

/// A receive. Dropping it before it has a message ends it; a message that it has is received, and lost.
pub(crate) struct Receive {
    receives: Arc<Receives>,
    number: u64,
    thread: Sender<Command>,
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
        RunToEnd::new(&self.thread, Command::Abandoned, request.done()).await
    }

    /// Whether the message is received in memory of a device for which `is_it` is true.
    pub(crate) fn is_staged_on(&self, is_it: impl Fn(&StagingBuffer) -> bool) -> bool {
        let queues = self.receives.lock();
        let memory = match queues.matching.receive(self.number) {
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
        let waiting = queues.matching.remove(self.number);
        let matched = queues.matched.remove(&self.number);
        drop(queues);
        // Without the lock: a device frees its memory.
        drop(waiting);
        if let Some(Ok(request)) = matched {
            let rest = RunToEnd::new(&self.thread, Command::Abandoned, request.done());
            drop(rest);
        }
    }
}
