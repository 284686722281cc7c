//! Device memory and pinned memory.

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
};
use emu_driver::process::lock;

use crate::code::{Answer, Code};
use crate::driver::{peer_gpus, pinned, wait_for_users, with_context, with_owner};
use crate::pointers::Out;
use crate::settings::settings;
use crate::state::Context;
use crate::state::memory::{PinnedKind, Registered};

/// Lower addresses are offsets in shared and local memory for the emulator.
const LOWEST: u64 = 1 << 32;

/// The end of addresses that a host may have.
const END_OF_HOST: u64 = 1 << 56;

/// The alignment of rows, `CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT` and more.
const PITCH: usize = 512;

pub extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> u32 {
    with_context("cuMemGetInfo_v2", |context| {
        let memory = context.gpu.machine.memory();
        free.set((memory.total() - memory.used()) as usize)?;
        total.set(memory.total() as usize)
    })
}

pub extern "C" fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) -> u32 {
    with_context("cuMemAlloc_v2", |context| {
        address.check()?;
        address.set(context.alloc(bytes, false)?)
    })
}

pub extern "C" fn cuMemAllocPitch_v2(
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: u32,
) -> u32 {
    with_context("cuMemAllocPitch_v2", |context| {
        if ![4, 8, 16].contains(&element) {
            return Err(Code::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH);
        let row = row.ok_or(Code::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        address.check()?;
        pitch.set(row)?;
        address.set(context.alloc(bytes, false)?)
    })
}

/// Waits for all work in the context, as on hardware, and of managed memory for the other GPUs that reach it.
pub extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    let is_owner = |context: &Context| {
        let owned = lock(&context.owned);
        owned.blocks.contains_key(&address) || owned.pinned.contains_key(&address)
    };
    with_owner("cuMemFree_v2", is_owner, |context| {
        if address == 0 {
            return Ok(());
        }
        let mut owned = lock(&context.owned);
        let is_block = owned.blocks.remove(&address).is_some();
        let managed = match owned.pinned.get(&address) {
            Some(pinned) if pinned.kind == PinnedKind::Managed => owned.pinned.remove(&address),
            _ => None,
        };
        drop(owned);
        if !is_block && managed.is_none() {
            return Err(Code::INVALID_VALUE);
        }
        let waited = wait_for_users(context, |gpu| {
            let managed = managed.as_ref();
            managed.is_some_and(|managed| managed.is_reached_by(gpu))
        });
        if is_block {
            context.gpu.machine.memory().free(address);
        }
        waited
    })
}

pub extern "C" fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) -> u32 {
    with_context("cuMemGetAddressRange_v2", |context| {
        let found = context.device_memory(address, 1);
        let pinned = || pinned(context, address, 1).map(|pinned| (pinned.address, pinned.bytes));
        let (start, bytes) = found.or_else(pinned).ok_or(Code::NOT_FOUND)?;
        base.set_if_wanted(start);
        size.set_if_wanted(bytes as usize);
        Ok(())
    })
}

fn alloc_host(context: &Context, host: Out<u64>, bytes: usize, flags: u32) -> Answer {
    const KNOWN: u32 =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if flags & !KNOWN != 0 {
        return Err(Code::INVALID_VALUE);
    }
    host.check()?;
    let others = peer_gpus(context, flags & CU_MEMHOSTALLOC_PORTABLE != 0);
    host.set(context.alloc_pinned(bytes, PinnedKind::Host(flags), &others)?)
}

pub extern "C" fn cuMemHostAlloc(host: Out<u64>, bytes: usize, flags: u32) -> u32 {
    with_context("cuMemHostAlloc", |context| {
        alloc_host(context, host, bytes, flags)
    })
}

pub extern "C" fn cuMemAllocHost_v2(host: Out<u64>, bytes: usize) -> u32 {
    with_context("cuMemAllocHost_v2", |context| {
        alloc_host(context, host, bytes, CU_MEMHOSTALLOC_DEVICEMAP)
    })
}

/// Both sides access the same bytes at any time, which a GPU without hardware for it would not allow.
pub extern "C" fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) -> u32 {
    with_context("cuMemAllocManaged", |context| {
        if !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        address.check()?;
        let others = peer_gpus(context, false);
        address.set(context.alloc_pinned(bytes, PinnedKind::Managed, &others)?)
    })
}

/// May wait for all work in the context.
pub extern "C" fn cuMemFreeHost(host: u64) -> u32 {
    let is_owner = |context: &Context| lock(&context.owned).pinned.contains_key(&host);
    with_owner("cuMemFreeHost", is_owner, |context| {
        let mut owned = lock(&context.owned);
        match owned.pinned.get(&host) {
            Some(pinned) if pinned.kind != PinnedKind::Managed => {}
            _ => return Err(Code::INVALID_VALUE),
        }
        let freed = owned.pinned.remove(&host);
        drop(owned);
        let waited = context.perhaps_wait();
        drop(freed);
        waited
    })
}

