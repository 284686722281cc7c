//! `emu`: NVIDIA GPUs that `cuda-emu` emulates, a driver that is a part of this program. An image is the
//! same PTX as for hardware; device threads are lanes of warps, which threads of this process execute.
//!
//! `emu:sm_60` is an `sm_60`, and so on; `emu` is the default architecture. Architectures before
//! `sm_70` run their warps in lock-step.

use std::sync::Arc;

pub(super) use cuda_emu::with_image_name;
use cuda_emu::{Fault, FaultKind, GpuOptions, Options};
use cudarc::driver::sys::CUcontext;
use shared_abi::image::PANIC_ASSERTION;
use targets::count::Count;
use targets::device_arch::{self, DeviceArch, Sm};

use crate::base::output::{self, Stream};
use crate::device::{DeviceAddr, DeviceError, OpenOptions};

/// The first architecture whose lanes progress independently.
const FIRST_INDEPENDENT: u32 = 70;

/// A GPU of the emulated driver, which has it until this is dropped.
pub(super) struct Emulated {
    number: i32,
    sm: Sm,
}

impl Emulated {
    /// Adds a GPU of architecture `arch`.
    pub(super) fn add(arch: &str, options: &OpenOptions<'_>) -> Result<Self, DeviceError> {
        let sm = match arch.parse() {
            Ok(DeviceArch::Nvidia(sm)) if sm.exists() => sm,
            _ => {
                return Err(DeviceError::NotSuitable {
                    device: format!("emu:{arch}"),
                    reason: format!(
                        "`{arch}` is not supported: use `emu`, or `emu:` and one of {}, {}",
                        device_arch::nvidia_names(),
                        hsa_emu::Arch::ALL.map(hsa_emu::Arch::name).join(", ")
                    ),
                });
            }
        };
        let (env, defaults) = (options.env, Options::default());
        let options = Options {
            sm: sm.number,
            memory: env.emu_memory.unwrap_or(defaults.memory),
            processors: env.emu_threads.unwrap_or(defaults.processors),
            check: env.emu_check.unwrap_or(defaults.check),
            patience: env.emu_patience.unwrap_or(defaults.patience),
            output: Arc::new(|text: &str| output::print(Stream::Output, text.as_bytes())),
            trace: options.trace.map(|trace| cuda_emu::Trace {
                block: [trace.team, 0, 0],
                thread: [trace.thread, 0, 0],
                sink: Arc::clone(&trace.sink),
            }),
            costs: options.costs.cloned(),
        };
        let bytes = options.memory;
        let added = cuda_emu::add_gpu(GpuOptions {
            machine: options,
            is_strict: true,
            // The launch's error has the fault.
            report: Arc::new(|_| ()),
        });
        let number = added.map_err(|reason| DeviceError::System {
            what: format!("reserving {bytes} bytes for `emu:{arch}`, twice (REVOFF_EMU_MEMORY)"),
            reason,
        })?;
        Ok(Self { number, sm })
    }

    /// The driver's number of it.
    pub(super) fn number(&self) -> u32 {
        self.number.cast_unsigned()
    }

    /// Its architecture.
    pub(super) fn arch(&self) -> DeviceArch {
        DeviceArch::Emulated(self.sm)
    }

    /// A description of it, with the number of its multiprocessors.
    pub(super) fn description(&self, processors: u32) -> String {
        let lanes = if self.sm.number < FIRST_INDEPENDENT {
            "lanes in lock-step"
        } else {
            "independent lanes"
        };
        format!(
            "PTX on {} of this process, as an {} with {lanes}",
            Count(processors.into(), "thread"),
            self.sm,
        )
    }

    /// The message about the fault that has broken a context, if one has.
    pub(super) fn fault(&self, context: CUcontext) -> Option<String> {
        let fault = cuda_emu::fault_of(context.addr() as u64)?;
        Some(message(&fault))
    }

    /// Implements [`Device::in_place`](crate::device::Device::in_place).
    pub(super) fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        cuda_emu::in_place(self.number, address.0, len, writes, access)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        cuda_emu::remove_gpu(self.number);
    }
}

fn message(fault: &Fault) -> String {
    match &fault.what {
        FaultKind::Assertion {
            file,
            line,
            message,
            ..
        } if message == PANIC_ASSERTION => {
            let (kernel, lane) = (&fault.kernel, fault.lane());
            format!("kernel `{kernel}` panicked at {file}:{line}: {lane}")
        }
        _ => fault.to_string(),
    }
}
