//! `cuda:N`: NVIDIA's GPUs, through the driver, which is loaded when the first one is opened; and `emu`,
//! the same on emulated GPUs.
//!
//! | file | job |
//! |---|---|
//! | `driver` | loading the driver, and its errors |
//! | `emulated` | GPUs of the emulated driver |
//! | `context` | a GPU's context, and making it current |
//! | `memory`, `mapped` | device memory, mapped memory |
//! | `stream`, `queue`, `event` | copies and their order |
//! | `deferred`, `promise` | copies that must wait before the driver gets them |
//! | `module`, `jit` | loading and linking images |
//! | `launch` | kernels, and waiting for their end |
//!
//! A kernel that faults destroys its whole context. Its launch, and all later operations of the
//! device, fail with [`DeviceError::Lost`]; once all resources of the device are dropped, the
//! driver destroys the context, and the device can be opened again. Other devices are not affected.

mod context;
mod deferred;
mod driver;
mod emulated;
mod event;
mod functions;
mod jit;
mod launch;
mod mapped;
mod memory;
mod module;
mod promise;
mod queue;
mod stream;

use std::sync::{Arc, Weak};

use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use targets::DeviceArch;

use self::context::Context;
pub(super) use self::context::count;
use self::deferred::DeferringQueue;
use self::emulated::Emulated;
use self::event::Events;

use self::memory::Memory;
use self::module::{CudaModule, Globals};
use self::queue::CudaQueue;
use self::stream::Stream;
use super::bounds::{BEYOND, NOT_ALLOCATED, unreachable};
use super::gpu::open::retry_if_lost;
use super::gpu::pool::Pool;
use super::gpu::reaper::CompletionReaper;
use super::traced::traced;
use super::{
    Device, DeviceAddr, DeviceError, Fill, MappedMemory, MemoryInfo, MemoryKind, Module,
    OpenOptions, Queue,
};
use crate::base::lock::lock;
use crate::base::ranges::AddrRange;
use crate::image::{Image, ImageError};

/// Opens GPU `number`, which exists.
pub(super) fn open(
    number: u32,
    _options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    retry_if_lost(|| open_once(number))
}

fn open_once(number: u32) -> Result<Arc<dyn Device>, DeviceError> {
    open_in(Context::retain(number)?)
}

/// The architecture of plain `emu`.
const DEFAULT_ARCH: &str = "sm_90";

/// Opens an emulated GPU of architecture `arch`.
pub(super) fn open_emulated(
    arch: Option<&str>,
    options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    let arch = arch.unwrap_or(DEFAULT_ARCH);
    let gpu = Emulated::add(arch, options)?;
    open_in(Context::retain_emulated(gpu, format!("emu:{arch}"))?)
}

/// Opens the GPU of a context.
fn open_in(context: Arc<Context>) -> Result<Arc<dyn Device>, DeviceError> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY as MAPS,
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING as UNIFIED,
    };
    for (attribute, what) in [
        (MAPS, "memory of the host"),
        (
            UNIFIED,
            "one address space with the host (unified addressing)",
        ),
    ] {
        if context.attribute(attribute) == 0 {
            return Err(DeviceError::NotSuitable {
                device: context.name().to_owned(),
                reason: format!("it cannot map {what}, which calls to the host need"),
            });
        }
    }
    let arch = arch(&context)?;
    let memory = Memory::new(&context)?;
    Ok(Arc::new_cyclic(|this| CudaDevice {
        this: Weak::clone(this),
        arch,
        reaper: CompletionReaper::default(),
        streams: Pool::new(stream::MAX_STREAMS),
        events: Events::new(&context),
        memory,
        globals: Arc::default(),
        context,
    }))
}

fn arch(context: &Context) -> Result<DeviceArch, DeviceError> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    if let Some(gpu) = &context.emulated {
        return Ok(gpu.arch());
    }
    let (major, minor) = (context.attribute(MAJOR), context.attribute(MINOR));
    let name = format!("sm_{major}{minor}");
    name.parse().map_err(|_| DeviceError::NotSuitable {
        device: context.name().to_owned(),
        reason: format!("its architecture, {name}, is unknown"),
    })
}

/// The device. Fields with resources of the context come before it.
struct CudaDevice {
    this: Weak<Self>,
    arch: DeviceArch,
    reaper: CompletionReaper,
    streams: Pool<Stream>,
    events: Arc<Events>,
    memory: Memory,
    globals: Arc<Globals>,
    context: Arc<Context>,
}

