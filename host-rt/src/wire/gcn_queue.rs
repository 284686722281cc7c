//! Consumer of [`gcn_queue`](shared_abi::wire::gcn_queue).
//!
//! Text is taken in the order of tickets, so that text in several messages stays together. A call
//! delays no text, and no call waits for unwritten text. A device thread that is slow, or dies,
//! between its ticket and its message delays later text, and calls only once the queue is full. A
//! flush, at the end of a kernel, may pass over such messages.
//!
//! Text of a thread precedes the calls that it makes later, unless another thread delays the text.
//! A reader of a message also sees the earlier messages of its thread, so the poller reads earlier
//! slots again before it takes a message.
//!
//! A call without a completion word is answered in its slot. It keeps the slot, and so stops
//! `consumed`, until its answer; later messages are taken meanwhile. Only the next poll notices the
//! answer. So the host must not sleep until woken; no device with such callers can wake it.

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

use super::gcc::{Completion, GccRequest};
use super::memory::Wire;
use super::{DeviceAccess, Poll, PollWire, ProtocolError};
use crate::device::{DeviceAddr, MappedMemory};

/// Finds published messages.
#[derive(Debug)]
pub struct Poller<S> {
    system: S,
    slots: u32,
    /// The value of the wire's `consumed`, which is never read back.
    consumed: u32,
    /// Shared with [`GcnQueue`], which resets the wire.
    progress: Arc<Progress>,
    /// The state of each slot, for its ticket at or after `consumed`.
    states: Vec<State>,
    /// The ticket before which a flush takes text.
    flush_end: u32,
}

/// The progress of a poller on its wire.
#[derive(Debug, Default)]
struct Progress {
    consumed: AtomicU32,
    /// The device's counter was invalid. Nothing is taken any more.
    broken: AtomicBool,
}

/// The state of a slot's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not taken.
    Waiting,
    /// Taken; the slot is no longer needed.
    Taken,
    /// A taken call that will be answered in the slot.
    Answering,
}

/// The messages that a scan takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    /// Calls, and text whose earlier messages are all written.
    All,
    /// Text whose earlier messages are all written.
    Text,
    /// Written text, even after unwritten messages.
    WrittenText,
    /// Calls.
    Calls,
}

/// The first message that a scan finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// A message: the distance of its ticket from `consumed`, its slot, and its type.
    Message { ahead: u32, slot: u32, kind: u32 },
    /// None. `all_written`: all messages before the end of the scan are written.
    None { all_written: bool },
}

impl<S: SystemWords> Poller<S> {
    /// A poller of the wire in `system` with `slots` slots ([`SLOTS`], except in tests). All
    /// tickets before `ticket` are consumed.
    pub fn new(system: S, slots: u32, ticket: u32) -> Self {
        Self {
            system,
            slots,
            consumed: ticket,
            progress: Arc::default(),
            states: vec![State::Waiting; slots as usize],
            flush_end: ticket,
        }
    }

    /// Takes a call, or text whose earlier messages are all written.
    pub fn poll(&mut self) -> Poll<GccRequest> {
        self.scan(Filter::All)
    }

    /// Begins a flush, of the messages whose tickets are drawn.
    pub fn begin_flush(&mut self) {
        let waiting = self.waiting().unwrap_or(0);
        self.flush_end = self.consumed.wrapping_add(waiting.min(self.slots));
    }

    /// Takes text of the flush and leaves calls on the wire. While an earlier message is unwritten,
    /// the flush is incomplete, unless it `skips_unwritten` messages.
    pub fn poll_flush(&mut self, skips_unwritten: bool) -> Poll<GccRequest> {
        self.scan(if skips_unwritten {
            Filter::WrittenText
        } else {
            Filter::Text
        })
    }

    /// Like [`poll`](Self::poll), but leaves text on the wire.
    pub fn poll_requests(&mut self) -> Poll<GccRequest> {
        self.scan(Filter::Calls)
    }

