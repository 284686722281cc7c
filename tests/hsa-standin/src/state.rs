//! The state of the process: agents, and what was made and not given back.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use host_rt::device::{self, Device};
use host_rt::env::Env;
use hsa_runtime_sys::*;

use crate::code::Executable;
use crate::content::KernelObject;
use crate::copy::Engine;
use crate::event::Events;
use crate::lock;
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

/// A handle: nobody else's, ever, and no address.
pub(crate) fn handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x5afe_0000_0000_0001);
    // Relaxed: only a number that is nobody else's.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text:?}: a number expected")),
        Err(_) => default,
    }
}

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
    let answer = fault_of_call(function).map_or_else(|| run(state), Err);
    answer.err().unwrap_or(HSA_STATUS_SUCCESS)
}

/// Calls of a function so far, and what the n-th answers.
#[derive(Default)]
struct Calls {
    made: u64,
    fail: HashMap<u64, hsa_status_t>,
    /// What all others answer, if anything.
    fail_all: Option<hsa_status_t>,
}

static FAULTS: LazyLock<Mutex<HashMap<String, Calls>>> = LazyLock::new(|| {
    let wanted = std::env::var("REVOFF_HSA_STAND_IN_FAIL").unwrap_or_default();
    let mut faults: HashMap<String, Calls> = HashMap::new();
    for fault in wanted.split(',').filter(|fault| !fault.is_empty()) {
        let read = || {
            let (function, rest) = fault.split_once(':')?;
            let (call, status) = rest.split_once('=')?;
            let call: Option<u64> = match call {
                "*" => None,
                number => Some(number.parse().ok()?),
            };
            Some((function, call, status.parse().ok()?))
        };
        let Some((function, call, status)) = read() else {
            panic!("REVOFF_HSA_STAND_IN_FAIL: `{fault}` is not of the form FUNCTION:CALL=STATUS")
        };
        let calls = faults.entry(function.to_owned()).or_default();
        match call {
            Some(call) => drop(calls.fail.insert(call, status)),
            None => calls.fail_all = Some(status),
        }
    }
    Mutex::new(faults)
});

static INJECTED: AtomicU64 = AtomicU64::new(0);

/// Counts a call of `function`; says what it is to answer if that is an error.
fn fault_of_call(function: &str) -> Option<hsa_status_t> {
    let mut faults = lock(&FAULTS);
    let calls = faults.get_mut(function)?;
    calls.made += 1;
    let fault = calls.fail.get(&calls.made).copied().or(calls.fail_all);
    if fault.is_some() {
        // Relaxed: a count that is looked at when all is over.
        INJECTED.fetch_add(1, Ordering::Relaxed);
    }
    fault
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hsa_init() -> hsa_status_t {
    if let Some(status) = fault_of_call("hsa_init") {
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

#[unsafe(no_mangle)]
extern "C" fn hsa_shut_down() -> hsa_status_t {
    answer("hsa_shut_down", |_| Ok(()))
}

/// # Safety
/// `text` is good for a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_status_string(
    status: hsa_status_t,
    text: *mut *const c_char,
) -> hsa_status_t {
    const TEXTS: [(hsa_status_t, &CStr); 4] = [
        (HSA_STATUS_ERROR, c"HSA_STATUS_ERROR: A generic error has occurred."),
        (
            HSA_STATUS_ERROR_OUT_OF_RESOURCES,
            c"HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.",
        ),
        (
            HSA_STATUS_ERROR_EXCEPTION,
            c"HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.",
        ),
        (
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is invalid.",
        ),
    ];
    let known = TEXTS.iter().find(|(known, _)| *known == status);
    // SAFETY: the caller's promise.
    unsafe { text.write(known.map_or(std::ptr::null(), |(_, text)| text.as_ptr())) };
    match known {
        Some(_) => HSA_STATUS_SUCCESS,
        None => HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

/// Ticks of its clock in a second: it counts nanoseconds.
const FREQUENCY: u64 = 1_000_000_000;

/// # Safety
/// `value` is good for what is asked for.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_system_get_info(
    what: hsa_system_info_t,
    value: *mut std::ffi::c_void,
) -> hsa_status_t {
    answer("hsa_system_get_info", |_| match what {
        HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<u64>().write(FREQUENCY) };
            Ok(())
        }
        HSA_AMD_SYSTEM_INFO_BUILD_VERSION => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<*const c_char>().write(c"stand-in".as_ptr()) };
            Ok(())
        }
        HSA_SYSTEM_INFO_VERSION_MAJOR | HSA_SYSTEM_INFO_VERSION_MINOR => {
            // SAFETY: the caller's promise.
            unsafe { value.cast::<u16>().write(1) };
            Ok(())
        }
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    })
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

/// No function of ROCr's: calls that have failed because they were to.
#[unsafe(no_mangle)]
extern "C" fn revoff_hsa_stand_in_faults() -> u64 {
    // Relaxed: asked when all is over.
    INJECTED.load(Ordering::Relaxed)
}
