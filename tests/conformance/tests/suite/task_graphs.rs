//! Random graphs of tasks on two kinds of device at once, compared with running them one by one.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use conformance::Target;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::task::{self, Access, Options, Resolve};
use revoff_host::{DeviceBuffer, Error, RuntimeError};

use crate::random::Random;
use crate::session::read;
use crate::tasks::{GRID, Kernels, WORDS, block, mixed};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(random_graphs_do_what_they_do_one_by_one),
    test!(random_graphs_that_the_host_resolves),
    test!(the_host_waits_between_kinds_alone),
];

/// The number of graphs, and of tasks in each.
const GRAPHS: u64 = 5;
const TASKS: u64 = 200;

/// A task. Places `0..BLOCKS` are on one device, the next `BLOCKS` on the other.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A kernel, of two places on one device.
    Mix { to: usize, from: usize, add: u64 },
    /// A kernel in any order with others of its kind.
    Add { to: usize, add: u64 },
    /// A host task, of any two places.
    Carry { to: usize, from: usize, add: u64 },
    /// A host task that may run at the same time as others of its kind.
    Count { at: usize, add: u64 },
    /// A host task that copies a count to a place.
    Collect { at: usize, to: usize },
    /// A copy to a place, of one of the constant blocks.
    Write { to: usize, what: usize },
}

const BLOCKS: usize = 5;
const COUNTERS: usize = 3;
const CONSTANTS: usize = 4;

fn steps(seed: u64, tasks: u64) -> Vec<Step> {
    let mut random = Random(seed);
    let mut below = |end: usize| random.below(end as u64) as usize;
    let step = |_| {
        let device = below(2) * BLOCKS;
        let to = device + below(BLOCKS);
        let mut from = device + below(BLOCKS - 1);
        from += usize::from(from >= to);
        let add = below(1000) as u64;
        let at = below(COUNTERS);
        match below(12) {
            0..6 => Step::Mix { to, from, add },
            6..8 => Step::Add { to, add },
            8 => Step::Carry {
                to,
                from: (from + BLOCKS) % (2 * BLOCKS),
                add,
            },
            9 => Step::Count { at, add },
            10 => Step::Collect { at, to },
            _ => Step::Write {
                to,
                what: below(CONSTANTS),
            },
        }
    };
    (0..tasks).map(step).collect()
}

fn constant(what: usize) -> Vec<u64> {
    block(1000 * what as u64)
}

/// The blocks after all steps, one by one.
fn one_by_one(steps: &[Step]) -> Vec<Vec<u64>> {
    let mut blocks: Vec<_> = (0..2 * BLOCKS as u64).map(block).collect();
    let mut counters = [0u64; COUNTERS];
    for &step in steps {
        match step {
            Step::Mix { to, from, add } | Step::Carry { to, from, add } => {
                let from = blocks[from].clone();
                mixed(&mut blocks[to], &from, add);
            }
            Step::Add { to, add } => {
                for word in &mut blocks[to] {
                    *word = word.wrapping_add(add);
                }
            }
            Step::Count { at, add } => counters[at] += add,
            Step::Collect { at, to } => mixed(&mut blocks[to], &[counters[at]; WORDS], 0),
            Step::Write { to, what } => blocks[to] = constant(what),
        }
    }
    blocks
}

fn carry(to: &DeviceBuffer, from: &[u64], add: u64) -> Result<(), RuntimeError> {
    let mut words = read::<u64>(to);
    mixed(&mut words, from, add);
    to.write(0, &words)
}

