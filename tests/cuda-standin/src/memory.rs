//! Device memory and pinned memory.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUmemorytype, CUpointer_attribute as P};
use host_rt::device::{DeviceAddr, Fill, MappedMemory};
use emu_driver::fill::soil;
use emu_driver::process::{handle, lock, setting};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::{contexts, with_context, with_driver};
use crate::pointers::Out;

const PORTABLE: u32 = cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
const DEVICEMAP: u32 = cudarc::driver::sys::CU_MEMHOSTALLOC_DEVICEMAP;
const WRITECOMBINED: u32 = cudarc::driver::sys::CU_MEMHOSTALLOC_WRITECOMBINED;

/// Device memory.
pub(crate) struct Block {
    size: u64,
    /// Allocated in a stream, and therefore freed there.
    of_stream: bool,
}

/// Pinned memory.
pub(crate) struct Pinned {
    pub(crate) memory: MappedMemory,
    flags: u32,
}

impl Context {
    fn alloc(&self, bytes: usize, of_stream: bool) -> Answer<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let size = bytes as u64;
        let DeviceAddr(address) = self
            .device
            .alloc(size, Fill::Zeros)
            .map_err(|_| Code::OUT_OF_MEMORY)?;
        // SAFETY: addresses of the `host` device are addresses here, and the block is not shared
        // yet.
        unsafe { soil(address as *mut u8, bytes) };
        let block = Block { size, of_stream };
        lock(&self.owned).blocks.insert(address, block);
        Ok(address)
    }

    /// The start and size of the device memory that contains the range: a block, or a part of an
    /// image, which must be writable if `write`.
    pub(crate) fn device_memory(&self, address: u64, len: u64, write: bool) -> Answer<(u64, u64)> {
        let owned = lock(&self.owned);
        let blocks = owned.blocks.range(..=address).next_back();
        let block = blocks.map(|(&start, block)| (start, block.size));
        let loaded = owned.modules.values();
        let mut ranges = block
            .into_iter()
            .chain(loaded.flat_map(|module| module.segments(write)));
        ranges
            .find(|&(start, size)| {
                let offset = address.checked_sub(start);
                offset
                    .and_then(|offset| offset.checked_add(len))
                    .is_some_and(|end| end <= size)
            })
            .ok_or(Code::INVALID_VALUE)
    }

    /// The pinned memory that contains the range: of this context, or of all.
    pub(crate) fn pinned(&self, address: u64, len: u64) -> Option<Arc<Pinned>> {
        contexts().find_map(|context| {
            let owned = lock(&context.owned);
            let (_, pinned) = owned.pinned.range(..=address).next_back()?;
            let is_ours = context.handle == self.handle || pinned.flags & PORTABLE != 0;
            (is_ours && pinned.memory.contains(DeviceAddr(address), len))
                .then(|| Arc::clone(pinned))
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> u32 {
    with_context("cuMemGetInfo_v2", |context| {
        let memory = context.device.memory();
        free.set((memory.total - memory.used) as usize)?;
        total.set(memory.total as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) -> u32 {
    with_context("cuMemAlloc_v2", |context| {
        address.set(context.alloc(bytes, false)?)
    })
}

/// Waits for all work in the context, as on hardware.
#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    with_context("cuMemFree_v2", |context| {
        let freed = lock(&context.owned).blocks.remove(&address);
        freed.ok_or(Code::INVALID_VALUE)?;
        context.wait()?;
        context.device.free(DeviceAddr(address));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: u64) -> u32 {
    with_context("cuMemAllocAsync", |context| {
        context.stream(stream)?;
        if setting("REVOFF_STAND_IN_POOLS", 1) == 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        address.set(context.alloc(bytes, true)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync(address: u64, stream: u64) -> u32 {
    with_context("cuMemFreeAsync", |context| {
        let stream = context.stream(stream)?;
        let mut owned = lock(&context.owned);
        match owned.blocks.get(&address) {
            Some(block) if block.of_stream => owned.blocks.remove(&address),
            _ => return Err(Code::INVALID_VALUE),
        };
        drop(owned);
        let device = Arc::clone(&context.device);
        stream.queue(move |_| {
            device.free(DeviceAddr(address));
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) -> u32 {
    with_driver("cuDeviceGetDefaultMemPool", |driver| {
        driver.gpu(device)?;
        // No function here uses it.
        pool.set(handle())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolSetAttribute(pool: u64, _attribute: u32, value: *const c_void) -> u32 {
    with_driver("cuMemPoolSetAttribute", |_| {
        if pool == 0 || value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(host: Out<u64>, bytes: usize, flags: u32) -> u32 {
    with_context("cuMemHostAlloc", |context| {
        if bytes == 0 || flags & !(PORTABLE | DEVICEMAP | WRITECOMBINED) != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let memory = context.device.alloc_mapped(bytes);
        let memory = memory.map_err(|_| Code::OUT_OF_MEMORY)?;
        // SAFETY: the memory has that many bytes and is not shared yet.
        unsafe { soil(memory.host.as_ptr(), bytes) };
        let address = memory.device.0;
        let pinned = Arc::new(Pinned { memory, flags });
        lock(&context.owned).pinned.insert(address, pinned);
        host.set(address)
    })
}

/// May wait for all work in the context.
#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(host: u64) -> u32 {
    with_context("cuMemFreeHost", |context| {
        let freed = lock(&context.owned).pinned.remove(&host);
        let freed = freed.ok_or(Code::INVALID_VALUE)?;
        let waited = context.perhaps_wait();
        if waited.is_err() {
            // Kernels of the destroyed context may still use it.
            std::mem::forget(freed);
        }
        waited
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostGetDevicePointer_v2(address: Out<u64>, host: u64, flags: u32) -> u32 {
    with_context("cuMemHostGetDevicePointer_v2", |context| {
        match context.pinned(host, 1) {
            Some(pinned) if flags == 0 && pinned.flags & DEVICEMAP != 0 => address.set(host),
            _ => Err(Code::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuPointerGetAttribute(data: Out<c_void>, attribute: u32, pointer: u64) -> u32 {
    const CONTEXT: u32 = P::CU_POINTER_ATTRIBUTE_CONTEXT as u32;
    const MEMORY_TYPE: u32 = P::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as u32;
    const DEVICE_POINTER: u32 = P::CU_POINTER_ATTRIBUTE_DEVICE_POINTER as u32;
    const HOST_POINTER: u32 = P::CU_POINTER_ATTRIBUTE_HOST_POINTER as u32;
    const DEVICE_ORDINAL: u32 = P::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as u32;
    const RANGE_START: u32 = P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as u32;
    const RANGE_SIZE: u32 = P::CU_POINTER_ATTRIBUTE_RANGE_SIZE as u32;
    with_context("cuPointerGetAttribute", |current| {
        let (kind, context, (start, size)) = known(current, pointer)?;
        match attribute {
            CONTEXT => data.of().set(context.handle),
            MEMORY_TYPE => data.of().set(kind as u32),
            DEVICE_POINTER => data.of().set(pointer),
            HOST_POINTER if kind == CUmemorytype::CU_MEMORYTYPE_HOST => data.of().set(pointer),
            DEVICE_ORDINAL => data.of().set(context.number),
            RANGE_START => data.of().set(start),
            RANGE_SIZE => data.of().set(size),
            _ => Err(Code::INVALID_VALUE),
        }
    })
}

/// The kind, the owner and the range of the memory at `pointer`.
fn known(current: &Arc<Context>, pointer: u64) -> Answer<(CUmemorytype, Arc<Context>, (u64, u64))> {
    if let Some(pinned) = current.pinned(pointer, 1) {
        let range = (pinned.memory.device.0, pinned.memory.bytes as u64);
        let kind = CUmemorytype::CU_MEMORYTYPE_HOST;
        return Ok((kind, Arc::clone(current), range));
    }
    let mut all = contexts();
    let of = all.find_map(|context| {
        let range = context.device_memory(pointer, 1, false).ok()?;
        Some((CUmemorytype::CU_MEMORYTYPE_DEVICE, context, range))
    });
    of.ok_or(Code::INVALID_VALUE)
}
