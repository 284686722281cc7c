//! Launching a target region, as libgomp asks for it.

use std::ffi::c_void;
use std::sync::Arc;

use host_rt::device::{BlockShape, KernelLimits};
use host_rt::{Grid, Launch};

use crate::device::Device;
use crate::libgomp;
use crate::load::{self, TargetFunction};
use crate::stacks::{LaunchStacks, STACK};

/// Lanes of a warp, which is one thread of GCC's.
const WARP: u32 = 32;

/// Most threads of a team: as many as GCC's device code has room for.
const MOST_THREADS: u32 = 32;

/// Threads of a team that asks for no number, as with GCC's plugin.
const DEFAULT_THREADS: u32 = 8;

/// What a region asks for; 0 where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    teams: u32,
    threads: u32,
}

impl Asked {
    /// Reads libgomp's list of arguments.
    ///
    /// # Safety
    /// The list has an end as libgomp's have, a null.
    unsafe fn read(mut args: *const *const c_void) -> Self {
        /// Where the value is in the argument itself.
        const VALUE_SHIFT: u32 = 16;
        const SUBSEQUENT: usize = 0x80;
        const DEVICE_MASK: usize = 0x7f;
        const ID_MASK: usize = 0xff00;
        const NUM_TEAMS: usize = 0x100;
        const THREAD_LIMIT: usize = 0x200;
        let mut asked = Self::default();
        if args.is_null() {
            return asked;
        }
        // SAFETY: the caller vouches for the list.
        let mut next = || unsafe {
            let word = (*args).addr();
            args = args.add(1);
            word
        };
        loop {
            let id = next();
            if id == 0 {
                return asked;
            }
            let value = if id & SUBSEQUENT == 0 {
                (id.cast_signed() >> VALUE_SHIFT) as i64
            } else {
                next().cast_signed() as i64
            };
            let value = value.clamp(0, i64::from(i32::MAX)) as u32;
            // Other devices have arguments of their own.
            match (id & DEVICE_MASK, id & ID_MASK) {
                (0, NUM_TEAMS) => asked.teams = value,
                (0, THREAD_LIMIT) => asked.threads = value,
                _ => {}
            }
        }
    }

    /// The grid: what is asked for, as far as the device takes it, as GCC's plugin has it.
    fn grid(self, limits: KernelLimits) -> Grid {
        let most = (limits.block / WARP).clamp(1, MOST_THREADS);
        let threads = match self.threads {
            0 => DEFAULT_THREADS,
            threads => threads,
        };
        let threads = threads.min(most);
        let blocks = limits.processor / (WARP * threads) * limits.processors;
        let blocks = blocks.max(1);
        let teams = match self.teams {
            0 => blocks,
            teams => teams.min(blocks),
        };
        Grid { teams, threads }
    }
}

/// A region under way.
pub(crate) struct Region {
    launch: Launch,
    /// The kernel's names: in its PTX, and in the words of the source.
    names: [String; 2],
    _stacks: LaunchStacks,
}

impl Region {
    /// Starts the region `function` with its variables at `vars`.
    ///
    /// # Safety
    /// All three are what `GOMP_OFFLOAD_run` was called with.
    ///
    /// # Errors
    /// The device cannot run it.
    pub(crate) unsafe fn start(
        device: &Arc<Device>,
        function: *const c_void,
        vars: *const c_void,
        args: *const *const c_void,
    ) -> Result<Self, String> {
        // SAFETY: the caller vouches for the list.
        let asked = unsafe { Asked::read(args) };
        load::with_function(device, function, |function| {
            Self::start_function(device, function, vars.addr() as u64, asked)
        })?
    }

    fn start_function(
        device: &Arc<Device>,
        function: &TargetFunction,
        vars: u64,
        asked: Asked,
    ) -> Result<Self, String> {
        let name = &function.name;
        let Some(kernel) = &function.kernel else {
            return Err(format!(
                "the target region {name} is one of the host's, and no kernel"
            ));
        };
        let failed = |error: host_rt::Error| format!("the target region {name}: {error}");
        let grid = asked.grid(kernel.limits().map_err(failed)?);
        let threads = u64::from(grid.teams) * u64::from(grid.threads);
        let stacks = device
            .stacks
            .take(&device.runtime, threads)
            .map_err(failed)?;
        libgomp::debug(&format!(
            "device {}: {name}: {} teams of {} threads of {WARP} lanes",
            device.ord, grid.teams, grid.threads
        ));
        let kernel = kernel.clone().with_block(BlockShape {
            lanes: WARP,
            shared_bytes: device.lowlat_pool,
        });
        let address = stacks.address();
        // SAFETY: GCC's kernels have these three parameters; what the variables name,
        // libgomp keeps until it is told that the region has ended, and the stacks stay as
        // long as the launch.
        let launch = unsafe { kernel.launch(grid, &[&vars, &address, &STACK]) };
        Ok(Self {
            launch: launch.map_err(failed)?,
            names: [function.mangled.clone(), name.clone()],
            _stacks: stacks,
        })
    }

    /// Waits until the region has ended.
    ///
    /// # Errors
    /// It did not end well.
    pub(crate) fn wait(self) -> Result<(), String> {
        match self.launch.wait() {
            Ok(_) => Ok(()),
            Err(error) => {
                let [mangled, name] = &self.names;
                Err(error.to_string().replace(mangled, name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[usize]) -> Asked {
        let words: Vec<*const c_void> = words
            .iter()
            .map(|&word| std::ptr::without_provenance(word))
            .collect();
        // SAFETY: the tests' lists end with 0.
        unsafe { Asked::read(words.as_ptr()) }
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(read(&[0]), Asked::default());
        let asked = |teams, threads| Asked { teams, threads };
        assert_eq!(read(&[0x200, 0x1_0100, 0]), asked(1, 0));
        assert_eq!(read(&[0x180, 70_000, 0x4_0200, 0]), asked(70_000, 4));
        // Of another device, and less than nothing.
        assert_eq!(read(&[0x7_0105, 0x280, usize::MAX, 0]), asked(0, 0));
    }

    #[test]
    fn grids_fit_the_device() {
        let limits = KernelLimits {
            block: 1024,
            processor: 2048,
            processors: 2,
        };
        let grid = |teams, threads| {
            let Grid { teams, threads } = Asked { teams, threads }.grid(limits);
            (teams, threads)
        };
        assert_eq!(grid(0, 0), (16, 8));
        assert_eq!(grid(3, 1), (3, 1));
        assert_eq!(grid(1000, 64), (4, 32));
        let few = KernelLimits {
            block: 16,
            processor: 16,
            ..limits
        };
        let Grid { teams, threads } = Asked::default().grid(few);
        assert_eq!((teams, threads), (1, 1));
    }
}
