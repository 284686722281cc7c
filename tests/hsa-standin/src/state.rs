//! The state of the process: agents, and what was made and not given back.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use host_rt::device::{self, Device};
use host_rt::env::Env;
use hsa_runtime_sys::*;
use standin::process::{lock, setting};

use crate::code::Executable;
use crate::content::KernelObject;
use crate::copy::Engine;
use crate::event::Events;
use crate::faults;
use crate::memory::{Block, Freed};
use crate::queue::Queue;
use crate::signal::{Cell, Handlers};
use crate::zombies::Zombies;

/// The runtime, once there was `hsa_init`.
pub(crate) struct State {
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) signals: Mutex<HashMap<u64, Arc<Cell>>>,
    pub(crate) memory: Mutex<BTreeMap<u64, Block>>,
    /// Most bytes of the host's memory that were allocated at a time.
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
    /// What takes its place.
    pub(crate) device: Arc<dyn Device>,
    /// What copies by itself, and what does so by kernels.
    pub(crate) engine: Engine,
    pub(crate) kernels: Engine,
}

static STATE: OnceLock<State> = OnceLock::new();

/// The state, for functions that cannot answer that there is none.
pub(crate) fn state() -> &'static State {
    STATE.get().expect("a function of ROCr before `hsa_init`")
}

impl State {
    fn new() -> Result<Self, hsa_status_t> {
        let env = Env::read().map_err(|_| HSA_STATUS_ERROR)?;
        let gpus = (0..setting("REVOFF_HSA_STAND_IN_DEVICES", 2)).map(|_| {
            let device = device::open("host", &env);
            let device = device.map_err(|_| HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
            let engine = || Engine::start(&device).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
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

    /// How much was made and not given back.
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

/// What a function answers that is to answer something else than "success".
pub(crate) type Answer<T = ()> = Result<T, hsa_status_t>;

/// What a function answers, as C has it.
pub(crate) fn answer(function: &str, run: impl FnOnce(&'static State) -> Answer) -> hsa_status_t {
    let Some(state) = STATE.get() else {
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    };
    let answer = faults::of_call(function).map_or_else(|| run(state), Err);
    answer.err().unwrap_or(HSA_STATUS_SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_init() -> hsa_status_t {
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

/// No function of ROCr's: how much was made and not given back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn revoff_hsa_stand_in_held() -> u64 {
    STATE.get().map_or(0, State::held)
}

/// No function of ROCr's: most bytes of the host's memory that were allocated at a time.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_most_pinned() -> u64 {
    // Relaxed: asked when all is over.
    let most = |state: &State| state.most_pinned.load(Ordering::Relaxed);
    STATE.get().map_or(0, most)
}
