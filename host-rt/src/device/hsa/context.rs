//! A GPU as shared by all its users in this process, and whether it is lost.

use std::ffi::{c_char, c_void};
use std::ptr::null;
use std::sync::{Arc, Mutex, Weak};

use hsa_runtime_sys::{
    HSA_AMD_AGENT_INFO_PRODUCT_NAME, HSA_STATUS_ERROR_INVALID_ALLOCATION,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_agent_t, hsa_amd_memory_pool_t,
    hsa_code_object_reader_t, hsa_executable_t, hsa_status_t,
};

use super::agents::{self, Agents, Number};
use super::emulated::Emulated;
use super::notifier::Notifier;
use super::pools::{NoPools, Pools};
use super::runtime::{self, Runtime};
use crate::base::lock::{lock, take};
use crate::device::gpu::loss::DeviceLoss;
use crate::device::{DeviceError, DriverFailure, LossReason};
use crate::image::Image;

/// A GPU that is in use.
pub(super) struct Context {
    pub(super) rocr: &'static Runtime,
    /// The number in the device's name.
    pub(super) number: u32,
    name: String,
    pub(super) agent: hsa_agent_t,
    /// The processor on the other side of copies.
    pub(super) host: hsa_agent_t,
    pub(super) pools: Pools,
    loss: DeviceLoss,
    /// Wakes threads that wait for a signal.
    pub(super) notifier: Notifier,
    /// Resources given up while kernels in an unknown state may still use them.
    deferred: Mutex<Vec<DeferredFree>>,
    /// The GPU, if it is emulated. Last, since it goes when this is dropped.
    pub(super) emulated: Option<Emulated>,
}

/// A ROCr resource that is freed later, when nothing can use it any more.
pub(super) struct DeferredFree(Resource);

enum Resource {
    /// The address of memory.
    Memory(u64),
    Code(Code),
}

/// A loaded image.
pub(super) struct Code {
    pub(super) executable: hsa_executable_t,
    pub(super) reader: hsa_code_object_reader_t,
    /// The image whose bytes the reader uses.
    pub(super) image: Image,
}

impl DeferredFree {
    /// Memory that [`Context::alloc`] has returned.
    ///
    /// # Safety
    /// It is freed only here, and nothing uses it any more, except kernels on a lost device.
    pub(super) unsafe fn memory(address: u64) -> Self {
        Self(Resource::Memory(address))
    }

    /// Both handles, and their image.
    ///
    /// # Safety
    /// As for [`memory`](Self::memory).
    pub(super) unsafe fn code(code: Code) -> Self {
        Self(Resource::Code(code))
    }
}

/// The contexts in use: one per GPU, unless one has just been given up.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