impl CudaDevice {
    fn this(&self) -> Arc<Self> {
        match self.this.upgrade() {
            Some(device) => device,
            None => unreachable!("a method of the device runs, so the device exists"),
        }
    }
}

impl CudaDevice {
    fn queue_in(&self, stream: Stream) -> Box<dyn Queue> {
        let queue = CudaQueue::new(self.this(), stream);
        traced(DeferringQueue::new(self.this(), queue))
    }

    /// Rejects ranges that are not device memory from start to end: a device chooses the range, and
    /// the driver could copy to and from much more. Mapped memory is rejected too: both sides
    /// access it word by word at the same time, and a copy must not interfere.
    fn check_range(&self, address: DeviceAddr, len: usize) -> Result<(), DeviceError> {
        use sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as DEVICE;
        use sys::CUpointer_attribute::{
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE as TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE as SIZE,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as START,
        };
        if len == 0 {
            return Ok(());
        }
        let known = self.memory.contains(address, len as u64);
        match known.or_else(|| self.globals.contains(address, len as u64)) {
            Some(true) => return Ok(()),
            Some(false) => return Err(unreachable(address, len as u64, NOT_ALLOCATED)),
            None => {}
        }
        // Memory that others in this process have allocated, and globals that were not looked up by
        // name.
        let _entered = self.context.enter()?;
        let (mut kind, mut start, mut size) = (0u32, 0u64, 0usize);
        // SAFETY: the function writes a value of the attribute's size, and only inspects the
        // address.
        let codes = unsafe {
            [
                self.context
                    .cu()
                    .cuPointerGetAttribute((&raw mut kind).cast(), TYPE, address.0),
                self.context
                    .cu()
                    .cuPointerGetAttribute((&raw mut start).cast(), START, address.0),
                self.context
                    .cu()
                    .cuPointerGetAttribute((&raw mut size).cast(), SIZE, address.0),
            ]
        };
        let is_inside = AddrRange::new(start, size).is_some_and(|all| all.has(address, len));
        if codes != [CUresult::CUDA_SUCCESS; 3] || kind != DEVICE as u32 || !is_inside {
            return Err(unreachable(address, len as u64, BEYOND));
        }
        Ok(())
    }
}

impl Device for CudaDevice {
    fn name(&self) -> &str {
        self.context.name()
    }

    fn number(&self) -> u32 {
        // Emulated GPUs are one of a kind each.
        let is_emulated = self.context.emulated.is_some();
        if is_emulated { 0 } else { self.context.number }
    }

    fn arch(&self) -> DeviceArch {
        self.arch.clone()
    }

    fn description(&self) -> String {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as COUNT;
        if let Some(gpu) = &self.context.emulated {
            return gpu.description(self.context.attribute(COUNT));
        }
        format!(
            "{} ({}), {} multiprocessors, at {}, driver for CUDA {}",
            self.context.product(),
            self.arch,
            self.context.attribute(COUNT),
            self.context.bus(),
            driver::dotted(self.context.driver.version),
        )
    }

    fn memory(&self) -> MemoryInfo {
        self.memory.info()
    }

    fn memory_kind(&self) -> MemoryKind {
        match self.context.emulated {
            Some(_) => MemoryKind::Emulated,
            None => MemoryKind::Cuda,
        }
    }

    fn allocates_beside_kernels(&self) -> bool {
        self.memory.allocates_by_stream()
    }

    /// CUDA's manual has them run beside kernels on devices that run several kernels at a time: as if they were kernels
    /// themselves, for which kernels that wait for the host may leave no room.
    fn copies_beside_kernels(&self) -> bool {
        self.context.emulated.is_some()
    }

    fn clock_khz(&self) -> u32 {
        self.context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
    }

    fn can_wake_host(&self) -> bool {
        false
    }

    fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.memory.alloc(bytes, fill)
    }

    fn free(&self, address: DeviceAddr) {
        self.memory.free(address);
    }

    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError> {
        mapped::alloc(&self.context, bytes)
    }

    fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        let emulated = self.context.emulated.as_ref();
        emulated.is_some_and(|gpu| gpu.in_place(address, len, writes, access))
    }

    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError> {
        Ok(CudaModule::load(
            &self.context,
            &self.globals,
            &self.arch,
            image,
        )?)
    }

    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        let stream = self.streams.take(|| Stream::new(&self.context))?;
        Ok(self.queue_in(stream))
    }

    fn shared_queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        let stream = self.streams.take_shared(|| Stream::new(&self.context))?;
        Ok(self.queue_in(stream))
    }
}
