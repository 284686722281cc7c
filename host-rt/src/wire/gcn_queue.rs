//! Consumer of [`gcn_queue`](shared_abi::wire::gcn_queue).
//!
//! Text is taken in the order of its tickets, so that what takes several messages stays
//! together. A call holds up no text, and no call waits for text that is not yet written:
//! a device thread that is slow, or dies, between its ticket and its message holds up the
//! text behind it, and everything only when the queue is full. When a kernel has ended,
//! text is taken in spite of that.
//!
//! What one thread prints before it calls, comes before the call, unless another thread
//! holds it up: who sees a message sees those that its thread has written before, so
//! before a message is taken, those before it are read once more.
//!
//! The slot of a call that is answered there is kept until it is, and `consumed` with it.
//! Others are taken meanwhile. Where the host sleeps until it is woken, which no device
//! with such callers lets it, nobody would then find out that it is answered.

#[cfg(test)]
mod tests;
mod text;

use core::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shared_abi::wire::WireKind;
use shared_abi::wire::gcn_queue::{
    CALL, DOUBLE, GcnCall, GcnMessage as Message, GcnQueue as Queue, INTEGER, LINE, RAW, SLOTS,
};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::gcc::{Completion, RequestWords};
use super::memory::Wire;
use super::{DeviceAccess, Poll, PollWire};
use crate::device::MappedMemory;

/// Finds published messages.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// What `consumed` says; the device's word is never read back.
    consumed: u32,
    /// The same, for reusing the wire.
    progress: Arc<Progress>,
    /// Of each slot, for its ticket at or after `consumed`.
    state: Vec<State>,
}

/// How far a poller has got on its wire.
#[derive(Debug, Default)]
struct Progress {
    consumed: AtomicU32,
    /// The device's counter was invalid: nothing is taken any more.
    broken: AtomicBool,
}

/// How far the message of a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not taken.
    Waiting,
    /// Taken, and the slot is no longer needed.
    Taken,
    /// A call that was taken, whose answer goes to the slot.
    Answering,
}

