//! `emu`: NVIDIA GPUs emulated by `ptx-emu`. An image is the same PTX as for hardware; device
//! threads are lanes of warps, which threads of this process execute.
//!
//! `emu:sm_60` is an `sm_60`, and so on; `emu` is the default architecture. Architectures before
//! `sm_70` run their warps in lock-step.

mod launch;
mod module;

use std::sync::{Arc, Weak};

use ptx_emu::{Machine, Model, Options};
use targets::count::Count;
use targets::device_arch::{self, DeviceArch};

use self::module::EmuModule;
use super::{InProcessQueue, in_place};
use crate::base::output::{self, Stream};
use crate::device::{
    Device, DeviceAddr, DeviceError, Fill, MappedMemory, MemoryInfo, Module, OpenOptions, Queue,
};
use crate::image::{Image, ImageError};

/// The architecture of plain `emu`.
const DEFAULT_ARCH: &str = "sm_90";

/// Opens an emulated GPU of architecture `arch`.
pub(in crate::device) fn open(
    arch: Option<&str>,
    open_options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    let arch = arch.unwrap_or(DEFAULT_ARCH);
    let name = format!("emu:{arch}");
    let sm = match arch.parse() {
        Ok(DeviceArch::Nvidia(sm)) if sm.exists() => sm,
        _ => {
            return Err(DeviceError::NotSuitable {
                device: name,
                reason: format!(
                    "`{arch}` is not supported: use `emu`, or `emu:` and one of {}",
                    device_arch::nvidia_names()
                ),
            });
        }
    };
    let env = open_options.env;
    let defaults = Options::default();
    let options = Options {
        sm: sm.number,
        memory: env.emu_memory.unwrap_or(defaults.memory),
        processors: env.emu_threads.unwrap_or(defaults.processors),
        check: env.emu_check.unwrap_or(defaults.check),
        patience: env.emu_patience.unwrap_or(defaults.patience),
        output: Arc::new(|text: &str| output::print(Stream::Output, text.as_bytes())),
        trace: open_options.trace.map(|trace| ptx_emu::Trace {
            block: [trace.team, 0, 0],
            thread: [trace.thread, 0, 0],
            sink: Arc::clone(&trace.sink),
        }),
        costs: open_options.costs.cloned(),
    };
    let bytes = options.memory;
    let machine = Machine::new(options).map_err(|reason| DeviceError::System {
        what: format!("reserving {bytes} bytes for `{name}`, twice (REVOFF_EMU_MEMORY)"),
        reason,
    })?;
    Ok(Arc::new_cyclic(|this| EmuDevice {
        this: Weak::clone(this),
        name,
        arch: DeviceArch::Emulated(sm),
        machine: Arc::new(machine),
    }))
}

/// The device.
struct EmuDevice {
    this: Weak<Self>,
    name: String,
    arch: DeviceArch,
    machine: Arc<Machine>,
}

impl Device for EmuDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> u32 {
        0
    }

    fn arch(&self) -> DeviceArch {
        self.arch.clone()
    }

    fn description(&self) -> String {
        let lanes = match self.machine.model() {
            Model::Independent => "independent lanes",
            Model::LockStep => "lanes in lock-step",
        };
        format!(
            "PTX on {} of this process, as an {} with {lanes}",
            Count(self.machine.options().processors as u64, "thread"),
            self.arch,
        )
    }

    fn memory(&self) -> MemoryInfo {
        let memory = self.machine.memory();
        MemoryInfo {
            total: memory.total(),
            used: memory.used(),
        }
    }

    fn clock_khz(&self) -> u32 {
        // The clock counts nanoseconds.
        1_000_000
    }

    fn can_wake_host(&self) -> bool {
        false
    }

    fn alloc(&self, bytes: u64, _fill: Fill) -> Result<DeviceAddr, DeviceError> {
        let memory = self.machine.memory();
        // New memory is always zero.
        let address = memory.alloc(bytes).map(DeviceAddr);
        address.ok_or_else(|| DeviceError::OutOfMemory {
            device: self.name.clone(),
            bytes,
            free: memory.total() - memory.used(),
            total: memory.total(),
            setting: Some("REVOFF_EMU_MEMORY"),
        })
    }

    fn free(&self, address: DeviceAddr) {
        self.machine.memory().free(address.0);
    }

    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError> {
        let memory = Arc::clone(self.machine.memory());
        let Some((host, device)) = memory.alloc_mapped(bytes as u64) else {
            return Err(DeviceError::OutOfMemory {
                device: self.name.clone(),
                bytes: bytes as u64,
                free: memory.total() - memory.mapped(),
                total: memory.total(),
                setting: Some("REVOFF_EMU_MEMORY"),
            });
        };
        let free = move || memory.free(device);
        Ok(MappedMemory::new(host, DeviceAddr(device), bytes, free))
    }

    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError> {
        EmuModule::load(&self.machine, &self.name, &self.arch, image)
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
            Some(device) => Ok(Box::new(InProcessQueue::new(device))),
            None => unreachable!("a method of the device runs, so the device exists"),
        }
    }
}
