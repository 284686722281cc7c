//! A GPU, through the runtime's functions.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use hsa_emu::{Arch, GpuOptions, Options};
use hsa_runtime_sys::*;

/// Calls a function of the runtime, by its name, with arguments of these types.
macro_rules! hsa {
    ($name:ident($($argument:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let function: extern "C" fn($($type),*) -> $result = crate::gpu::function(stringify!($name));
        function($($argument),*)
    }};
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {
        hsa!($name($($argument => $type),*) -> hsa_status_t)
    };
}
pub(crate) use hsa;

/// The runtime's function with a name.
pub(crate) fn function<F: Copy>(name: &str) -> F {
    let function = hsa_emu::functions::function(name).expect(name);
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: `F` is the function's type, as the test writes it.
    unsafe { std::mem::transmute_copy(&function) }
}

#[track_caller]
pub(crate) fn works(status: hsa_status_t) {
    is(status, HSA_STATUS_SUCCESS);
}

#[track_caller]
pub(crate) fn is(status: hsa_status_t, expected: hsa_status_t) {
    assert_eq!(status, expected, "statuses, in decimal");
}

/// An emulated GPU of the test's own.
pub(crate) struct Gpu {
    pub(crate) number: u32,
    pub(crate) agent: hsa_agent_t,
    /// The runtime's messages.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        hsa_emu::remove_gpu(self.number);
    }
}

impl Gpu {
    pub(crate) fn new() -> Self {
        Self::with(Arch::Gfx90a, true)
    }

    #[expect(clippy::print_stderr, reason = "a process that ends says why")]
    pub(crate) fn with(arch: Arch, is_strict: bool) -> Self {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&said);
        let number = hsa_emu::add_gpu(GpuOptions {
            machine: Options {
                arch,
                processors: 2,
                ..Options::default()
            },
            memory: 64 << 20,
            is_strict,
            report: Arc::new(move |line| {
                eprintln!("{line}");
                heard.lock().unwrap().push(line.to_owned());
            }),
        });
        works(hsa!(hsa_init()));
        let number = number.expect("room for a GPU");
        let agent = hsa_agent_t {
            handle: hsa_emu::agent_of(number),
        };
        Self {
            number,
            agent,
            said,
        }
    }

    /// Whether the runtime has said something with this text.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        let said = self.said.lock().unwrap();
        said.iter().any(|line| line.contains(text))
    }

    /// Memory of its own.
    pub(crate) fn alloc(&self, bytes: usize) -> *mut c_void {
        alloc(pool_of(self.agent, COARSE), bytes)
    }

    /// Memory of the host's that it may use.
    pub(crate) fn alloc_shared(&self, bytes: usize) -> *mut c_void {
        let memory = alloc(pool_of(cpu(), FINE), bytes);
        works(hsa!(hsa_amd_agents_allow_access(
            1 => u32,
            &raw const self.agent => *const hsa_agent_t,
            null() => *const u32,
            memory => *const c_void,
        )));
        memory
    }

    /// Copies to its memory.
    pub(crate) fn write<T: Copy>(&self, to: *mut c_void, value: T) {
        let from = (&raw const value).cast::<c_void>();
        works(hsa!(hsa_memory_copy(
            to => *mut c_void, from => *const c_void, size_of::<T>() => usize
        )));
    }
}

/// Copies a word from memory that the runtime knows.
pub(crate) fn read(from: *const c_void) -> u64 {
    let mut word = 0u64;
    works(hsa!(hsa_memory_copy(
        (&raw mut word).cast() => *mut c_void, from => *const c_void, 8usize => usize
    )));
    word
}

/// Flags of pools.
pub(crate) const KERNARG: u32 = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
pub(crate) const FINE: u32 = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
pub(crate) const COARSE: u32 = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;

/// Adds an item to a vector.
pub(crate) unsafe extern "C" fn collect<T: Copy>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller passes a vector of this type, which it does not use meanwhile.
    unsafe { (*list.cast::<Vec<T>>()).push(item) };
    HSA_STATUS_SUCCESS
}

pub(crate) type Collect<T> = unsafe extern "C" fn(T, *mut c_void) -> hsa_status_t;

/// The agents.
pub(crate) fn agents() -> Vec<hsa_agent_t> {
    let mut agents: Vec<hsa_agent_t> = Vec::new();
    works(hsa!(hsa_iterate_agents(
        collect => Collect<hsa_agent_t>, (&raw mut agents).cast() => *mut c_void
    )));
    agents
}

/// The processor.
pub(crate) fn cpu() -> hsa_agent_t {
    agents()[0]
}

/// The pools of an agent.
pub(crate) fn pools(agent: hsa_agent_t) -> Vec<hsa_amd_memory_pool_t> {
    let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
    works(hsa!(hsa_amd_agent_iterate_memory_pools(
        agent => hsa_agent_t,
        collect => Collect<hsa_amd_memory_pool_t>,
        (&raw mut pools).cast() => *mut c_void,
    )));
    pools
}

/// The pool of an agent with a flag.
pub(crate) fn pool_of(agent: hsa_agent_t, flag: u32) -> hsa_amd_memory_pool_t {
    let has_flag = |&pool: &hsa_amd_memory_pool_t| {
        let mut flags = 0u32;
        let status = hsa!(hsa_amd_memory_pool_get_info(
            pool => hsa_amd_memory_pool_t,
            HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => u32,
            (&raw mut flags).cast() => *mut c_void,
        ));
        status == HSA_STATUS_SUCCESS && flags & flag != 0
    };
    pools(agent).into_iter().find(has_flag).expect("a pool")
}

/// Memory of a pool.
pub(crate) fn alloc(pool: hsa_amd_memory_pool_t, bytes: usize) -> *mut c_void {
    let mut memory = null_mut();
    works(hsa!(hsa_amd_memory_pool_allocate(
        pool => hsa_amd_memory_pool_t,
        bytes => usize,
        0 => u32,
        &raw mut memory => *mut *mut c_void,
    )));
    memory
}

pub(crate) fn free(memory: *mut c_void) -> hsa_status_t {
    hsa!(hsa_amd_memory_pool_free(memory => *mut c_void))
}

/// A signal.
pub(crate) fn signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t { handle: 0 };
    works(hsa!(hsa_signal_create(
        value => i64, 0 => u32, null() => *const hsa_agent_t, &raw mut signal => *mut hsa_signal_t
    )));
    signal
}

pub(crate) fn destroy(signal: hsa_signal_t) -> hsa_status_t {
    hsa!(hsa_signal_destroy(signal => hsa_signal_t))
}

pub(crate) fn load(signal: hsa_signal_t) -> i64 {
    hsa!(hsa_signal_load_scacquire(signal => hsa_signal_t) -> i64)
}

pub(crate) fn store(signal: hsa_signal_t, value: i64) {
    hsa!(hsa_signal_store_screlease(signal => hsa_signal_t, value => i64) -> ());
}

/// Waits until a signal has a value, at most for some time; returns its value.
pub(crate) fn wait_for(signal: hsa_signal_t, value: i64, milliseconds: u64) -> i64 {
    hsa!(hsa_signal_wait_scacquire(
        signal => hsa_signal_t,
        HSA_SIGNAL_CONDITION_EQ => u32,
        value => i64,
        milliseconds * 1_000_000 => u64,
        HSA_WAIT_STATE_BLOCKED => u32,
    ) -> i64)
}

/// Waits until a signal is 0.
#[track_caller]
pub(crate) fn comes_to_zero(signal: hsa_signal_t) {
    assert_eq!(wait_for(signal, 0, 20_000), 0, "a signal's value");
}