fn as_tasks(
    steps: &[Step],
    devices: [&Kernels; 2],
    resolve: Resolve,
) -> Result<Vec<Vec<u64>>, Error> {
    let blocks: Vec<_> = (0..2 * BLOCKS)
        .map(|n| devices[n / BLOCKS].block(n as u64))
        .collect();
    let counters = [const { AtomicU64::new(0) }; COUNTERS];
    let constants: Vec<_> = (0..CONSTANTS).map(constant).collect();
    Options::default().resolve(resolve).scope(|tasks| {
        for (number, &step) in steps.iter().enumerate() {
            let (blocks, counters) = (&blocks, &counters);
            // Sometimes by another name.
            let writes = if number % 2 == 0 {
                Access::InOut
            } else {
                Access::Out
            };
            let handle = match step {
                Step::Mix { to, from, add } => {
                    let kernel = &devices[to / BLOCKS].mix;
                    let args = (&blocks[to], &blocks[from], WORDS as u64, add);
                    // SAFETY: the kernel takes these, and the task declares its accesses.
                    unsafe { tasks.target(kernel, GRID, args) }
                        .reads(&blocks[from])
                        .depends(writes, &blocks[to])
                        .spawn()?
                }
                Step::Add { to, add } => {
                    let kernel = &devices[to / BLOCKS].add_slowly;
                    let args = (&blocks[to], WORDS as u64, add);
                    // SAFETY: the kernel takes these, and the task declares its accesses.
                    unsafe { tasks.target(kernel, GRID, args) }
                        .updates_exclusively(&blocks[to])
                        .spawn()?
                }
                Step::Carry { to, from, add } => tasks
                    .try_host(move || carry(&blocks[to], &read::<u64>(&blocks[from]), add))
                    .reads(&blocks[from])
                    .depends(writes, &blocks[to])
                    .spawn()?,
                Step::Count { at, add } => {
                    let count = move || {
                        counters[at].fetch_add(add, Ordering::SeqCst);
                    };
                    tasks.host(count).updates_together(&counters[at]).spawn()?
                }
                Step::Collect { at, to } => tasks
                    .try_host(move || {
                        let count = counters[at].load(Ordering::SeqCst);
                        carry(&blocks[to], &[count; WORDS], 0)
                    })
                    .reads(&counters[at])
                    .depends(writes, &blocks[to])
                    .spawn()?,
                Step::Write { to, what } => tasks
                    .write(&blocks[to], 0, &constants[what])
                    .writes(&blocks[to])
                    .spawn()?,
            };
            if number % 97 == 96 {
                handle.wait()?;
            }
        }
        Ok(())
    })?;
    Ok(blocks.iter().map(read::<u64>).collect())
}

const HOST: Target = Target {
    device: "host",
    wire: WireKind::NATIVE,
};

fn compare(target: &Target, resolve: Resolve) {
    let devices = [&Kernels::new(target), &Kernels::new(&HOST)];
    for seed in 0..GRAPHS {
        let steps = steps(seed, TASKS);
        let found = as_tasks(&steps, devices, resolve).unwrap();
        assert_eq!(found, one_by_one(&steps), "seed {seed}");
    }
}

fn random_graphs_do_what_they_do_one_by_one(target: &Target) {
    compare(target, Resolve::OnDevice);
}

fn random_graphs_that_the_host_resolves(target: &Target) {
    compare(target, Resolve::OnHost);
}

/// A chain that changes the device sometimes.
fn the_host_waits_between_kinds_alone(target: &Target) {
    const CHANGES: u64 = 5;
    let devices = [&Kernels::new(target), &Kernels::new(&HOST)];
    let blocks = devices.map(|kernels| [kernels.block(1), kernels.block(2)]);
    let (gate, place) = (Barrier::new(2), 0u8);
    let host_waits = task::scope(|tasks| {
        // Nothing has ended when the last task is spawned.
        tasks.host(|| gate.wait()).writes(&place).spawn()?;
        for change in 0..=CHANGES {
            let at = (change % 2) as usize;
            let [to, from] = &blocks[at];
            for add in 0..7u64 {
                let args = (to, from, WORDS as u64, add);
                // SAFETY: the kernel takes these, and the task declares its accesses.
                unsafe { tasks.target(&devices[at].mix, GRID, args) }
                    .updates(&place)
                    .spawn()?;
            }
        }
        gate.wait();
        tasks.wait()?;
        Ok(tasks.stats().host_waits)
    });
    let expected = if target.is_host() { 0 } else { CHANGES };
    assert_eq!(host_waits.unwrap(), expected);
}