/// Which messages a scan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    /// Calls, and text before which every message is written.
    All,
    /// Text that is there.
    Text,
    /// Calls.
    Calls,
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system` with `slots` slots
    /// ([`SLOTS`], but for tests), all of whose tickets before `ticket` are
    /// consumed.
    pub fn new(system: S, slots: u32, ticket: u32) -> Self {
        Self {
            system,
            slots,
            consumed: ticket,
            progress: Arc::default(),
            state: vec![State::Waiting; slots as usize],
        }
    }

    /// Looks for a message and takes it.
    pub fn poll(&mut self) -> Poll<RequestWords> {
        self.scan(Filter::All)
    }

    /// As [`poll`](Self::poll), but leaves calls where they are.
    pub fn poll_text(&mut self) -> Poll<RequestWords> {
        self.scan(Filter::Text)
    }

    /// As [`poll`](Self::poll), but leaves text where it is.
    pub fn poll_requests(&mut self) -> Poll<RequestWords> {
        self.scan(Filter::Calls)
    }

    fn scan(&mut self, filter: Filter) -> Poll<RequestWords> {
        // Relaxed: this thread's, or one's that had the poller before.
        if self.progress.broken.load(Ordering::Relaxed) {
            return Poll::Empty;
        }
        self.advance();
        // Relaxed: only says how far to scan; Q1 brings the messages.
        let drawn = self
            .system
            .load32(offset_of!(Queue, next_output), Load::Relaxed);
        let waiting = drawn.wrapping_sub(self.consumed);
        if waiting > i32::MAX as u32 {
            self.progress.broken.store(true, Ordering::Relaxed);
            return Poll::ProtocolError(format!(
                "next_output is {drawn}, behind {} that are consumed",
                self.consumed
            ));
        }
        let mut found = None;
        let mut end = waiting.min(self.slots);
        // Those before it were perhaps not yet written when we came by. If the same thread
        // has written one of them, it is there now: it was before what we have seen.
        while let Some((ahead, slot, kind)) = self.first(end, filter) {
            found = Some((slot, kind));
            end = ahead;
        }
        match found {
            Some((slot, kind)) => self.take(slot, kind),
            None => Poll::Empty,
        }
    }

    /// The first message that is to be taken, of the `end` tickets from `consumed` on: how
    /// far ahead, its slot, and its type.
    fn first(&self, end: u32, filter: Filter) -> Option<(u32, u32, u32)> {
        let mut all_written = true;
        (0..end).find_map(|ahead| {
            let slot = self.consumed.wrapping_add(ahead) % self.slots;
            if self.state[slot as usize] != State::Waiting {
                return None;
            }
            let at = at(slot);
            // Edge `Q1`, consuming end: with this word comes the message.
            let written = self
                .system
                .load32(at + offset_of!(Message, written), Load::Acquire);
            if written == 0 {
                all_written = false;
                return None;
            }
            // Relaxed: Q1 orders it.
            let kind = self
                .system
                .load32(at + offset_of!(Message, kind), Load::Relaxed);
            let wanted = match filter {
                Filter::All => kind == CALL || all_written,
                Filter::Text => kind != CALL,
                Filter::Calls => kind == CALL,
            };
            wanted.then_some((ahead, slot, kind))
        })
    }

    fn take(&mut self, slot: u32, kind: u32) -> Poll<RequestWords> {
        let value = at(slot) + offset_of!(Message, value);
        // Relaxed: Q1 orders these.
        let word = |field| self.system.load64(value + field, Load::Relaxed);
        let mut state = State::Taken;
        let found = match kind {
            CALL => {
                let completion = match word(offset_of!(GcnCall, signal)) {
                    0 => {
                        state = State::Answering;
                        Completion::Slot(slot)
                    }
                    signal => Completion::Signal(signal),
                };
                Poll::Request(RequestWords {
                    func: word(offset_of!(GcnCall, func)),
                    mapnum: word(offset_of!(GcnCall, mapnum)),
                    addrs: word(offset_of!(GcnCall, addrs)),
                    sizes: word(offset_of!(GcnCall, sizes)),
                    kinds: word(offset_of!(GcnCall, kinds)),
                    completion,
                })
            }
            INTEGER => {
                let value = word(0).cast_signed();
                Poll::Printed(text::integer(&self.system, at(slot), value))
            }
            DOUBLE => {
                let value = f64::from_bits(word(0));
                Poll::Printed(text::double(&self.system, at(slot), value))
            }
            LINE => Poll::Printed(text::line(&self.system, at(slot))),
            RAW => Poll::Printed(text::raw(&self.system, at(slot))),
            unknown => Poll::ProtocolError(format!(
                "slot {slot} has a message of type {unknown}; there are 0 to {CALL}"
            )),
        };
        if state == State::Taken {
            // Relaxed, both: Q2 orders them for the next lap's owner. This is what tells
            // the two forms of a call apart.
            self.system
                .store64(value + offset_of!(GcnCall, signal), 0, Store::Relaxed);
            self.system
                .store32(at(slot) + offset_of!(Message, written), 0, Store::Relaxed);
        }
        self.state[slot as usize] = state;
        self.advance();
        found
    }

    /// Gives slots back, as far as every ticket before them is done with.
    fn advance(&mut self) {
        let before = self.consumed;
        loop {
            let slot = self.consumed % self.slots;
            let done = match self.state[slot as usize] {
                State::Waiting => false,
                State::Taken => true,
                // Relaxed: of the thread that answers nothing else is wanted, and the
                // next owner's store to this word comes after the 0 that we have seen.
                State::Answering => {
                    let written = at(slot) + offset_of!(Message, written);
                    self.system.load32(written, Load::Relaxed) == 0
                }
            };
            if !done {
                break;
            }
            self.state[slot as usize] = State::Waiting;
            self.consumed = self.consumed.wrapping_add(1);
        }
        if self.consumed != before {
            // Relaxed: the asking thread has waited for a later poll.
            self.progress
                .consumed
                .store(self.consumed, Ordering::Relaxed);
            // Edge `Q2`, consuming end: the next lap's owner of a slot writes it
            // after our loads from it and after its words are 0.
            self.system
                .store32(offset_of!(Queue, consumed), self.consumed, Store::Release);
        }
    }
}

/// Byte offset of a slot.
const fn at(slot: u32) -> usize {
    offset_of!(Queue, queue) + slot as usize * size_of::<Message>()
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = RequestWords;

    fn poll(&mut self) -> Poll<RequestWords> {
        Poller::poll(self)
    }

    fn poll_text(&mut self) -> Poll<RequestWords> {
        Poller::poll_text(self)
    }

    fn poll_requests(&mut self) -> Poll<RequestWords> {
        Poller::poll_requests(self)
    }
}

/// Answers the call in `slot` that has no completion word.
pub fn complete(system: &impl SystemWords, slot: u32) {
    // Edge `Q3`, completing end: a reader of the 0 sees what was copied back.
    system.store32(at(slot) + offset_of!(Message, written), 0, Store::Release);
}

/// The wire in mapped memory.
pub(crate) struct GcnQueue {
    wire: Arc<Wire>,
    progress: Arc<Progress>,
}

impl GcnQueue {
    /// Bytes of mapped memory that it needs.
    pub(crate) const BYTES: usize = size_of::<Queue>();

    /// A wire in `memory`, which is zeroed and large enough, whose next ticket is
    /// `ticket`; and its poller.
    pub(crate) fn new(
        memory: MappedMemory,
        ticket: u32,
        access: &DeviceAccess,
    ) -> (Self, Poller<Coherent>) {
        let wire = Wire {
            kind: WireKind::GCN_QUEUE,
            name: "gcn-queue",
            slots: SLOTS,
            keeps_slots: false,
            memory,
            access: access.clone(),
        };
        let words = wire.words();
        for counter in [offset_of!(Queue, next_output), offset_of!(Queue, consumed)] {
            // Relaxed: no kernel runs yet; starting one orders it.
            words.store32(counter, ticket, Store::Relaxed);
        }
        let progress = Arc::new(Progress {
            consumed: AtomicU32::new(ticket),
            ..Progress::default()
        });
        let poller = Poller {
            progress: Arc::clone(&progress),
            ..Poller::new(words, SLOTS, ticket)
        };
        let wire = Arc::new(wire);
        (Self { wire, progress }, poller)
    }

    /// The wire.
    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// What the kernel returns, by [`Queue::return_value`].
    pub(crate) fn return_value(&self) -> i32 {
        let place = offset_of!(Queue, return_value);
        // Relaxed: the end of the kernel orders it.
        self.wire.words().load32(place, Load::Relaxed).cast_signed()
    }

    /// Makes it fit for another kernel, whatever the last one has written there. `false` if it
    /// cannot be: it is not empty, or its counters, which GCC's own code does not let wrap, come
    /// near that.
    pub(crate) fn renew(&self) -> bool {
        const FAR: u32 = 1 << 31;
        let words = self.wire.words();
        // Relaxed, all: no kernel uses it, and starting one orders it; and the poller looks at
        // no slot whose ticket is not drawn.
        let consumed = self.progress.consumed.load(Ordering::Relaxed);
        let drawn = words.load32(offset_of!(Queue, next_output), Load::Relaxed);
        if self.progress.broken.load(Ordering::Relaxed) || drawn != consumed || drawn > FAR {
            return false;
        }
        words.store32(offset_of!(Queue, return_value), 0, Store::Relaxed);
        words.store32(offset_of!(Queue, consumed), consumed, Store::Relaxed);
        for slot in 0..SLOTS {
            let signal = offset_of!(Message, value) + offset_of!(GcnCall, signal);
            words.store64(at(slot) + signal, 0, Store::Relaxed);
            words.store32(at(slot) + offset_of!(Message, written), 0, Store::Relaxed);
        }
        true
    }
}
