//! The emulated CUDA driver: each call of a sequence returns a code, all that it has made can be freed, and others do
//! not notice.
//!
//! | file | job |
//! |---|---|
//! | `sequence` | a sequence of calls, and what it has made |
//! | `perform` | the calls, but for those in files of their own |
//! | `memory`, `streams`, `code` | calls for memory; for streams and events; for modules and kernels |
//! | `cleanup` | freeing everything |
//! | `bystander` | somebody else |
//! | `kernels`, `driver` | kernels, and the driver's functions |

mod bystander;
mod cleanup;
mod code;
mod driver;
mod kernels;
mod memory;
mod perform;
mod sequence;
mod streams;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuda_emu::{GpuOptions, Options};

use self::bystander::Bystander;
use self::driver::{cu, works};
use self::perform::Call;
use self::sequence::Sequence;
use crate::input::{Counter, calls, seed};
use crate::panics;
use crate::target::{LONG, Target};

/// A sequence of calls: see [`Call`].
pub(super) const CALLS: Target = Target {
    name: "cuda-calls",
    run: |bytes| {
        run(bytes);
    },
    seeds,
    is_valid: |bytes| {
        let (made, succeeded) = run(bytes);
        made > 0 && made == succeeded
    },
    cost: 20,
    tally: Some(|| COUNTER.tally()),
};

/// Calls, and those that were successful.
static COUNTER: Counter = Counter::new();

/// The most calls of a sequence.
const MAX_CALLS: usize = 64;

/// Bytes of memory of a GPU.
const MEMORY: u64 = 16 << 20;

/// The GPUs.
struct Gpus {
    /// Those that sequences use; the second one is strict.
    own: [i32; 2],
    /// The free memory of each, if nobody uses it.
    free: [usize; 2],
    /// The default memory pool of each.
    pools: [u64; 2],
    /// One on each of them, whose addresses no call is given: only one that writes beyond its bounds finds its memory.
    neighbours: [Bystander; 2],
    /// One on a GPU of its own.
    bystander: Bystander,
}

/// Locked while a sequence runs: what it has left is counted for the process.
static GPUS: LazyLock<Mutex<Gpus>> = LazyLock::new(|| {
    panics::watch();
    let add = |is_strict| {
        let options = GpuOptions {
            machine: Options {
                memory: MEMORY,
                processors: 2,
                // A kernel that spins ends soon.
                patience: Duration::from_millis(10),
                ..Options::default()
            },
            is_strict,
            report: Arc::new(|_| ()),
        };
        cuda_emu::add_gpu(options).expect("memory")
    };
    let own = [add(false), add(true)];
    let other = add(false);
    works(cu!(cuInit(0 => u32)));
    let pools = own.map(|gpu| {
        let mut pool = 0;
        works(cu!(cuDeviceGetDefaultMemPool(&raw mut pool => *mut u64, gpu => i32)));
        pool
    });
    let neighbours = own.map(Bystander::new);
    Mutex::new(Gpus {
        own,
        free: own.map(cleanup::free_memory),
        pools,
        neighbours,
        bystander: Bystander::new(other),
    })
});

/// Makes a sequence of calls. Returns how many there were, and how many of them were successful.
fn run(bytes: &[u8]) -> (usize, usize) {
    let gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = cuda_emu::counts();
    let mut sequence = Sequence::new(&gpus);
    let (mut made, mut succeeded) = (0, 0);
    for (number, mut operands) in calls(bytes, MAX_CALLS) {
        let call = Call::ALL[usize::from(number) % Call::ALL.len()];
        let code = sequence.perform(call, &mut operands);
        panics::check();
        made += 1;
        succeeded += usize::from(COUNTER.count(code == 0));
    }
    sequence.free_all();
    panics::check();
    let after = cuda_emu::counts();
    assert_eq!(after.contexts, before.contexts, "contexts");
    // A multiprocessor may keep a module for a moment after its kernel has ended.
    let until = Instant::now() + LONG;
    while gpus.own.map(cleanup::free_memory) != gpus.free {
        assert!(Instant::now() < until, "memory of a GPU has leaked");
        std::thread::sleep(Duration::from_micros(100));
    }
    gpus.neighbours.iter().for_each(Bystander::check);
    gpus.bystander.check();
    (made, succeeded)
}

