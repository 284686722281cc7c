//! The graphs that are measured.

use revoff_host::task::Tasks;
use revoff_host::{DeviceBuffer, Functions, Grid, Image, Kernel, Result, Runtime, RuntimeError};

/// Words of a block.
const WORDS: u64 = 64;

const GRID: Grid = Grid {
    teams: 1,
    threads: 1,
};

/// Rows of the stencil.
const ROWS: usize = 32;

/// Blocks on each device.
const BLOCKS: usize = 1000;

/// A device with the kernel, and blocks there.
pub(crate) struct Device {
    kernel: Kernel,
    pub(crate) blocks: Vec<DeviceBuffer>,
}

impl Device {
    pub(crate) fn open(name: &str, image: &Image) -> Result<Self> {
        let runtime = Runtime::open(name)?;
        let program = runtime.load(image, &Functions::new())?;
        let block = |_| runtime.alloc(8 * WORDS);
        Ok(Self {
            kernel: program.kernel("mix")?,
            blocks: (0..BLOCKS)
                .map(block)
                .collect::<Result<_, RuntimeError>>()?,
        })
    }
}

/// A graph: its name, its number of tasks, and the function that spawns them.
pub(crate) struct Graph {
    pub(crate) name: &'static str,
    pub(crate) tasks: usize,
    pub(crate) devices: usize,
    pub(crate) spawn:
        for<'scope, 'env> fn(&'scope Tasks<'scope, 'env>, &'scope [Device], usize) -> Result<()>,
}

pub(crate) const GRAPHS: &[Graph] = &[
    Graph {
        name: "chain",
        tasks: 1000,
        devices: 1,
        spawn: chain,
    },
    Graph {
        name: "fan out and in",
        tasks: 1000,
        devices: 1,
        spawn: fan,
    },
    Graph {
        name: "stencil",
        tasks: 1024,
        devices: 1,
        spawn: stencil,
    },
    Graph {
        name: "random",
        tasks: 10_000,
        devices: 2,
        spawn: random,
    },
];

/// Spawns the kernel: updates `to` from itself and two other blocks.
fn mix<'scope>(
    tasks: &'scope Tasks<'scope, '_>,
    device: &'scope Device,
    to: usize,
    [before, after]: [usize; 2],
) -> Result<()> {
    let [to, before, after] = [to, before, after].map(|at| &device.blocks[at]);
    let args = (to, before, after, WORDS);
    // SAFETY: the kernel takes these; the dependencies cover its accesses.
    let task = unsafe { tasks.target(&device.kernel, GRID, args) };
    task.reads(before).reads(after).updates(to).spawn()?;
    Ok(())
}

fn chain<'scope>(
    tasks: &'scope Tasks<'scope, '_>,
    devices: &'scope [Device],
    count: usize,
) -> Result<()> {
    (0..count).try_for_each(|n| mix(tasks, &devices[0], n % 2, [1 - n % 2; 2]))
}

/// One task, all others after it, and one after all of these.
fn fan<'scope>(
    tasks: &'scope Tasks<'scope, '_>,
    devices: &'scope [Device],
    count: usize,
) -> Result<()> {
    let device = &devices[0];
    mix(tasks, device, 0, [1, 1])?;
    (1..count - 1).try_for_each(|n| mix(tasks, device, n, [0, 0]))?;
    let args = (
        &device.blocks[0],
        &device.blocks[1],
        &device.blocks[2],
        WORDS,
    );
    // SAFETY: the kernel takes these; the dependencies below cover its accesses.
    let last = unsafe { tasks.target(&device.kernel, GRID, args) };
    let last = device.blocks[1..count - 1]
        .iter()
        .fold(last, |task, block| task.reads(block));
    last.updates(&device.blocks[0]).spawn()?;
    Ok(())
}

/// Rows of two states; each needs its neighbours in the other state.
fn stencil<'scope>(
    tasks: &'scope Tasks<'scope, '_>,
    devices: &'scope [Device],
    count: usize,
) -> Result<()> {
    for n in 0..count {
        let (step, row) = (n / ROWS, n % ROWS);
        let (from, to) = (step % 2 * ROWS, (step + 1) % 2 * ROWS);
        let beside = [(row + ROWS - 1) % ROWS, (row + 1) % ROWS];
        mix(tasks, &devices[0], to + row, beside.map(|row| from + row))?;
    }
    Ok(())
}

/// Kernels on two devices, and sometimes a host task that needs a block of each.
fn random<'scope>(
    tasks: &'scope Tasks<'scope, '_>,
    devices: &'scope [Device],
    count: usize,
) -> Result<()> {
    const USED: usize = 64;
    let mut state = 1u64;
    let mut below = |end: usize| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % end
    };
    for _ in 0..count {
        let (to, before, after) = (below(USED), below(USED), below(USED));
        match below(100) {
            0 => {
                let (one, other) = (&devices[0].blocks[to], &devices[1].blocks[before]);
                tasks.host(|| ()).updates(one).updates(other).spawn()?;
            }
            n => mix(tasks, &devices[n % 2], to, [before, after])?,
        }
    }
    Ok(())
}
