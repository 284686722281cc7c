//! `host`: the default device, which always exists. An image is a shared object, and device threads
//! are OS threads of this process.
//!
//! Copies and calls are as strict as on hardware: device memory is a separate arena, host copies
//! must lie within its allocations, and the host cannot reach a device thread's stack. A kernel's
//! own accesses are not checked: an access past the end of a buffer hits the next one.

mod active_launches;
mod c_call;
mod inline;
mod launch;
mod module;
mod signals;
mod thread;
mod unattached_threads;
mod wait;
mod worker_pool;

use std::sync::{Arc, Mutex, Weak};

use device_arena::Arena;
use targets::DeviceArch;
use targets::count::Count;

use self::inline::Stacks;
use self::module::HostModule;
use self::worker_pool::WorkerPool;
use super::{InProcessQueue, in_place};
use crate::base::lock::lock;
use crate::device::bounds::{NOT_ALLOCATED, unreachable};
use crate::device::traced::traced;
use crate::device::{
    Device, DeviceAddr, DeviceError, Fill, InlineLaunch, MappedMemory, MemoryInfo, Module,
    OpenOptions, Queue,
};
use crate::image::{Image, ImageError};

/// The default size of device memory: address space, not pages.
const DEFAULT_MEMORY: u64 = 16 << 30;

/// The default stack of a device thread.
const DEFAULT_STACK: u64 = 256 << 10;

/// Opens the `host` device.
pub(in crate::device) fn open(options: &OpenOptions<'_>) -> Result<Arc<dyn Device>, DeviceError> {
    let env = options.env;
    let bytes = env.host_memory.unwrap_or(DEFAULT_MEMORY);
    let arena = Arena::new(bytes, None).map_err(|reason| DeviceError::System {
        what: format!("reserving {bytes} bytes for the host device (REVOFF_HOST_MEMORY)"),
        reason,
    })?;
    let stack = options
        .host_stack
        .or(env.host_stack)
        .unwrap_or(DEFAULT_STACK);
    signals::watch();
    Ok(Arc::new_cyclic(|this| HostDevice {
        this: Weak::clone(this),
        arena,
        workers: WorkerPool::new(stack as usize),
        modules: Mutex::default(),
        stacks: Stacks::default(),
    }))
}

/// The device.
struct HostDevice {
    this: Weak<Self>,
    arena: Arena,
    workers: WorkerPool,
    modules: Mutex<Vec<Weak<HostModule>>>,
    /// Stacks for kernels that run on their callers' threads.
    stacks: Stacks,
}

impl HostDevice {
    /// Rejects ranges that host copies cannot access. The result keeps an image in the range
    /// loaded.
    ///
    /// Mapped memory is rejected too: both sides access it word by word at the same time, and a
    /// copy that a device requests must not interfere. Data in the bounce area is copied without a
    /// queue.
    fn find(
        &self,
        address: DeviceAddr,
        len: u64,
        write: bool,
    ) -> Result<Option<Arc<HostModule>>, DeviceError> {
        let unreachable = |what| Err(unreachable(address, len, what));
        match self.arena.contains(address.0, len) {
            Some(true) => return Ok(None),
            Some(false) => return unreachable(NOT_ALLOCATED),
            None => {}
        }
        let held = lock(&self.modules)
            .iter()
            .filter_map(Weak::upgrade)
            .find(|module| module.is_loaded(address, len, |segment| segment.writable || !write));
        match held {
            Some(module) => Ok(Some(module)),
            None => unreachable("no device memory: a device thread's stack, or a host address"),
        }
    }
}

impl Device for HostDevice {
    fn name(&self) -> &str {
        "host"
    }

    fn number(&self) -> u32 {
        0
    }

    fn arch(&self) -> DeviceArch {
        DeviceArch::this_machine()
    }

    fn description(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cores = Count(cores as u64, "core");
        format!("{cores} of this machine ({})", std::env::consts::ARCH)
    }

    fn memory(&self) -> MemoryInfo {
        MemoryInfo {
            total: self.arena.bytes(),
            used: self.arena.used(),
        }
    }

    fn clock_khz(&self) -> u32 {
        // Its threads have no such register.
        1_000_000
    }

    fn can_wake_host(&self) -> bool {
        true
    }

    fn inline_launch(&self) -> Option<&dyn InlineLaunch> {
        Some(self)
    }

    fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.arena
            .alloc(bytes, fill)
            .map(DeviceAddr)
            .ok_or_else(|| {
                let MemoryInfo { total, used } = self.memory();
                DeviceError::OutOfMemory {
                    device: "host".to_owned(),
                    bytes,
                    free: total - used,
                    total,
                    setting: Some("REVOFF_HOST_MEMORY"),
                }
            })
    }

    fn free(&self, address: DeviceAddr) {
        self.arena.free(address.0);
    }

    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError> {
        // Pages of its own: those that nobody touches take no time and no memory.
        let pages =
            Arena::new(bytes.max(1) as u64, None).map_err(|_| DeviceError::OutOfMemory {
                device: "host".to_owned(),
                bytes: bytes as u64,
                free: 0,
                total: bytes as u64,
                setting: None,
            })?;
        let (host, device) = (pages.base(), DeviceAddr(pages.window()));
        Ok(MappedMemory::new(host, device, bytes, move || drop(pages)))
    }

    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError> {
        let module = HostModule::load(image)?;
        let mut modules = lock(&self.modules);
        modules.retain(|module| module.strong_count() > 0);
        modules.push(Arc::downgrade(&module));
        Ok(module)
    }

    fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        in_place(self, address, len, writes, access)
    }

    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        match self.this.upgrade() {
            Some(device) => Ok(traced(InProcessQueue::new(device))),
            None => unreachable!("a method of the device runs, so the device exists"),
        }
    }
}