impl Context {
    /// An emulated GPU, whose device has this name.
    pub(super) fn of_emulated(
        rocr: &'static Runtime,
        gpu: Emulated,
        name: String,
    ) -> Result<Arc<Self>, DeviceError> {
        let agent = gpu.agent();
        let new = Arc::new(Self::new(rocr, 0, name, |_| Some(agent), Some(gpu))?);
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(&new));
        Ok(new)
    }

    /// GPU `number`, which exists.
    pub(super) fn of(rocr: &'static Runtime, number: u32) -> Result<Arc<Self>, DeviceError> {
        let of_gpu = |context: &Arc<Self>| context.number == number && context.emulated.is_none();
        if let Some(context) = Self::all().into_iter().find(of_gpu) {
            context.check_lost()?;
            return Ok(context);
        }
        // Without the lock: ROCr may call `faults` meanwhile, which takes it.
        let agent = |agents: &Agents| agents.gpus.get(number as usize).copied();
        let new = Arc::new(Self::new(rocr, number, name_of(number), agent, None)?);
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|context| context.strong_count() > 0);
        // Dropped after the lock, since the last owner of a context calls ROCr.
        let in_use: Vec<_> = contexts.iter().filter_map(Weak::upgrade).collect();
        // Another thread may have been faster.
        let first = in_use.iter().find(|context| of_gpu(context));
        let context = Arc::clone(first.unwrap_or(&new));
        if first.is_none() {
            contexts.push(Arc::downgrade(&new));
        }
        drop(contexts);
        context.check_lost()?;
        Ok(context)
    }

    fn new(
        rocr: &'static Runtime,
        number: u32,
        name: String,
        agent: impl FnOnce(&Agents) -> Option<hsa_agent_t>,
        emulated: Option<Emulated>,
    ) -> Result<Self, DeviceError> {
        let agents = Agents::all(rocr).map_err(|failure| DeviceError::driver(&name, failure))?;
        let unsuitable = |reason: String| DeviceError::NotSuitable {
            device: name.clone(),
            reason,
        };
        let Some(agent) = agent(&agents) else {
            return Err(unsuitable(format!("there are {} now", agents.gpus.len())));
        };
        let Some(&host) = agents.cpus.first() else {
            return Err(unsuitable("ROCr knows no processor".to_owned()));
        };
        let pools = Pools::of(rocr, &agents, agent).map_err(|why| match why {
            NoPools::Failure(failure) => DeviceError::driver(&name, failure),
            NoPools::Missing(what) => unsuitable(format!("it has no {what}")),
        })?;
        Ok(Self {
            rocr,
            number,
            name,
            agent,
            host,
            pools,
            loss: DeviceLoss::default(),
            notifier: Notifier::default(),
            deferred: Mutex::default(),
            emulated,
        })
    }

    /// All contexts in use.
    pub(super) fn all() -> Vec<Arc<Self>> {
        let contexts = lock(&CONTEXTS);
        contexts.iter().filter_map(Weak::upgrade).collect()
    }

    /// The device's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The result of a ROCr function.
    pub(super) fn check(
        &self,
        call: &'static str,
        status: hsa_status_t,
    ) -> Result<(), DeviceError> {
        runtime::check(self.rocr, call, status)
            .map_err(|failure| DeviceError::driver(&self.name, failure))
    }

    /// A ROCr failure as an error of the device.
    pub(super) fn failed(&self, failure: DriverFailure) -> DeviceError {
        DeviceError::driver(&self.name, failure)
    }

    /// Marks the device as lost; the first reason is kept.
    pub(super) fn lose(&self, reason: impl Into<LossReason>) -> DeviceError {
        let fault = || self.emulated.as_ref()?.fault();
        let reason = fault().map_or_else(|| reason.into(), LossReason::from);
        let (error, is_first) = self.loss.set(&self.name, reason.clone(), false);
        self.notifier.notify();
        // Last, since the log subscriber may panic.
        if is_first {
            tracing::error!(device = self.name, %reason, "the device is lost");
        }
        error
    }

    /// Whether the device is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.loss.is_set()
    }

    /// Checks that the device is not lost.
    ///
    /// # Errors
    /// The device is lost.
    pub(super) fn check_lost(&self) -> Result<(), DeviceError> {
        self.loss.check(&self.name)
    }

    /// A number that ROCr knows of the GPU; 0 if this ROCr does not.
    pub(super) fn number_of(&self, what: Number) -> u32 {
        what.of(self.rocr, self.agent).unwrap_or(0)
    }

    /// The product name.
    pub(super) fn product(&self) -> String {
        let what = HSA_AMD_AGENT_INFO_PRODUCT_NAME;
        // SAFETY: the name is an array of 64 characters.
        match unsafe { agents::info(self.rocr, self.agent, what, [0 as c_char; 64]) } {
            Ok(name) => agents::text(&name),
            Err(_) => "an AMD GPU".to_owned(),
        }
    }

    /// The bus address, such as `0000:03:00.0`.
    pub(super) fn bus(&self) -> String {
        let domain = self.number_of(Number::DOMAIN);
        let id = self.number_of(Number::BUS);
        let (bus, slot, function) = (id >> 8 & 0xff, id >> 3 & 0x1f, id & 7);
        format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}")
    }

    /// Allocates `bytes` of a pool, which is not 0.
    ///
    /// # Errors
    /// `None` if there is not enough memory.
    pub(super) fn alloc(
        &self,
        pool: hsa_amd_memory_pool_t,
        bytes: usize,
    ) -> Result<*mut c_void, Option<DeviceError>> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: the function writes the address.
        let status = unsafe {
            self.rocr
                .hsa_amd_memory_pool_allocate(pool, bytes, 0, &raw mut memory)
        };
        match status {
            HSA_STATUS_ERROR_OUT_OF_RESOURCES | HSA_STATUS_ERROR_INVALID_ALLOCATION => Err(None),
            status => self
                .check("hsa_amd_memory_pool_allocate", status)
                .map(|()| memory)
                .map_err(Some),
        }
    }

    /// Allocates `bytes` of the host's memory, and lets the GPU use it.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    pub(super) fn alloc_pinned(
        &self,
        pool: hsa_amd_memory_pool_t,
        bytes: usize,
    ) -> Result<*mut c_void, Option<DeviceError>> {
        let memory = self.alloc(pool, bytes)?;
        // SAFETY: one agent, which exists; the memory was just allocated.
        let status = unsafe {
            self.rocr
                .hsa_amd_agents_allow_access(1, &raw const self.agent, null(), memory)
        };
        if let Err(error) = self.check("hsa_amd_agents_allow_access", status) {
            // SAFETY: allocated above, and not shared.
            self.give_back(unsafe { DeferredFree::memory(memory.addr() as u64) });
            return Err(Some(error));
        }
        Ok(memory)
    }

    /// Frees a resource that is no longer used. On a lost device a kernel may still use it until
    /// the device's queues are destroyed, which happens before this context is dropped.
    pub(super) fn give_back(&self, what: DeferredFree) {
        if self.is_lost() {
            lock(&self.deferred).push(what);
        } else {
            self.release(what);
        }
    }

    fn release(&self, what: DeferredFree) {
        // SAFETY: for all of these: freed only here and no longer used, by the promise made for
        // each `DeferredFree`; the image is dropped after its reader.
        let result = unsafe {
            match what.0 {
                Resource::Memory(address) => {
                    let status = self.rocr.hsa_amd_memory_pool_free(address as *mut c_void);
                    self.check("hsa_amd_memory_pool_free", status)
                }
                Resource::Code(Code {
                    executable,
                    reader,
                    image,
                }) => {
                    let first = self.rocr.hsa_executable_destroy(executable);
                    let second = self.rocr.hsa_code_object_reader_destroy(reader);
                    drop(image);
                    let first = self.check("hsa_executable_destroy", first);
                    first.and(self.check("hsa_code_object_reader_destroy", second))
                }
            }
        };
        if let Err(error) = result {
            tracing::warn!(%error, "something was not given back");
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        for what in take(&self.deferred) {
            self.release(what);
        }
    }
}

/// The name of GPU `number`.
pub(super) fn name_of(number: u32) -> String {
    format!("hsa:{number}")
}
