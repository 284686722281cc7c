//! The GPUs of the runtime, and somebody who is not to notice what sequences do.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hsa_emu::{Arch, GpuOptions, Options};
use hsa_runtime_sys::*;

use super::kernels;
use super::runtime::{hsa, works};
use crate::panics;
use crate::target::LONG;

/// Blocks of a bystander's memory, the words of each, and bytes between them for blocks of others: what is written
/// beyond the end of one of these may be found.
const BLOCKS: usize = 8;
const WORDS: usize = 64;
const BETWEEN: usize = 4096;

/// Bytes of memory of a GPU.
const MEMORY: u64 = 16 << 20;

/// The GPUs.
pub(super) struct World {
    pub(super) cpu: hsa_agent_t,
    /// The GPU that sequences use, its executable, and the addresses of its kernels.
    pub(super) gpu: hsa_agent_t,
    pub(super) kernels: [u64; 4],
    /// Pools of the host: fine-grained, and for arguments; and of the GPU.
    pub(super) pools: [hsa_amd_memory_pool_t; 3],
    /// On that GPU. No call is given its addresses: only one that writes beyond its bounds finds its memory.
    neighbour: Bystander,
    /// On a GPU of its own.
    bystander: Bystander,
}

static WORLD: LazyLock<Mutex<World>> = LazyLock::new(|| Mutex::new(World::new()));

/// Locked while a sequence runs: what it has left is counted for the process.
pub(super) fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

type OnEvent = extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// Accepts faults of memory, which would otherwise end the process.
extern "C" fn accept(_: *const hsa_amd_event_t, faults: *mut c_void) -> hsa_status_t {
    // SAFETY: the static that was given with the function.
    let faults = unsafe { &*faults.cast::<AtomicU32>() };
    // Release: who finds the fault counted also finds what was done before.
    faults.fetch_add(1, Ordering::Release);
    HSA_STATUS_SUCCESS
}

/// Faults of memory so far.
static FAULTS: AtomicU32 = AtomicU32::new(0);

pub(super) fn memory_faults() -> u32 {
    FAULTS.load(Ordering::Acquire)
}

impl World {
    fn new() -> Self {
        panics::watch();
        let add = || {
            let options = GpuOptions {
                machine: Options {
                    arch: Arch::Gfx90a,
                    processors: 2,
                    // A kernel that loops ends soon.
                    patience: Duration::from_millis(10),
                    ..Options::default()
                },
                memory: MEMORY,
                is_strict: false,
                report: Arc::new(|_| ()),
            };
            let number = hsa_emu::add_gpu(options).expect("room for a GPU");
            hsa_agent_t {
                handle: hsa_emu::agent_of(number),
            }
        };
        let [gpu, other] = [add(), add()];
        works(hsa!(hsa_init()));
        works(hsa!(hsa_amd_register_system_event_handler(
            accept => OnEvent, (&raw const FAULTS).cast_mut().cast() => *mut c_void
        )));
        let cpu = agents()[0];
        let executable = Executable::load(gpu);
        let [fine, kernarg, _] = pools(cpu)[..] else {
            panic!("three pools of the processor")
        };
        Self {
            cpu,
            gpu,
            kernels: kernels::NAMES[..4]
                .iter()
                .map(|name| executable.object(name))
                .collect::<Vec<_>>()
                .try_into()
                .expect("four kernels"),
            pools: [fine, kernarg, pools(gpu)[0]],
            neighbour: Bystander::new(gpu),
            bystander: Bystander::new(other),
        }
    }

    /// An address of somebody else's memory.
    pub(super) fn foreign(&self) -> u64 {
        self.bystander.memory[0].expose_provenance() as u64
    }

    /// Panics if somebody has noticed what a sequence did.
    pub(super) fn check_others(&self) {
        self.neighbour.check();
        self.bystander.check();
    }

    /// The bytes of the GPU's memory that are not allocated.
    pub(super) fn free_memory(&self) -> u64 {
        const AVAILABLE: u32 = 0xa015;
        let mut free = 0u64;
        works(hsa!(hsa_agent_get_info(
            self.gpu => hsa_agent_t, AVAILABLE => u32, &raw mut free => *mut u64
        )));
        free
    }
}

/// Adds an item to a vector.
extern "C" fn collect<T: Copy>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller passes a vector of this type, which it does not use meanwhile.
    unsafe { (*list.cast::<Vec<T>>()).push(item) };
    HSA_STATUS_SUCCESS
}

type Collect<T> = extern "C" fn(T, *mut c_void) -> hsa_status_t;

fn agents() -> Vec<hsa_agent_t> {
    let mut agents: Vec<hsa_agent_t> = Vec::new();
    works(hsa!(hsa_iterate_agents(
        collect => Collect<hsa_agent_t>, (&raw mut agents).cast() => *mut c_void
    )));
    agents
}

