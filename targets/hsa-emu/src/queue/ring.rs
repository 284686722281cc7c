//! A queue as programs and kernels see it: an `amd_queue_t`, and the ring of its packets.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", and ROCr's `amd_hsa_queue.h`.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hsa_runtime_sys::*;

use crate::memory::{BlockKind, Gpus, Memory, Owner};
use crate::packet::{PACKET, PacketSlot};
use crate::status::{Answer, Status};
use gcn_emu::{GROUP_APERTURE, PRIVATE_APERTURE};

/// The memory of a queue.
pub(crate) struct Ring {
    memory: Arc<Memory>,
    raw: NonNull<amd_queue_t>,
    base: NonNull<u8>,
    pub(crate) size: u64,
    pub(crate) kind: hsa_queue_type32_t,
}

// SAFETY: it owns its memory; both sides access what changes atomically.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        let base = self.base.as_ptr().expose_provenance() as u64;
        // `free_all` may have freed it.
        let _ = self.memory.free(base, BlockKind::Internal);
        self.memory.free_control(self.raw.cast());
    }
}

impl Ring {
    /// Creates a ring of `size` packets, a power of two. All are invalid.
    pub(crate) fn new(
        memory: &Arc<Memory>,
        size: u32,
        kind: hsa_queue_type32_t,
        features: u32,
        doorbell: hsa_signal_t,
    ) -> Answer<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};

        /// Numbers of queues, which are unique.
        static NEXT: AtomicU32 = AtomicU32::new(0);

        let raw = memory.alloc_control(size_of::<amd_queue_t>());
        let raw: NonNull<amd_queue_t> = raw.ok_or(Status::OUT_OF_RESOURCES)?.cast();
        let bytes = u64::from(size) * PACKET as u64;
        let base = memory.alloc(Owner::Cpu, bytes, BlockKind::Internal, 0, Gpus::ALL);
        let base = base.ok().and_then(|address| memory.host(address, bytes));
        let Some(base) = base else {
            memory.free_control(raw.cast());
            return Err(Status::OUT_OF_RESOURCES);
        };
        let ring = Self {
            memory: Arc::clone(memory),
            raw,
            base,
            size: size.into(),
            kind,
        };
        (0..ring.size).for_each(|index| ring.slot(index).free());
        // SAFETY: the memory is zeroed, large enough, and not shared yet.
        let queue = unsafe { &mut *raw.as_ptr() };
        queue.hsa_queue = hsa_queue_t {
            type_: kind,
            features,
            base_address: base.as_ptr().cast(),
            doorbell_signal: doorbell,
            size,
            reserved1: 0,
            // Relaxed: only uniqueness matters.
            id: NEXT.fetch_add(1, Ordering::Relaxed).into(),
        };
        queue.group_segment_aperture_base_hi = (GROUP_APERTURE >> 32) as u32;
        queue.private_segment_aperture_base_hi = (PRIVATE_APERTURE >> 32) as u32;
        let offset = std::mem::offset_of!(amd_queue_t, read_dispatch_id);
        queue.read_dispatch_id_field_base_byte_offset = offset as u32;
        queue.queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64.cast_unsigned();
        Ok(ring)
    }

    /// Sets the numbers of compute units and of their waves, before the queue is shared.
    pub(super) fn set_limits(&self, processors: u32, waves: u32) {
        let queue = self.raw.as_ptr();
        // SAFETY: the queue is not shared yet.
        unsafe {
            (*queue).max_cu_id = processors.saturating_sub(1);
            (*queue).max_wave_id = waves - 1;
        }
    }

    /// Its address, for programs.
    pub(crate) fn raw(&self) -> *mut hsa_queue_t {
        self.raw.as_ptr().cast()
    }

    /// Its address, for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.raw.as_ptr().expose_provenance() as u64
    }

    /// Location of a packet.
    pub(crate) fn slot(&self, index: u64) -> PacketSlot {
        let offset = (index % self.size) as usize * PACKET;
        // SAFETY: within the ring, which lives as long as the queue; blocks are aligned to more.
        unsafe { PacketSlot::new(self.base.as_ptr().add(offset)) }
    }

    /// Write index: the number of packets that programs have reserved.
    pub(crate) fn write_index(&self) -> &AtomicU64 {
        // SAFETY: the field is aligned, and lives as long as this; all access it atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.raw.as_ptr()).write_dispatch_id) }
    }

    /// Read index: the number of processed packets.
    pub(crate) fn read_index(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.raw.as_ptr()).read_dispatch_id) }
    }
}
