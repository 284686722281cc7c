//! Device memory and mapped memory.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use hsa_runtime_sys::{HSA_EXT_POINTER_TYPE_HSA, hsa_amd_pointer_info_t};

use super::context::{Context, DeferredFree};
use crate::base::lock::{lock, take};
use crate::base::ranges::AddrRange;
use crate::device::bounds::{BEYOND, NOT_ALLOCATED, is_allocated, unreachable};
use crate::device::{DeviceAddr, DeviceError, MappedMemory, MemoryInfo};

/// The minimum to which ROCr rounds allocations up.
const GRAIN: u64 = 4096;

/// A GPU's memory.
pub(super) struct Memory {
    context: Arc<Context>,
    /// Sizes by address.
    allocated: Mutex<BTreeMap<u64, u64>>,
}

impl Memory {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            allocated: Mutex::default(),
        }
    }

    /// The total and used memory. ROCm 5.2's ROCr does not report what other processes use, and
    /// memory of code and queues is not included.
    pub(super) fn info(&self) -> MemoryInfo {
        MemoryInfo {
            total: self.context.pools.device_size,
            used: lock(&self.allocated).values().sum(),
        }
    }

    /// Allocates device memory with unspecified contents.
    pub(super) fn alloc(&self, bytes: u64) -> Result<DeviceAddr, DeviceError> {
        self.context.check_lost()?;
        let size = usize::try_from(bytes.max(1)).ok();
        let allocated = size.ok_or(None).and_then(|size| {
            let pool = self.context.pools.device;
            self.context.alloc(pool, size)
        });
        let address = allocated.map_err(|error| {
            error.unwrap_or_else(|| {
                let MemoryInfo { total, used } = self.info();
                DeviceError::OutOfMemory {
                    device: self.context.name().to_owned(),
                    bytes,
                    free: total.saturating_sub(used),
                    total,
                    setting: None,
                }
            })
        })?;
        let address = address.expose_provenance() as u64;
        lock(&self.allocated).insert(address, bytes);
        Ok(DeviceAddr(address))
    }

    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    pub(super) fn free(&self, DeviceAddr(address): DeviceAddr) {
        if lock(&self.allocated).remove(&address).is_some() {
            // SAFETY: taken off the list of allocations; the caller has made sure that nothing uses
            // it.
            self.context
                .give_back(unsafe { DeferredFree::memory(address) });
        }
    }

    /// Rejects ranges that are not device memory from start to end: a device chooses the range, and
    /// a copy engine could copy to and from much more. Mapped memory is rejected too: both sides
    /// access it word by word at the same time, and a copy must not interfere.
    pub(super) fn check_range(&self, address: DeviceAddr, len: u64) -> Result<(), DeviceError> {
        let unreachable = |what| Err(unreachable(address, len, what));
        match is_allocated(&lock(&self.allocated), GRAIN, address, len) {
            Some(true) => return Ok(()),
            Some(false) => return unreachable(NOT_ALLOCATED),
            None => {}
        }
        // ROCr rejects it as an argument.
        if address.0 == 0 {
            return unreachable(NOT_ALLOCATED);
        }
        // The address may belong to an allocation of another library or to an image's variable.
        // SAFETY: a struct of numbers and pointers, for which zeros are valid.
        let mut info: hsa_amd_pointer_info_t = unsafe { std::mem::zeroed() };
        info.size = size_of::<hsa_amd_pointer_info_t>() as u32;
        // SAFETY: the function writes `size` bytes and only inspects the address; no list of agents
        // is requested.
        let status = unsafe {
            self.context.rocr.hsa_amd_pointer_info(
                address.0 as *const _,
                &raw mut info,
                None,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.context.check("hsa_amd_pointer_info", status)?;
        let memory = AddrRange::new(info.agentBaseAddress.addr(), info.sizeInBytes);
        if info.type_ == HSA_EXT_POINTER_TYPE_HSA
            && info.agentOwner.handle == self.context.agent.handle
            && memory.is_some_and(|memory| memory.has(address, len))
        {
            return Ok(());
        }
        unreachable(BEYOND)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for &address in take(&self.allocated).keys() {
            // SAFETY: taken off the list; the device's streams are gone, and with them all
            // operations.
            self.context
                .give_back(unsafe { DeferredFree::memory(address) });
        }
    }
}

/// Allocates zeroed mapped memory: fine-grained, so that each side sees the other's writes while a
/// kernel runs.
pub(super) fn mapped(context: &Arc<Context>, bytes: usize) -> Result<MappedMemory, DeviceError> {
    context.check_lost()?;
    let no_memory = || DeviceError::NoMappedMemory {
        device: context.name().to_owned(),
        bytes: bytes as u64,
    };
    let memory = context
        .alloc_pinned(context.pools.mapped, bytes.max(1))
        .map_err(|error| error.unwrap_or_else(no_memory))?;
    let host = NonNull::new(memory.cast::<u8>()).ok_or_else(no_memory)?;
    // SAFETY: the allocation has that many bytes, and is not shared yet.
    unsafe { host.write_bytes(0, bytes) };
    // Host and device use the same address.
    let device = memory.expose_provenance() as u64;
    let of = Arc::clone(context);
    Ok(MappedMemory::new(
        host,
        DeviceAddr(device),
        bytes,
        move || {
            // SAFETY: allocated above; the mapped memory is dropped once, by its last user.
            of.give_back(unsafe { DeferredFree::memory(device) });
        },
    ))
}