fn pools(agent: hsa_agent_t) -> Vec<hsa_amd_memory_pool_t> {
    let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
    works(hsa!(hsa_amd_agent_iterate_memory_pools(
        agent => hsa_agent_t,
        collect => Collect<hsa_amd_memory_pool_t>,
        (&raw mut pools).cast() => *mut c_void,
    )));
    pools
}

pub(super) fn alloc(pool: hsa_amd_memory_pool_t, bytes: usize) -> *mut c_void {
    let mut memory = null_mut();
    works(hsa!(hsa_amd_memory_pool_allocate(
        pool => hsa_amd_memory_pool_t, bytes => usize, 0 => u32, &raw mut memory => *mut *mut c_void
    )));
    memory
}

pub(super) fn allow(agent: hsa_agent_t, memory: *mut c_void) {
    works(hsa!(hsa_amd_agents_allow_access(
        1 => u32, &raw const agent => *const hsa_agent_t, null() => *const u32, memory => *const c_void
    )));
}

pub(super) fn signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t { handle: 0 };
    works(hsa!(hsa_signal_create(
        value => i64, 0 => u32, null() => *const hsa_agent_t, &raw mut signal => *mut hsa_signal_t
    )));
    signal
}

/// Loaded kernels, for ever.
struct Executable {
    handle: hsa_executable_t,
    agent: hsa_agent_t,
}

impl Executable {
    fn load(agent: hsa_agent_t) -> Self {
        let mut handle = hsa_executable_t { handle: 0 };
        works(hsa!(hsa_executable_create_alt(
            HSA_PROFILE_FULL => u32, 0 => u32, null() => *const u8, &raw mut handle => *mut hsa_executable_t
        )));
        let code = &*kernels::CODE_OBJECT;
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        works(hsa!(hsa_code_object_reader_create_from_memory(
            code.as_ptr() => *const u8, code.len() => usize, &raw mut reader => *mut hsa_code_object_reader_t
        )));
        works(hsa!(hsa_executable_load_agent_code_object(
            handle => hsa_executable_t, agent => hsa_agent_t, reader => hsa_code_object_reader_t,
            null() => *const u8, null_mut() => *mut u64
        )));
        works(hsa!(hsa_executable_freeze(handle => hsa_executable_t, null() => *const u8)));
        works(hsa!(hsa_code_object_reader_destroy(reader => hsa_code_object_reader_t)));
        Self { handle, agent }
    }

    /// The address of a kernel's descriptor.
    fn object(&self, name: &std::ffi::CStr) -> u64 {
        let mut symbol = hsa_executable_symbol_t { handle: 0 };
        let mut object = 0u64;
        works(hsa!(hsa_executable_get_symbol_by_name(
            self.handle => hsa_executable_t, name.as_ptr() => *const i8,
            &raw const self.agent => *const hsa_agent_t, &raw mut symbol => *mut hsa_executable_symbol_t
        )));
        works(hsa!(hsa_executable_symbol_get_info(
            symbol => hsa_executable_symbol_t, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT => u32,
            (&raw mut object).cast() => *mut c_void
        )));
        object
    }
}

/// A packet's words.
pub(super) type Packet = [u32; 16];

/// The scopes of a header, and the barrier bit.
pub(super) const SCOPES: u32 = 2 << 9 | 2 << 11;
pub(super) const BARRIER: u32 = 1 << 8;

