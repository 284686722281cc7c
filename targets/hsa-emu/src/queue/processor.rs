//! The thread of a queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hsa_runtime_sys::*;

use super::kernel::{Failure, PUBLISHING};
use super::{CLOSED, INACTIVE, Queue};
use crate::packet::{Packet, PacketSlot, has_barrier};
use crate::packet_error::PacketError;
use crate::signal::{Condition, Use, wait_until};

/// Why a packet is not processed.
enum Stop {
    /// The queue is not active any more.
    Left,
    /// The packet is invalid.
    Invalid(PacketError),
}

impl From<PacketError> for Stop {
    fn from(error: PacketError) -> Self {
        Self::Invalid(error)
    }
}

impl Queue {
    /// Processes packets until the queue is closed.
    pub(super) fn process_packets(self: Arc<Self>) {
        self.doorbell.add_waker(&self.waker);
        let mut index = 0u64;
        while self.is_active() {
            match self.process(index) {
                Ok(()) => index += 1,
                Err(Stop::Invalid(error)) => {
                    (self.gpu.report)(&format!(
                        "packet {index} of queue {:#x} is invalid: {error}",
                        self.ring.address()
                    ));
                    self.fail(&Failure::Status(error.status()));
                }
                Err(Stop::Left) => {
                    if let Some(failure) = self.take_failure() {
                        self.fail(&failure);
                    }
                }
            }
        }
        self.stop_kernels();
        wait_until(&self.waker, None, false, || self.state() == CLOSED);
        self.doorbell.remove_waker(&self.waker);
    }

    /// Nothing in the queue runs any more; the program learns why.
    fn fail(&self, failure: &Failure) {
        self.leave(INACTIVE);
        self.stop_kernels();
        self.report(failure);
    }

    /// Waits until `is_so`.
    fn wait(&self, unseen: bool, is_so: impl Fn() -> bool) -> Result<(), Stop> {
        let is_over = || !self.is_active() || self.has_failure();
        wait_until(&self.waker, None, unseen, || is_over() || is_so());
        if is_over() { Err(Stop::Left) } else { Ok(()) }
    }

    /// Waits for a packet and processes it.
    fn process(self: &Arc<Self>, index: u64) -> Result<(), Stop> {
        self.wait(false, || self.doorbell.maximum() >= index.cast_signed())?;
        let is_strict = self.gpu.is_strict;
        // Acquire, edge *write index*: pairs with the program's release.
        if is_strict && index >= self.ring.write_index().load(Ordering::Acquire) {
            return Err(PacketError::WriteIndex.into());
        }
        let slot = self.ring.slot(index);
        self.wait_for_header(slot)?;
        let words = slot.words();
        let packet = Packet::read(words, is_strict)?;
        if has_barrier(words[0] as u16) {
            self.wait(false, || self.is_idle())?;
        }
        // Before the packet's slot is free: its signals stay until the packet is done.
        let completion = self.signal(packet.completion())?;
        match packet {
            Packet::Kernel(packet) => {
                // The slot is free when the kernel begins, not when it ends.
                self.dispatch(index, &packet, (slot, words), completion)?;
                self.take(index, slot);
                return Ok(());
            }
            Packet::And(packet) => {
                let signals = self.dependencies(&packet.dep_signal)?;
                let is_done = |signal: &Use| signal.signal().get() == 0;
                self.wait_for(&signals, || signals.iter().all(is_done))?;
            }
            Packet::Or(packet) => {
                let signals = self.dependencies(&packet.dep_signal)?;
                let is_done = |signal: &Use| signal.signal().get() == 0;
                self.wait_for(&signals, || {
                    signals.is_empty() || signals.iter().any(is_done)
                })?;
            }
            Packet::Value(packet) => {
                let condition = Condition {
                    kind: packet.cond,
                    other: packet.value,
                };
                if !condition.is_valid() {
                    return Err(PacketError::Condition(packet.cond).into());
                }
                let signals = self.dependencies(&[packet.signal])?;
                let is_met = |s: &Use| condition.is_met(s.signal().get() & packet.mask);
                self.wait_for(&signals, || signals.iter().all(is_met))?;
            }
        }
        self.take(index, slot);
        if let Some(completion) = completion {
            completion.count_down();
        }
        Ok(())
    }

    /// Waits until a packet is published. Several threads may ring the doorbell; a packet of one that does so alone
    /// has to be there.
    fn wait_for_header(&self, slot: PacketSlot) -> Result<(), Stop> {
        let is_there = || u32::from(slot.load_header()) & 0xff != HSA_PACKET_TYPE_INVALID;
        if self.gpu.is_strict && self.ring.kind == HSA_QUEUE_TYPE_SINGLE && !is_there() {
            return Err(PacketError::NotPublished.into());
        }
        while !is_there() {
            if !self.is_active() || self.has_failure() {
                return Err(Stop::Left);
            }
            std::thread::sleep(PUBLISHING);
        }
        Ok(())
    }

    /// The signals that a packet waits for.
    fn dependencies(&self, signals: &[hsa_signal_t]) -> Result<Vec<Use>, PacketError> {
        let signals = signals.iter().map(|&signal| self.signal(signal));
        let signals: Result<Vec<_>, _> = signals.collect();
        Ok(signals?.into_iter().flatten().collect())
    }

    /// A signal of a packet, if it has one.
    fn signal(&self, signal: hsa_signal_t) -> Result<Option<Use>, PacketError> {
        let found = self.shared.signals.take_if_any(signal);
        found.map_err(|_| PacketError::Signal(signal.handle))
    }

    /// Waits until `is_so`, which depends on these signals. One that is destroyed before will not change any more.
    fn wait_for(&self, signals: &[Use], is_so: impl Fn() -> bool) -> Result<(), Stop> {
        if is_so() {
            return Ok(());
        }
        let signals = || signals.iter().map(Use::signal);
        let lost = || signals().find(|signal| signal.is_destroyed());
        signals().for_each(|signal| signal.add_waker(&self.waker));
        let unseen = signals().any(|signal| signal.may_change_unseen());
        let waited = self.wait(unseen, || is_so() || lost().is_some());
        signals().for_each(|signal| signal.remove_waker(&self.waker));
        match lost() {
            Some(lost) if waited.is_ok() && !is_so() => {
                Err(PacketError::Signal(lost.handle().handle).into())
            }
            _ => waited,
        }
    }

    /// Returns the slot of a packet that was read to the program.
    fn take(&self, index: u64, slot: PacketSlot) {
        slot.free();
        // Release, edge *read index*: pairs with the program's acquire; the packet was read before.
        self.ring.read_index().store(index + 1, Ordering::Release);
    }
}
