//! `emu:gfx90a` and its like: AMD GPUs that `hsa-emu` emulates, a ROCr that is a part of this program. An
//! image is the same code object as for hardware; waves run on threads of this process.

use std::cell::RefCell;
use std::sync::Arc;

use hsa_emu::{Arch, GpuOptions, Options, Trace};
use hsa_runtime_sys::hsa_agent_t;
use targets::count::Count;

use crate::device::{DeviceAddr, DeviceError, OpenOptions};

/// A GPU of the emulated ROCr, which has it until this is dropped.
pub(super) struct Emulated {
    number: u32,
    arch: Arch,
}

impl Emulated {
    /// Adds a GPU of architecture `arch`.
    pub(super) fn add(arch: Arch, options: &OpenOptions<'_>) -> Result<Self, DeviceError> {
        let (env, defaults) = (options.env, Options::default());
        let check = env.emu_check.unwrap_or(defaults.check);
        if check && env.emu_weak.is_some() {
            return Err(DeviceError::NotSuitable {
                device: format!("emu:{arch}"),
                reason: "REVOFF_EMU_WEAK and REVOFF_EMU_CHECK exclude each other: unset one"
                    .to_owned(),
            });
        }
        let memory = env.emu_memory.unwrap_or(DEFAULT_MEMORY);
        let added = hsa_emu::add_gpu(GpuOptions {
            machine: Options {
                arch,
                processors: env.emu_threads.unwrap_or(defaults.processors),
                patience: env.emu_patience.unwrap_or(defaults.patience),
                trace: options.trace.map(|trace| Trace {
                    workgroup: [trace.team, 0, 0],
                    lane: [trace.thread, 0, 0],
                    sink: Arc::clone(&trace.sink),
                }),
                weak: env.emu_weak,
                costs: options.costs.cloned(),
                check,
            },
            memory,
            is_strict: true,
            report: Arc::new(hear),
        });
        let number = added.map_err(|reason| DeviceError::System {
            what: format!("adding `emu:{arch}` with {memory} bytes of memory (REVOFF_EMU_MEMORY)"),
            reason,
        })?;
        Ok(Self { number, arch })
    }

    /// Its agent.
    pub(super) fn agent(&self) -> hsa_agent_t {
        hsa_agent_t {
            handle: hsa_emu::agent_of(self.number),
        }
    }

    /// A description of it, with the number of its compute units.
    pub(super) fn description(&self, units: u32) -> String {
        format!(
            "AMD code objects on {} of this process, as a {}",
            Count(units.into(), "thread"),
            self.arch
        )
    }

    /// The message about the fault of a kernel, if one has faulted.
    pub(super) fn fault(&self) -> Option<String> {
        hsa_emu::fault_of(self.number).map(|fault| fault.to_string())
    }

    /// Implements [`Device::in_place`](crate::device::Device::in_place).
    pub(super) fn in_place(
        &self,
        address: DeviceAddr,
        len: usize,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        hsa_emu::in_place(self.number, address.0, len, access)
    }
}

thread_local! {
    /// The reports of the emulated ROCr on this thread during [`with_reports`].
    static REPORTS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs a call of ROCr. Returns its result and, if ROCr is emulated, what it reports meanwhile on this
/// thread: the reason why the call fails.
pub(super) fn with_reports<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    REPORTS.set(Some(Vec::new()));
    let result = call();
    (result, REPORTS.take().unwrap_or_default())
}

/// Receives a report of the emulated ROCr.
fn hear(line: &str) {
    let is_kept = REPORTS.with_borrow_mut(|reports| match reports {
        Some(reports) => {
            reports.push(line.to_owned());
            true
        }
        None => false,
    });
    if !is_kept {
        tracing::warn!("emulated GPU: {line}");
    }
}

/// Bytes of memory by default. It reserves addresses; pages are allocated at their first use.
const DEFAULT_MEMORY: u64 = 16 << 30;

impl Drop for Emulated {
    fn drop(&mut self) {
        hsa_emu::remove_gpu(self.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::base::env::Env;
    use crate::device;

    /// Other threads may remove theirs while one looks for its own.
    #[test]
    fn gpus_come_and_go() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        device::open("emu:gfx90a", &Env::default()).expect("a GPU of its own");
                    }
                });
            }
        });
    }
}
