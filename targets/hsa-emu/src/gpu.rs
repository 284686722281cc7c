//! Emulated GPUs, and the options with which programs in this process add one.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use emu_driver::process::lock;
use hsa_runtime_sys::hsa_agent_t;
use targets::device_arch::AmdTarget;

use crate::copy::{Engine, RunningKernels};
use crate::memory::{Memory, Owner};
use crate::spec::Spec;
use crate::status::{Answer, Status};
use gcn_emu::{AddressSpace, Arch, Descriptor, Fault, Machine, Options};

/// A function that receives the driver's messages, one line each, such as a kernel's fault.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// The processor's handle. GPU `n` has handle `FIRST_GPU + n`.
pub(crate) const CPU: u64 = 0x0a9e_0001;
const FIRST_GPU: u64 = 0x0a9e_1000;

/// Options of a GPU.
#[derive(Clone)]
pub struct GpuOptions {
    /// Options of the emulated machine.
    pub machine: Options,
    /// Memory size in bytes.
    pub memory: u64,
    /// Whether the GPU guarantees only what HSA promises. A strict GPU has one copy engine, which performs copies in
    /// order, whatever they wait for. Packets must be published before the doorbell rings, declare that both sides
    /// see each other's writes, and stay until their kernel has ended. A signal in use cannot be destroyed.
    pub is_strict: bool,
    /// Receives the driver's messages.
    pub report: Report,
}

/// A kernel of a loaded code object.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Address of the kernel descriptor.
    pub(crate) object: u64,
    pub(crate) descriptor: Descriptor,
}

/// A GPU.
pub(crate) struct Gpu {
    pub(crate) number: u32,
    pub(crate) arch: Arch,
    pub(crate) target: AmdTarget,
    pub(crate) spec: Spec,
    pub(crate) processors: u32,
    pub(crate) is_strict: bool,
    pub(crate) report: Report,
    pub(crate) memory: Arc<Memory>,
    /// Slot of the GPU in the address space.
    pub(crate) slot: usize,
    pub(crate) machine: Machine,
    /// Kernels of frozen executables, by the addresses of their descriptors.
    pub(crate) kernels: RwLock<HashMap<u64, Arc<Kernel>>>,
    pub(crate) running: Arc<RunningKernels>,
    /// Copy engines, one for each direction; a strict GPU uses the first only.
    engines: [Engine; 2],
    /// Engine for copies that hardware performs by kernels.
    blits: Engine,
    fault: Mutex<Option<Fault>>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.memory.remove_gpu(self.slot);
    }
}

impl Gpu {
    pub(crate) fn new(number: u32, memory: &Arc<Memory>, options: GpuOptions) -> io::Result<Self> {
        let view = memory.add_gpu(options.memory)?;
        let (slot, arch) = (view.slot, options.machine.arch);
        let running = Arc::new(RunningKernels::default());
        let engine = || Engine::start(memory, &running);
        let engines = engine().and_then(|first| Ok([first, engine()?, engine()?]));
        let [first, second, blits] = match engines {
            Ok(engines) => engines,
            Err(error) => {
                memory.remove_gpu(slot);
                return Err(error);
            }
        };
        let spec = Spec::of(arch);
        let space: Arc<dyn AddressSpace> = Arc::new(view);
        Ok(Self {
            number,
            arch,
            target: spec.target(arch),
            spec,
            processors: options.machine.processors,
            is_strict: options.is_strict,
            report: options.report,
            memory: Arc::clone(memory),
            slot,
            machine: Machine::new(options.machine, space),
            kernels: RwLock::default(),
            running,
            engines: [first, second],
            blits,
            fault: Mutex::default(),
        })
    }

    /// The agent's handle.
    pub(crate) fn agent(&self) -> hsa_agent_t {
        agent_of(self.number)
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner::Gpu(self.slot)
    }

    /// Product name.
    pub(crate) fn product(&self) -> String {
        format!("emulated {}", self.arch)
    }

    /// Copy engine for one direction.
    pub(crate) fn engine(&self, is_to_host: bool) -> &Engine {
        &self.engines[usize::from(is_to_host && !self.is_strict)]
    }

    /// Engine for copies that hardware performs by kernels.
    pub(crate) fn blits(&self) -> &Engine {
        &self.blits
    }

    /// Looks up a kernel of a frozen executable by the address of its descriptor.
    pub(crate) fn kernel(&self, object: u64) -> Answer<Arc<Kernel>> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        let found = kernels.get(&object).cloned();
        found.ok_or(Status::INVALID_CODE_OBJECT)
    }

    /// Records a fault of a kernel, and reports it.
    pub(crate) fn record(&self, fault: &Fault) {
        lock(&self.fault).get_or_insert_with(|| fault.clone());
        (self.report)(&fault.to_string());
    }

    /// First fault of a kernel, if any.
    pub(crate) fn fault(&self) -> Option<Fault> {
        lock(&self.fault).clone()
    }

    /// Whether the GPU may use the whole range, which must be in one allocation.
    pub(crate) fn may_use(&self, address: u64, len: u64) -> bool {
        self.memory.may_use(self.slot, address, len)
    }
}

/// Handle of a GPU's agent.
pub(crate) fn agent_of(number: u32) -> hsa_agent_t {
    hsa_agent_t {
        handle: FIRST_GPU + u64::from(number),
    }
}

/// Number of the GPU that a handle names.
pub(crate) fn number_of(agent: hsa_agent_t) -> Option<u32> {
    let number = agent.handle.checked_sub(FIRST_GPU)?;
    u32::try_from(number).ok()
}