/// A packet of a kernel with workgroups of 32 work-items.
pub(super) fn dispatch(object: u64, arguments: u64, done: u64) -> Packet {
    let mut packet = [0; 16];
    packet[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH | SCOPES | 1 << 16;
    packet[1] = 32 | 1 << 16;
    packet[2] = 1;
    packet[3] = 32;
    (packet[4], packet[5]) = (1, 1);
    put(&mut packet, 8, object);
    put(&mut packet, 10, arguments);
    put(&mut packet, 14, done);
    packet
}

/// Writes a number of two words.
pub(super) fn put(packet: &mut Packet, at: usize, value: u64) {
    (packet[at], packet[at + 1]) = (value as u32, (value >> 32) as u32);
}

/// Writes a packet into a queue, its first word last.
pub(super) fn write(queue: *mut hsa_queue_t, index: u64, packet: &Packet) {
    // SAFETY: the queue is there; its size and its ring do not change.
    let (base, size) = unsafe { ((*queue).base_address, (*queue).size) };
    let place = base
        .cast::<Packet>()
        .wrapping_add((index % u64::from(size)) as usize);
    for at in (0..packet.len()).rev() {
        // SAFETY: inside the ring, and aligned; the queue accesses it atomically, too.
        let word = unsafe { AtomicU32::from_ptr(place.cast::<u32>().wrapping_add(at)) };
        // Release: a queue that sees the first word sees the others.
        word.store(packet[at], Ordering::Release);
    }
}

pub(super) fn doorbell(queue: *mut hsa_queue_t) -> hsa_signal_t {
    // SAFETY: the queue is there; its doorbell does not change.
    unsafe { (*queue).doorbell_signal }
}

/// Waits until `is_so`. Panics if that does not happen.
#[track_caller]
pub(super) fn comes(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "this does not come: {what}");
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// A queue that no sequence uses: whatever these do, it works, and its memory stays.
struct Bystander {
    memory: [*mut c_void; BLOCKS],
    result: *mut c_void,
    arguments: *mut c_void,
    done: hsa_signal_t,
    queue: *mut hsa_queue_t,
    store: u64,
}

// SAFETY: its memory is accessed by calls alone, or as kernels do.
unsafe impl Send for Bystander {}

impl Bystander {
    fn new(agent: hsa_agent_t) -> Self {
        let own = pools(agent)[0];
        let kernarg = pools(agents()[0])[1];
        let (memory, result) = (memory(own), alloc(own, 4 * WORDS));
        let arguments = alloc(kernarg, 16);
        allow(agent, arguments);
        let argument = result.expose_provenance() as u64;
        copy(arguments, (&raw const argument).cast(), 8);
        let mut queue = null_mut();
        works(hsa!(hsa_queue_create(
            agent => hsa_agent_t, 64 => u32, HSA_QUEUE_TYPE_MULTI => u32, null() => *const c_void,
            null_mut() => *mut c_void, 0 => u32, 0 => u32, &raw mut queue => *mut *mut hsa_queue_t
        )));
        Self {
            memory,
            result,
            arguments,
            done: signal(0),
            queue,
            store: Executable::load(agent).object(kernels::NAMES[0]),
        }
    }

    /// Panics if its memory has changed, or its queue does not work.
    fn check(&self) {
        let mut found = [0u32; WORDS];
        for block in self.memory {
            copy(found.as_mut_ptr().cast(), block, 4 * WORDS);
            assert_eq!(found, words(), "the memory of a bystander");
        }
        works(hsa!(hsa_amd_memory_fill(self.result => *mut c_void, 77 => u32, WORDS => usize)));
        hsa!(hsa_signal_store_screlease(self.done => hsa_signal_t, 1 => i64) -> ());
        let index = hsa!(hsa_queue_add_write_index_relaxed(self.queue => *const hsa_queue_t, 1 => u64) -> u64);
        let arguments = self.arguments.expose_provenance() as u64;
        write(
            self.queue,
            index,
            &dispatch(self.store, arguments, self.done.handle),
        );
        let bell = doorbell(self.queue);
        hsa!(hsa_signal_store_screlease(bell => hsa_signal_t, index.cast_signed() => i64) -> ());
        let left = hsa!(hsa_signal_wait_scacquire(
            self.done => hsa_signal_t, HSA_SIGNAL_CONDITION_EQ => u32, 0 => i64,
            LONG.as_nanos() as u64 => u64, HSA_WAIT_STATE_BLOCKED => u32
        ) -> i64);
        assert_eq!(left, 0, "a bystander's kernel");
        copy(found.as_mut_ptr().cast(), self.result, 4 * WORDS);
        let expected = std::array::from_fn(|at| if at < 32 { at as u32 } else { 77 });
        assert_eq!(found, expected, "the result of a bystander's kernel");
    }
}

/// Allocates the blocks, with room between them.
fn memory(pool: hsa_amd_memory_pool_t) -> [*mut c_void; BLOCKS] {
    let words = words();
    let blocks = [(); BLOCKS].map(|()| (alloc(pool, 4 * WORDS), alloc(pool, BETWEEN)));
    for (block, between) in blocks {
        copy(block, words.as_ptr().cast(), 4 * WORDS);
        works(hsa!(hsa_amd_memory_pool_free(between => *mut c_void)));
    }
    // Freed memory is not used again before there is no other.
    let mut none: *mut c_void = null_mut();
    let status = hsa!(hsa_amd_memory_pool_allocate(
        pool => hsa_amd_memory_pool_t, MEMORY => u64, 0 => u32, &raw mut none => *mut *mut c_void
    ));
    assert_ne!(status, HSA_STATUS_SUCCESS);
    blocks.map(|(block, _)| block)
}

fn words() -> [u32; WORDS] {
    std::array::from_fn(|at| 0x0b57_0000 + at as u32)
}

/// Copies memory of any kind.
fn copy(to: *mut c_void, from: *const c_void, bytes: usize) {
    works(hsa!(hsa_memory_copy(to => *mut c_void, from => *const c_void, bytes => usize)));
}
