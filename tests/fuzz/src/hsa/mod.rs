//! The emulated ROCr: each call of a sequence returns a status, all that it has made can be freed, and others do not
//! notice.
//!
//! | file | job |
//! |---|---|
//! | `packets` | packets in a queue |
//! | `sequence` | a sequence of calls, and what it has made |
//! | `perform` | the calls, but for those in files of their own |
//! | `signals`, `memory`, `code` | calls for signals; for memory and copies; for executables and queues |
//! | `world` | GPUs, and somebody else |
//! | `kernels`, `runtime` | kernels, and the runtime's functions |

mod code;
mod kernels;
mod memory;
mod packets;
mod perform;
mod runtime;
mod sequence;
mod signals;
mod world;

pub(super) use self::packets::PACKETS;
use self::perform::Call;
use self::sequence::Sequence;
use self::world::world;
use crate::input::{Counter, calls, seed};
use crate::panics;
use crate::target::Target;

/// A sequence of calls: see [`Call`].
pub(super) const CALLS: Target = Target {
    name: "hsa-calls",
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

/// Makes a sequence of calls. Returns how many there were, and how many of them were successful.
fn run(bytes: &[u8]) -> (usize, usize) {
    let world = world();
    let before = (hsa_emu::counts().held, world.free_memory());
    let mut sequence = Sequence::new(&world);
    let (mut made, mut succeeded) = (0, 0);
    for (number, mut operands) in calls(bytes, MAX_CALLS) {
        let call = Call::ALL[usize::from(number) % Call::ALL.len()];
        let status = sequence.perform(call, &mut operands);
        panics::check();
        made += 1;
        succeeded += usize::from(COUNTER.count(status == 0));
    }
    sequence.free_all();
    panics::check();
    assert_eq!(
        (hsa_emu::counts().held, world.free_memory()),
        before,
        "what is held"
    );
    world.check_others();
    (made, succeeded)
}

/// Sequences in which each call succeeds.
fn seeds() -> Vec<Vec<u8>> {
    use Call::*;
    vec![
        // Signals, groups and handlers.
        seed(&[
            (CreateSignal, &[0]),
            (CreateSignal, &[1]),
            (Store, &[0, 0, 0]),
            (Load, &[0]),
            (Add, &[1, 1, 1]),
            (Wait, &[0, 0, 1]),
            (WaitAny, &[0, 1, 0]),
            (CreateGroup, &[0, 1]),
            (WaitGroup, &[0, 0]),
            (Handle, &[0, 0, 0]),
            (Handle, &[1, 1, 1]),
            (RunLater, &[]),
            (Expose, &[0]),
            (DestroyGroup, &[0]),
            (DestroySignal, &[1]),
        ]),
        // Memory and copies.
        seed(&[
            (Alloc, &[0, 4]),
            (Alloc, &[1, 4]),
            (Alloc, &[2, 4]),
            (Allow, &[0, 0]),
            (Lock, &[4, 0, 0]),
            (CreateSignal, &[1]),
            (CreateSignal, &[1]),
            (Copy, &[0, 0, 31, 1]),
            (Fill, &[2, 0, 31]),
            (CopyAsync, &[2, 0, 31, 0, 1, 0, 0]),
            (CopyAsync, &[0, 0, 31, 2, 2, 0, 1]),
            (CopyRows, &[2, 0, 3, 3, 1, 0, 0]),
            (Describe, &[0, 0]),
            (SetUserData, &[0]),
            (OnFree, &[0]),
            (Free, &[0]),
            (Unlock, &[0]),
        ]),
        // A copy that waits for a signal that is destroyed: it fails, and the next one does not.
        seed(&[
            (Alloc, &[0, 4]),
            (Alloc, &[2, 4]),
            (Allow, &[0, 0]),
            (CreateSignal, &[1]),
            (CreateSignal, &[1]),
            (CopyAsync, &[1, 0, 31, 0, 0, 1, 1]),
            (DestroySignal, &[1]),
            (CopyAsync, &[1, 0, 31, 0, 0, 0, 0]),
        ]),
        // Code and queues.
        seed(&[
            (CreateReader, &[0]),
            (CreateExecutable, &[0]),
            (Define, &[0]),
            (LoadCode, &[0, 0]),
            (Freeze, &[0]),
            (GetSymbol, &[0, 0]),
            (DescribeSymbol, &[0, 0]),
            (Iterate, &[0]),
            (CreateQueue, &[0, 0]),
            (CreateSignal, &[1]),
            (Alloc, &[1, 4]),
            (Alloc, &[2, 4]),
            (Allow, &[0, 0]),
            (Argue, &[0, 1]),
            (Dispatch, &[0, 0, 0, 0]),
            (Dispatch, &[0, 1, 0, 0]),
            (UseQueue, &[0, 0]),
            (UseQueue, &[0, 1]),
            (DestroyQueue, &[0]),
            (DestroyReader, &[0]),
            (DestroyExecutable, &[0]),
        ]),
        // The processor's queue, and questions.
        seed(&[
            (CreateSignal, &[1]),
            (CreateSoftQueue, &[0, 0, 0]),
            (Query, &[0]),
            (Query, &[1]),
            (Query, &[2]),
            (CreateQueue, &[1, 1]),
            (UseQueue, &[1, 2]),
            (DestroyQueue, &[0]),
        ]),
    ]
}
