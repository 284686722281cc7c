//! The state of the process: agents, and unfreed resources.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use emu_driver::process::{lock, setting};
use host_rt::device::{self, Device};
use host_rt::env::Env;
use hsa_runtime_sys::*;

use crate::code::{self, Executable};
use crate::content::KernelObject;
use crate::copy::Engine;
use crate::event::Events;
use crate::faults;
use crate::memory::{Block, Freed};
use crate::queue::Queue;
use crate::signal::{Cell, Handlers};
use crate::zombies::Zombies;

/// The runtime after `hsa_init`.
pub(crate) struct State {
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) signals: Mutex<HashMap<u64, Arc<Cell>>>,
    pub(crate) memory: Mutex<BTreeMap<u64, Block>>,
    /// The maximum of the host's memory that was allocated at a time, in bytes.
    pub(crate) most_pinned: AtomicU64,
    /// By their addresses.
    pub(crate) queues: Mutex<HashMap<usize, Arc<Queue>>>,
    pub(crate) readers: Mutex<HashMap<u64, Vec<u8>>>,
    pub(crate) executables: Mutex<HashMap<u64, Executable>>,
    pub(crate) kernels: Mutex<HashMap<u64, Arc<KernelObject>>>,
    pub(crate) handlers: Handlers,
    pub(crate) events: Events,
    pub(crate) zombies: Zombies<Freed>,
}

/// A GPU.
pub(crate) struct Gpu {
    /// Its replacement.
    pub(crate) device: Arc<dyn Device>,
    /// The copy engine, and the queue of copies that are kernels.
    pub(crate) engine: Engine,
    pub(crate) kernels: Engine,
}

static STATE: OnceLock<State> = OnceLock::new();

/// The state, for functions that cannot return an error.
pub(crate) fn state() -> &'static State {
    STATE.get().expect("a function of ROCr before `hsa_init`")
}

/// The status of `hsa_init` without a resource, which it does not name.
fn out_of_resources(reason: &dyn std::error::Error) -> hsa_status_t {
    code::say(&reason.to_string());
    HSA_STATUS_ERROR_OUT_OF_RESOURCES
}

impl State {
    fn new() -> Result<Self, hsa_status_t> {
        let env = Env::read().map_err(|_| HSA_STATUS_ERROR)?;
        let gpus = (0..setting("REVOFF_HSA_STAND_IN_DEVICES", 2)).map(|_| {
            let device = device::open("host", &env);
            let device = device.map_err(|error| out_of_resources(&error))?;
            let engine = || Engine::start(&device).map_err(|error| out_of_resources(&*error));
            let (engine, kernels) = (engine()?, engine()?);
            Ok::<_, hsa_status_t>(Gpu {
                device,
                engine,
                kernels,
            })
        });
        Ok(Self {
            gpus: gpus.collect::<Result<_, _>>()?,
            signals: Mutex::default(),
            memory: Mutex::default(),
            most_pinned: AtomicU64::new(0),
            queues: Mutex::default(),
            readers: Mutex::default(),
            executables: Mutex::default(),
            kernels: Mutex::default(),
            handlers: Handlers::default(),
            events: Events::default(),
            zombies: Zombies::default(),
        })
    }

    /// The number of unfreed resources.
    fn held(&self) -> u64 {
        let counts = [
            lock(&self.signals).len(),
            lock(&self.memory).len(),
            lock(&self.queues).len(),
            lock(&self.readers).len(),
            lock(&self.executables).len(),
            lock(&self.kernels).len(),
        ];
        counts.iter().sum::<usize>() as u64
    }
}

/// A function's result; the error is a status other than success.
pub(crate) type Answer<T = ()> = Result<T, hsa_status_t>;

/// A function's result in C's form.
pub(crate) fn answer(function: &str, run: impl FnOnce(&'static State) -> Answer) -> hsa_status_t {
    let Some(state) = STATE.get() else {
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    };
    let answer = faults::of_call(function).map_or_else(|| run(state), Err);
    answer.err().unwrap_or(HSA_STATUS_SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_init() -> hsa_status_t {
    if let Err(reason) = faults::check() {
        panic!("{reason}");
    }
    if let Some(status) = faults::of_call("hsa_init") {
        return status;
    }
    if STATE.get().is_none() {
        match State::new() {
            Ok(state) => {
                if STATE.set(state).is_ok() {
                    crate::signal::start_handlers();
                }
            }
            Err(status) => return status,
        }
    }
    HSA_STATUS_SUCCESS
}

/// Not a function of ROCr's: the number of unfreed resources.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn revoff_hsa_stand_in_held() -> u64 {
    STATE.get().map_or(0, State::held)
}

/// Not a function of ROCr's: the maximum of the host's memory that was allocated at a time, in
/// bytes.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_most_pinned() -> u64 {
    // Relaxed: read at the end.
    let most = |state: &State| state.most_pinned.load(Ordering::Relaxed);
    STATE.get().map_or(0, most)
}
