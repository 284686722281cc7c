//! `hsa:N`: AMD's GPUs, through ROCr, which is loaded when the first one is opened; and `emu:gfx90a` and
//! its like, the same on emulated GPUs.
//!
//! | file | job |
//! |---|---|
//! | `runtime` | loading ROCr, and its errors |
//! | `emulated` | GPUs of the emulated ROCr |
//! | `agents`, `pools` | GPUs, and their memory pools |
//! | `context` | a GPU as shared by all its users, and whether it is lost |
//! | `faults` | faults that ROCr reports |
//! | `memory`, `blocks` | device memory, mapped memory; pinned memory for reuse |
//! | `signal`, `notifier` | the signal of one operation, and waiting for it |
//! | `aql` | a hardware queue and its packets |
//! | `stream`, `streams`, `queue`, `event`, `copy`, `engines` | copies and their order |
//! | `module`, `arguments` | loading code objects, and arguments of kernels |
//! | `launch` | kernels, and waiting for their end |
//!
//! A stream is a chain of operations, each of which waits for the signal of the one before it and
//! for those of events, on the device. After a fault in a kernel the device is lost: the launch,
//! and all later operations of the device, fail with [`DeviceError::Lost`]. Once all its resources
//! are dropped, the device can be opened again, except after a memory fault, which ROCr reports
//! once per process. Other devices are not affected.

mod agents;
mod aql;
mod arguments;
mod blocks;
mod context;
mod copy;
mod emulated;
mod engines;
mod event;
mod faults;
mod launch;
mod memory;
mod module;
mod notifier;
mod pools;
mod queue;
mod runtime;
mod signal;
mod stream;
mod streams;

use std::sync::{Arc, Weak};

use hsa_emu::Arch;
use targets::DeviceArch;

use self::agents::{Agents, Number};
use self::blocks::Blocks;
use self::context::{Context, name_of};
use self::emulated::Emulated;
use self::memory::Memory;
use self::module::HsaModule;
use self::queue::HsaQueue;
use self::runtime::{emulated, installed};
use self::streams::Streams;
use super::gpu::open::retry_if_lost;
use super::gpu::reaper::CompletionReaper;
use super::traced::traced;
use super::{
    Device, DeviceAddr, DeviceError, Fill, MappedMemory, MemoryInfo, MemoryKind, Module,
    OpenOptions, Queue,
};
use crate::image::{Image, ImageError};

/// Number of GPUs.
///
/// # Errors
/// There is no ROCr, or it is unusable.
pub(super) fn count() -> Result<u32, DeviceError> {
    let rocr = installed(faults::on_system_event)?;
    let agents = Agents::all(rocr).map_err(|failure| DeviceError::driver("hsa", failure))?;
    Ok(agents.gpus.len() as u32)
}

/// Opens GPU `number`, which exists.
pub(super) fn open(
    number: u32,
    _options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    retry_if_lost(|| open_once(number))
}

fn open_once(number: u32) -> Result<Arc<dyn Device>, DeviceError> {
    let rocr = installed(faults::on_system_event)?;
    faults::check_unreported(&name_of(number))?;
    let context = Context::of(rocr, number)?;
    // Events that ROCr reported before the context was on the list did not reach it.
    faults::check_unreported(context.name())?;
    open_in(context)
}

/// Opens an emulated GPU of architecture `arch`.
pub(super) fn open_emulated(
    arch: Arch,
    options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    let gpu = Emulated::add(arch, options)?;
    let rocr = emulated(faults::on_emulated_event)?;
    open_in(Context::of_emulated(rocr, gpu, format!("emu:{arch}"))?)
}

/// Opens the GPU of a context.
fn open_in(context: Arc<Context>) -> Result<Arc<dyn Device>, DeviceError> {
    let arch = arch(&context)?;
    Ok(Arc::new_cyclic(|this| HsaDevice {
        this: Weak::clone(this),
        arch,
        reaper: CompletionReaper::default(),
        streams: Streams::new(&context),
        blocks: Blocks::new(&context),
        memory: Memory::new(&context),
        context,
    }))
}