pub extern "C" fn cuMemHostGetDevicePointer_v2(address: Out<u64>, host: u64, flags: u32) -> u32 {
    with_context("cuMemHostGetDevicePointer_v2", |context| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let is_registered = context
            .gpu
            .machine
            .memory()
            .registered_range(host, 1)
            .is_some();
        let kind = pinned(context, host, 1).map(|pinned| pinned.kind);
        let is_mapped = match kind {
            Some(PinnedKind::Host(flags)) => {
                settings().unified || flags & CU_MEMHOSTALLOC_DEVICEMAP != 0
            }
            Some(PinnedKind::Managed) => true,
            None => is_registered,
        };
        if !is_mapped {
            return Err(Code::INVALID_VALUE);
        }
        address.set(host)
    })
}

pub extern "C" fn cuMemHostGetFlags(flags: Out<u32>, host: u64) -> u32 {
    with_context("cuMemHostGetFlags", |context| {
        let pinned = pinned(context, host, 1).ok_or(Code::INVALID_VALUE)?;
        match pinned.kind {
            PinnedKind::Host(of) => flags.set(of | CU_MEMHOSTALLOC_DEVICEMAP),
            PinnedKind::Managed => Err(Code::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuMemHostRegister_v2(host: u64, bytes: usize, flags: u32) -> u32 {
    with_context("cuMemHostRegister_v2", |context| {
        const KNOWN: u32 = CU_MEMHOSTREGISTER_PORTABLE
            | CU_MEMHOSTREGISTER_DEVICEMAP
            | CU_MEMHOSTREGISTER_READ_ONLY;
        let pointer = std::ptr::with_exposed_provenance_mut(host as usize);
        let pointer = NonNull::new(pointer).ok_or(Code::INVALID_VALUE)?;
        let end = host.checked_add(bytes as u64);
        // The rest are addresses of device memory, and others that no host has.
        let is_host = end.is_some_and(|end| end <= END_OF_HOST);
        if bytes == 0 || flags & !KNOWN != 0 || !is_host {
            return Err(Code::INVALID_VALUE);
        }
        if host < LOWEST {
            tracing::warn!("memory of the host below 4 GiB cannot be registered");
            return Err(Code::NOT_SUPPORTED);
        }
        if pinned(context, host, 1).is_some() {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let others = peer_gpus(context, flags & CU_MEMHOSTREGISTER_PORTABLE != 0);
        // SAFETY: the driver's caller keeps the memory until it unregisters it, which unmaps it, and orders its
        // accesses with those of kernels.
        let registered = unsafe { Registered::map(&context.gpu, pointer, bytes as u64, &others)? };
        lock(&context.owned)
            .registered
            .insert(host, Arc::new(registered));
        Ok(())
    })
}

/// Waits for all work in the contexts whose GPUs reach it.
pub extern "C" fn cuMemHostUnregister(host: u64) -> u32 {
    let is_owner = |context: &Context| lock(&context.owned).registered.contains_key(&host);
    with_owner("cuMemHostUnregister", is_owner, |context| {
        let known = lock(&context.owned).registered.remove(&host);
        let registered = known.ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
        let waited = wait_for_users(context, |gpu| registered.is_reached_by(gpu));
        registered.unmap();
        waited
    })
}

/// Managed memory is where both sides can reach it, so there is nothing to move.
fn check_managed(context: &Context, address: u64, bytes: usize) -> Answer {
    let pinned = pinned(context, address, bytes as u64).ok_or(Code::INVALID_VALUE)?;
    (pinned.kind == PinnedKind::Managed)
        .then_some(())
        .ok_or(Code::INVALID_VALUE)
}

pub extern "C" fn cuMemPrefetchAsync<const DEFAULT: u64>(
    address: u64,
    bytes: usize,
    _device: i32,
    stream: u64,
) -> u32 {
    with_context("cuMemPrefetchAsync", |context| {
        context.stream(stream, DEFAULT)?;
        check_managed(context, address, bytes)
    })
}

/// A `CUmemLocation` has the size of a word.
pub extern "C" fn cuMemPrefetchAsync_v2<const DEFAULT: u64>(
    address: u64,
    bytes: usize,
    _location: u64,
    _flags: u32,
    stream: u64,
) -> u32 {
    with_context("cuMemPrefetchAsync_v2", |context| {
        context.stream(stream, DEFAULT)?;
        check_managed(context, address, bytes)
    })
}

pub extern "C" fn cuMemAdvise(address: u64, bytes: usize, _advice: u32, _device: i32) -> u32 {
    with_context("cuMemAdvise", |context| {
        check_managed(context, address, bytes)
    })
}

/// A `CUmemLocation` has the size of a word.
pub extern "C" fn cuMemAdvise_v2(address: u64, bytes: usize, _advice: u32, _location: u64) -> u32 {
    with_context("cuMemAdvise_v2", |context| {
        check_managed(context, address, bytes)
    })
}