    fn scan(&mut self, filter: Filter) -> Poll<GccRequest> {
        // Relaxed: stored by this thread or by an earlier holder of the poll token.
        if self.progress.broken.load(Ordering::Relaxed) {
            return Poll::Empty;
        }
        self.advance();
        let mut waiting = match self.waiting() {
            Ok(waiting) => waiting,
            Err(error) => {
                self.progress.broken.store(true, Ordering::Relaxed);
                return Poll::ProtocolError(error);
            }
        };
        if matches!(filter, Filter::Text | Filter::WrittenText) {
            // The flush may end before `consumed`.
            let distance = self.flush_end.wrapping_sub(self.consumed);
            waiting = distance.cast_signed().max(0).cast_unsigned();
        }
        let mut found = None;
        let mut end = waiting.min(self.slots);
        // An earlier message may have been written after the scan passed its slot. If the same
        // thread wrote both, Q1 makes the earlier one visible to another scan.
        let all_written = loop {
            match self.find_first(end, filter) {
                First::Message { ahead, slot, kind } => {
                    found = Some((slot, kind));
                    end = ahead;
                }
                First::None { all_written } => break all_written,
            }
        };
        match found {
            Some((slot, kind)) => self.take(slot, kind),
            None if filter == Filter::Text && !all_written => Poll::Incomplete,
            None => Poll::Empty,
        }
    }

    /// The number of tickets from `consumed` on that are drawn.
    fn waiting(&self) -> Result<u32, ProtocolError> {
        // Relaxed: only limits a scan; Q1 orders the messages.
        let drawn = self
            .system
            .load32(offset_of!(Queue, next_output), Load::Relaxed);
        let waiting = drawn.wrapping_sub(self.consumed);
        if waiting > i32::MAX as u32 {
            return Err(ProtocolError::Counter {
                counter: "next_output",
                found: drawn,
                consumed: self.consumed,
                messages: "messages",
            });
        }
        Ok(waiting)
    }

    /// The first message for `filter` among the `end` tickets from `consumed` on.
    fn find_first(&self, end: u32, filter: Filter) -> First {
        let mut all_written = true;
        for ahead in 0..end {
            let slot = self.consumed.wrapping_add(ahead) % self.slots;
            if self.states[slot as usize] != State::Waiting {
                continue;
            }
            let at = slot_offset(slot);
            // Edge `Q1`, consuming end: the message precedes this word.
            let written = self
                .system
                .load32(at + offset_of!(Message, written), Load::Acquire);
            if written == 0 {
                all_written = false;
                continue;
            }
            // Relaxed: Q1 orders it.
            let kind = self
                .system
                .load32(at + offset_of!(Message, kind), Load::Relaxed);
            let matches = match filter {
                Filter::All => kind == CALL || all_written,
                Filter::Text => kind != CALL && all_written,
                Filter::WrittenText => kind != CALL,
                Filter::Calls => kind == CALL,
            };
            if matches {
                return First::Message { ahead, slot, kind };
            }
        }
        First::None { all_written }
    }

    fn take(&mut self, slot: u32, kind: u32) -> Poll<GccRequest> {
        let value = slot_offset(slot) + offset_of!(Message, value);
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
                    signal => Completion::Signal(DeviceAddr(signal)),
                };
                Poll::Request(GccRequest {
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
                Poll::Printed(text::integer(&self.system, slot_offset(slot), value))
            }
            DOUBLE => {
                let value = f64::from_bits(word(0));
                Poll::Printed(text::double(&self.system, slot_offset(slot), value))
            }
            LINE => Poll::Printed(text::line(&self.system, slot_offset(slot))),
            RAW => Poll::Printed(text::raw(&self.system, slot_offset(slot))),
            unknown => Poll::ProtocolError(ProtocolError::MessageType {
                slot,
                found: unknown,
                max: CALL,
            }),
        };
        if state == State::Taken {
            // Relaxed, both: Q2 orders them before the stores of the next lap's owner. The 0 in
            // `signal` marks a call without a completion word.
            self.system
                .store64(value + offset_of!(GcnCall, signal), 0, Store::Relaxed);
            self.system.store32(
                slot_offset(slot) + offset_of!(Message, written),
                0,
                Store::Relaxed,
            );
        }
        self.states[slot as usize] = state;
        self.advance();
        found
    }

    /// Releases slots in the order of tickets, up to the first that is still needed.
    fn advance(&mut self) {
        let before = self.consumed;
        loop {
            let slot = self.consumed % self.slots;
            let done = match self.states[slot as usize] {
                State::Waiting => false,
                State::Taken => true,
                // Relaxed: only this word of the answering thread is needed, and the next owner's
                // store to it follows the 0 that this load reads.
                State::Answering => {
                    let written = slot_offset(slot) + offset_of!(Message, written);
                    self.system.load32(written, Load::Relaxed) == 0
                }
            };
            if !done {
                break;
            }
            self.states[slot as usize] = State::Waiting;
            self.consumed = self.consumed.wrapping_add(1);
        }
        if self.consumed != before {
            // Relaxed: a reader has waited for a later poll.
            self.progress
                .consumed
                .store(self.consumed, Ordering::Relaxed);
            // Edge `Q2`, consuming end: the next lap's owner of a slot writes it after our loads,
            // and after the 0s in its words.
            self.system
                .store32(offset_of!(Queue, consumed), self.consumed, Store::Release);
        }
    }
}