fn arch(context: &Context) -> Result<DeviceArch, DeviceError> {
    let isa = agents::isa(context.rocr, context.agent);
    let isa = isa.map_err(|failure| context.failed(failure))?;
    let isa = isa.unwrap_or_default();
    let name = isa.rsplit_once("--").map_or(&*isa, |(_, name)| name);
    match name.parse() {
        Ok(arch @ DeviceArch::Amd(_)) => Ok(arch),
        _ => Err(DeviceError::NotSuitable {
            device: context.name().to_owned(),
            reason: format!("its architecture, `{isa}`, is unknown"),
        }),
    }
}

/// The device. Fields with resources of the context come before it; dropping the streams ends their
/// work before the memory that it uses is freed.
struct HsaDevice {
    this: Weak<Self>,
    arch: DeviceArch,
    reaper: CompletionReaper,
    streams: Streams,
    blocks: Arc<Blocks>,
    memory: Memory,
    context: Arc<Context>,
}

impl HsaDevice {
    fn this(&self) -> Arc<Self> {
        match self.this.upgrade() {
            Some(device) => device,
            None => unreachable!("a method of the device runs, so the device exists"),
        }
    }

    fn new_queue(&self) -> HsaQueue {
        HsaQueue::new(self.this(), self.streams.take())
    }
}

impl Device for HsaDevice {
    fn name(&self) -> &str {
        self.context.name()
    }

    fn number(&self) -> u32 {
        self.context.number
    }

    fn arch(&self) -> DeviceArch {
        self.arch.clone()
    }

    fn description(&self) -> String {
        if let Some(gpu) = &self.context.emulated {
            return gpu.description(self.context.number_of(Number::COMPUTE_UNITS));
        }
        let build = self.context.rocr.build();
        format!(
            "{} ({}), {} compute units, at {}, ROCr {}",
            self.context.product(),
            self.arch,
            self.context.number_of(Number::COMPUTE_UNITS),
            self.context.bus(),
            build.as_deref().unwrap_or("of an unknown build"),
        )
    }

    fn memory(&self) -> MemoryInfo {
        self.memory.info()
    }

    fn memory_kind(&self) -> MemoryKind {
        match self.context.emulated {
            Some(_) => MemoryKind::Emulated,
            None => MemoryKind::Rocm,
        }
    }

    fn copies_beside_kernels(&self) -> bool {
        let context = &self.context;
        // The copies of an emulated GPU are no kernels.
        context.emulated.is_some() || {
            let profile = Number::PROFILE.of(context.rocr, context.agent).ok();
            let env = |name: &str| std::env::var(name).ok();
            engines::copy_within(&self.arch, profile, queue::WITHIN, env)
        }
    }

    fn clock_khz(&self) -> u32 {
        // In MHz.
        self.context.number_of(Number::CLOCK).saturating_mul(1000)
    }

    fn can_wake_host(&self) -> bool {
        false
    }

    fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        if fill == Fill::Any {
            return self.memory.alloc(bytes);
        }
        let mut queue = self.new_queue();
        let address = queue.alloc(bytes, fill)?;
        queue.synchronize().inspect_err(|_| self.free(address))?;
        Ok(address)
    }

    fn free(&self, address: DeviceAddr) {
        self.memory.free(address);
    }

    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError> {
        memory::mapped(&self.context, bytes)
    }

    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError> {
        Ok(Arc::new(HsaModule::load(&self.context, &self.arch, image)?))
    }

    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(traced(self.new_queue()))
    }

    fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        _writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        let emulated = self.context.emulated.as_ref();
        emulated.is_some_and(|gpu| gpu.in_place(address, len, access))
    }

    fn shared_queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        let stream = self.streams.take_shared();
        Ok(traced(HsaQueue::new(self.this(), stream)))
    }
}