/// Sequences in which each call succeeds.
fn seeds() -> Vec<Vec<u8>> {
    use Call::*;
    vec![
        // Memory, copies and fills.
        seed(&[
            (Alloc, &[4]),
            (Alloc, &[4]),
            (AllocHost, &[3, 1]),
            (AllocManaged, &[3, 0]),
            (AllocPitch, &[1, 1]),
            (Fill, &[0, 0, 0, 31, 1]),
            (CopyFrom, &[0, 0, 31]),
            (CopyTo, &[1, 0, 31]),
            (CopyWithin, &[0, 0, 31, 1]),
            (CopyAny, &[0, 0, 31, 2]),
            (FillRows, &[0, 0, 3, 3, 8]),
            (CopyRows, &[0, 1, 3, 3, 8, 0]),
            (Describe, &[0, 0]),
            (Describe, &[2, 0, 1]),
            (FreeHost, &[0]),
            (Free, &[1]),
            (Free, &[0]),
        ]),
        // Work in streams, with callbacks, events, and memory in their order.
        seed(&[
            (CreateStream, &[0]),
            (CreateStream, &[1]),
            (CreateEvent, &[0]),
            (CreateEvent, &[2]),
            (AllocAsync, &[3, 0]),
            (AllocAsync, &[3, 1]),
            (QueueFunction, &[0, 0]),
            (QueueFunction, &[1, 1]),
            (WaitValue, &[1, 0, 0, 0]),
            (WaitValue, &[0, 3, 1, 0]),
            (RecordEvent, &[0, 0]),
            // One stream writes what another one has allocated and frees: events order this.
            (WaitEvent, &[1, 0]),
            (WriteValue, &[1, 0, 0, 0]),
            (RecordEvent, &[1, 1]),
            (WaitEvent, &[0, 1]),
            (SynchronizeEvent, &[0]),
            (FreeAsync, &[0, 0]),
            (Synchronize, &[0]),
            (DestroyStream, &[1]),
            (DestroyEvent, &[0]),
            (SynchronizeContext, &[]),
        ]),
        // Modules and kernels, which run while their stream is destroyed.
        seed(&[
            (LoadModule, &[0]),
            (GetFunction, &[0, 0]),
            (GetFunction, &[0, 3]),
            (GetFunction, &[0, 4]),
            (GetGlobal, &[0, 0]),
            (Alloc, &[4]),
            (CreateStream, &[1]),
            (DescribeFunction, &[0, 0]),
            (Launch, &[0, 0, 0, 0, 0, 0]),
            (Launch, &[1, 0, 0, 0, 0, 0]),
            (Launch, &[2, 3, 0, 0, 0, 0]),
            (LaunchEx, &[2, 1, 0, 0, 0, 0]),
            (Launch, &[1, 1, 0, 0, 0, 0]),
            (DestroyStream, &[0]),
            (LoadLibrary, &[0]),
            (GetKernel, &[0, 1]),
            (Occupancy, &[1, 4, 0]),
            (UnloadLibrary, &[0]),
            (SynchronizeContext, &[]),
            (UnloadModule, &[0]),
        ]),
        // Contexts, also of the strict GPU.
        seed(&[
            (Alloc, &[4]),
            (CreateContext, &[1, 0]),
            (Alloc, &[4]),
            (RetainPrimary, &[1]),
            (SetContext, &[2]),
            (CreateStream, &[1]),
            (PushContext, &[1]),
            (CopyPeer, &[0, 0, 7]),
            (PopContext, &[]),
            (PopContext, &[]),
            (SetContext, &[0]),
            (SetLimit, &[0, 4]),
            (ReleasePrimary, &[1]),
            (DestroyContext, &[1]),
            (SynchronizeContext, &[]),
        ]),
        // The linker, pools, and memory of the host that is mapped.
        seed(&[
            (CreateLinker, &[]),
            (AddToLinker, &[0, 0]),
            (CompleteLinker, &[0]),
            (DestroyLinker, &[0]),
            (CreatePool, &[]),
            (UsePool, &[0, 0]),
            (DestroyPool, &[0]),
            (Register, &[3, 0, 0]),
            (Describe, &[0, 0, 1]),
            (Unregister, &[0]),
            (Query, &[0]),
            (Query, &[2]),
        ]),
    ]
}