/// Byte offset of a slot.
const fn slot_offset(slot: u32) -> usize {
    offset_of!(Queue, queue) + slot as usize * size_of::<Message>()
}

impl<S: SystemWords + Send> PollWire for Poller<S> {
    type Request = GccRequest;

    fn poll(&mut self) -> Poll<GccRequest> {
        Poller::poll(self)
    }

    fn begin_flush(&mut self) {
        Poller::begin_flush(self);
    }

    fn poll_flush(&mut self, skips_unwritten: bool) -> Poll<GccRequest> {
        Poller::poll_flush(self, skips_unwritten)
    }

    fn poll_requests(&mut self) -> Poll<GccRequest> {
        Poller::poll_requests(self)
    }
}

/// Completes the call without a completion word in `slot`.
pub fn complete(system: &impl SystemWords, slot: u32) {
    // Edge `Q3`, completing end: a reader of the 0 sees the results.
    system.store32(
        slot_offset(slot) + offset_of!(Message, written),
        0,
        Store::Release,
    );
}

/// The wire in mapped memory.
pub(crate) struct GcnQueue {
    wire: Arc<Wire>,
    progress: Arc<Progress>,
}

impl GcnQueue {
    /// Size of the wire in mapped memory, in bytes.
    pub(crate) const BYTES: usize = size_of::<Queue>();

    /// Creates a wire in `memory`, which is zeroed and has [`Self::BYTES`], and its poller. The
    /// next ticket is `ticket`.
    ///
    /// # Safety
    /// The wire lives as long as the poller, which uses its memory.
    pub(crate) unsafe fn new(
        memory: MappedMemory,
        ticket: u32,
        access: &DeviceAccess,
    ) -> (Self, Poller<Coherent>) {
        let wire = Wire {
            kind: WireKind::GCN_QUEUE,
            name: "gcn-queue",
            slots: SLOTS,
            keeps_slots: false,
            warps: Arc::default(),
            memory,
            access: access.clone(),
        };
        // SAFETY: the caller keeps the wire while it uses the poller.
        let words = unsafe { wire.detached_words() };
        for counter in [offset_of!(Queue, next_output), offset_of!(Queue, consumed)] {
            // Relaxed: no kernel runs yet, and a launch orders it.
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

    /// The kernel's [`Queue::return_value`].
    pub(crate) fn return_value(&self) -> i32 {
        let place = offset_of!(Queue, return_value);
        // Relaxed: the end of the kernel orders it.
        self.wire.words().load32(place, Load::Relaxed).cast_signed()
    }

    /// Resets the wire for another kernel, whatever the last one has written there. Returns `false`
    /// if it cannot be reused: it is not empty, or its counters, which must not wrap in GCC's own
    /// code, are too high.
    pub(crate) fn reset(&self) -> bool {
        const MAX_TICKET: u32 = 1 << 31;
        let words = self.wire.words();
        // Relaxed, all: no kernel uses the wire, and a launch orders it; the poller reads no slot
        // whose ticket is not drawn.
        let consumed = self.progress.consumed.load(Ordering::Relaxed);
        let drawn = words.load32(offset_of!(Queue, next_output), Load::Relaxed);
        if self.progress.broken.load(Ordering::Relaxed) || drawn != consumed || drawn > MAX_TICKET {
            return false;
        }
        words.store32(offset_of!(Queue, return_value), 0, Store::Relaxed);
        words.store32(offset_of!(Queue, consumed), consumed, Store::Relaxed);
        for slot in 0..SLOTS {
            let signal = offset_of!(Message, value) + offset_of!(GcnCall, signal);
            words.store64(slot_offset(slot) + signal, 0, Store::Relaxed);
            words.store32(
                slot_offset(slot) + offset_of!(Message, written),
                0,
                Store::Relaxed,
            );
        }
        true
    }
}
