//! Hardware queues and their packets. Source: HSA Platform System Architecture Specification,
//! "Architected Queuing Language".

use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hsa_runtime_sys::{
    HSA_FENCE_SCOPE_SYSTEM, HSA_PACKET_HEADER_BARRIER, HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE,
    HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE, HSA_PACKET_HEADER_TYPE, HSA_PACKET_TYPE_BARRIER_AND,
    HSA_PACKET_TYPE_KERNEL_DISPATCH, HSA_QUEUE_TYPE_SINGLE, hsa_barrier_and_packet_t,
    hsa_kernel_dispatch_packet_t, hsa_packet_type_t, hsa_queue_t, hsa_signal_t,
};

use super::agents::Number;
use super::context::Context;
use super::faults;
use super::signal::Signal;
use crate::device::DeviceError;

/// The size of a queue in packets, of 64 bytes each, for kernels and barriers. A caller that queues
/// more waits for some to end.
const PACKETS: u32 = 16384;

/// A packet's size.
const PACKET: usize = 64;

/// The number of signals that one packet can wait for.
const SIGNALS: usize = 5;

/// A hardware queue.
pub(super) struct Aql {
    context: Arc<Context>,
    raw: *mut hsa_queue_t,
    /// The number of the next packet; only this type writes packets.
    next: u64,
    /// Kernels that may not have ended, in order, with the numbers of their packets.
    pending: VecDeque<(u64, Arc<Signal>)>,
}

// SAFETY: queues may be used by any thread; `&mut` restricts this one to one at a time.
unsafe impl Send for Aql {}

impl Aql {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let most = context.number_of(Number::MAX_PACKETS);
        let mut raw = null_mut();
        // SAFETY: the function writes the pointer. The callback is a function of this library,
        // which stays loaded; its argument is a number. The last two numbers let ROCr choose how
        // much memory kernels get.
        let status = unsafe {
            context.rocr.hsa_queue_create(
                context.agent,
                if most == 0 {
                    PACKETS
                } else {
                    PACKETS.min(most)
                },
                HSA_QUEUE_TYPE_SINGLE,
                Some(faults::on_queue_error),
                std::ptr::without_provenance_mut(context.agent.handle as usize),
                u32::MAX,
                u32::MAX,
                &raw mut raw,
            )
        };
        context.check("hsa_queue_create", status)?;
        Ok(Self {
            context: Arc::clone(context),
            raw,
            next: 0,
            pending: VecDeque::new(),
        })
    }

    /// Makes later packets wait for these signals.
    pub(super) fn wait_for(&mut self, signals: &[hsa_signal_t]) -> Result<(), DeviceError> {
        for signals in signals.chunks(SIGNALS) {
            // SAFETY: a struct of numbers and handles, for which zeros are valid: no signal.
            let mut packet: hsa_barrier_and_packet_t = unsafe { std::mem::zeroed() };
            packet.dep_signal[..signals.len()].copy_from_slice(signals);
            let header = header(HSA_PACKET_TYPE_BARRIER_AND);
            // SAFETY: a packet of the kind in its header.
            unsafe { self.push((&raw const packet).cast(), u32::from(header))? };
        }
        Ok(())
    }

    /// Queues a kernel after everything queued before.
    ///
    /// # Safety
    /// The packet is valid for a kernel: its code and its arguments stay until the kernel has
    /// ended, and so does the signal that reports the end.
    pub(super) unsafe fn dispatch(
        &mut self,
        mut packet: hsa_kernel_dispatch_packet_t,
        dimensions: u16,
        signal: &Arc<Signal>,
    ) -> Result<(), DeviceError> {
        packet.completion_signal = signal.raw;
        let header = u32::from(header(HSA_PACKET_TYPE_KERNEL_DISPATCH));
        let number = self.next;
        // SAFETY: the packet is of the kind in its header, and valid by the caller's promise.
        unsafe {
            self.push(
                (&raw const packet).cast(),
                header | u32::from(dimensions) << 16,
            )?;
        }
        self.pending.push_back((number, Arc::clone(signal)));
        Ok(())
    }

    /// Forgets kernels that have ended.
    pub(super) fn prune(&mut self) {
        // They end in order: each waits for the one before it.
        while (self.pending)
            .pop_front_if(|(_, signal)| signal.is_over())
            .is_some()
        {}
    }

    /// Whether the position of the next packet is free, in a queue of `size` packets. The device
    /// must have read the old packet, and a kernel's packet stays until the kernel has ended: the
    /// kernel reads it too, although the device's read index may pass it as soon as the kernel has
    /// begun.
    fn has_room(&mut self, size: u64) -> bool {
        self.prune();
        // SAFETY: the queue is alive. Acquire: the device has read the old packet.
        let read = unsafe { (self.context.rocr).hsa_queue_load_read_index_scacquire(self.raw) };
        let first = self.pending.front().map_or(read, |&(number, _)| number);
        self.next - first.min(read) < size
    }

    /// Writes a packet and notifies the device. Waits for room.
    ///
    /// # Safety
    /// `packet` has the size of a packet; `first` is its first four bytes, with its kind.
    unsafe fn push(&mut self, packet: *const u8, first: u32) -> Result<(), DeviceError> {
        let rocr = self.context.rocr;
        // SAFETY: the queue is alive; these fields do not change.
        let (base, size, doorbell) = unsafe {
            let queue = &raw const *self.raw;
            (
                (*queue).base_address.cast::<u8>(),
                u64::from((*queue).size),
                (*queue).doorbell_signal,
            )
        };
        while !self.has_room(size) {
            self.context.check_lost()?;
            std::thread::sleep(Duration::from_micros(20));
        }
        let number = self.next;
        // SAFETY: the position is in the queue, and free. The device does not read it before its
        // first word is valid, which is stored last, with release.
        unsafe {
            let place = base.add((number % size) as usize * PACKET);
            place
                .add(4)
                .copy_from_nonoverlapping(packet.add(4), PACKET - 4);
            AtomicU32::from_ptr(place.cast()).store(first, Ordering::Release);
        }
        self.next += 1;
        // SAFETY: the queue is alive. Release: the packet is complete before the index includes it,
        // which the device may read without the doorbell.
        unsafe { rocr.hsa_queue_store_write_index_screlease(self.raw, self.next) };
        // SAFETY: the queue's own signal. Release: packet and index are written.
        unsafe { rocr.hsa_signal_store_screlease(doorbell, number.cast_signed()) };
        Ok(())
    }

    /// The device's address of the queue.
    pub(super) fn address(&self) -> u64 {
        self.raw.addr() as u64
    }
}

impl Drop for Aql {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and no longer used. Kernels in it, if any, are stopped.
        let status = unsafe { self.context.rocr.hsa_queue_destroy(self.raw) };
        if let Err(error) = self.context.check("hsa_queue_destroy", status) {
            tracing::warn!(%error, "a queue was not given back");
        }
    }
}

/// A packet's header: its kind, that it follows earlier packets, and that both sides see each
/// other's writes.
fn header(kind: hsa_packet_type_t) -> u16 {
    let header = kind << HSA_PACKET_HEADER_TYPE
        | 1 << HSA_PACKET_HEADER_BARRIER
        | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE
        | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    header as u16
}
