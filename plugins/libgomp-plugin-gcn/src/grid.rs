//! How many teams and threads a launch has, and what memory of its own a team: as GCC's plugin
//! has it.

use gomp_plugin::region::Asked;
use host_rt::Grid;

use crate::object::KernelUse;
use crate::settings::Settings;

/// Lanes of a wavefront, which is one thread of GCC's, on whatever GPU.
pub(crate) const LANES: u32 = 64;

/// Most threads of a team: as many as GCC's device code has room for. Those of one that asks
/// for no number, too.
const MOST_THREADS: u32 = 16;

/// What this GPU has instead, which hangs with more where the code does not ask for them.
const FEW_THREADS: (&str, u32) = ("gfx900", 4);

/// Wavefronts of a compute unit that have each a set of vector registers.
const SETS: u32 = 4;

/// Memory of a compute unit for its teams.
pub(crate) const LOCAL_MEMORY: u32 = 64 << 10;

/// What GCC's device code writes to of that whatever it is told: up to the pool of
/// `omp_low_lat_mem_alloc`, and its first word.
const LEAST_LOCAL_MEMORY: u32 = 40 + 8;

/// What a GPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'n> {
    /// Its processor: `gfx90a`.
    pub(crate) processor: &'n str,
    /// Compute units.
    pub(crate) units: u32,
    /// Device threads that a team of the kernel may have.
    pub(crate) block: u32,
}

impl Resources<'_> {
    /// Vector registers of a lane that a set has for its wavefronts. A compute unit of RDNA
    /// has two sets, each of twice as many.
    fn registers(&self) -> u32 {
        let is = |prefix| self.processor.starts_with(prefix);
        if is("gfx11") {
            384
        } else if is("gfx90a") || is("gfx94") || is("gfx95") || is("gfx9-4") {
            512
        } else {
            256
        }
    }

    /// Threads of the kernel that fit into a team.
    fn most_threads(&self, kernel: KernelUse) -> u32 {
        let registers = kernel.vgprs.next_multiple_of(4);
        let by_registers = match registers {
            0 => MOST_THREADS,
            registers => self.registers() / registers * SETS,
        };
        (self.block / LANES)
            .min(MOST_THREADS)
            .min(by_registers)
            .max(1)
    }
}

/// The grid: what is asked for, as far as the device takes it.
pub(crate) fn grid(
    settings: &Settings,
    asked: Asked,
    there: Resources<'_>,
    kernel: KernelUse,
) -> Grid {
    let units = there.units.max(1);
    let default = match there.processor == FEW_THREADS.0 {
        true => FEW_THREADS.1,
        false => MOST_THREADS,
    };
    let first = |numbers: [u32; 3]| numbers.into_iter().find(|&n| n > 0).unwrap_or(1);
    let asked_teams = asked.teams.min(units.saturating_mul(2));
    let threads = first([settings.threads, asked.threads, default]);
    Grid {
        teams: first([settings.teams, asked_teams, units]),
        threads: threads.min(there.most_threads(kernel)),
    }
}

/// Bytes of a team's own memory beyond what the kernel says itself.
pub(crate) fn shared_bytes(settings: &Settings, teams: u32, units: u32, kernel: KernelUse) -> u32 {
    let wanted = match settings.lowlat {
        // Divided among the teams that a unit runs.
        None => LOCAL_MEMORY / (teams / units.max(1)).max(1),
        Some(bytes) => bytes.max(LEAST_LOCAL_MEMORY),
    };
    wanted.saturating_sub(kernel.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelUse = KernelUse {
        vgprs: 24,
        group: 1536,
    };

    fn chosen(settings: &Settings, processor: &str, asked: (u32, u32), vgprs: u32) -> (u32, u32) {
        let there = Resources {
            processor,
            units: 60,
            block: 1024,
        };
        let (teams, threads) = asked;
        let kernel = KernelUse { vgprs, ..KERNEL };
        let Grid { teams, threads } = grid(settings, Asked { teams, threads }, there, kernel);
        (teams, threads)
    }

    #[test]
    fn grids_are_those_of_gccs_plugin() {
        let settings = Settings::default();
        for (processor, asked, vgprs, grid) in [
            ("gfx906", (0, 0), 24, (60, 16)),
            ("gfx900", (0, 0), 24, (60, 4)),
            ("gfx900", (0, 9), 24, (60, 9)),
            ("gfx906", (3, 0), 24, (3, 16)),
            ("gfx906", (1000, 64), 24, (120, 16)),
            // As many as have registers.
            ("gfx906", (1, 16), 127, (1, 8)),
            ("gfx90a", (1, 16), 127, (1, 16)),
            ("gfx906", (1, 16), 512, (1, 1)),
            ("gfx1100", (1, 16), 256, (1, 4)),
        ] {
            let found = chosen(&settings, processor, asked, vgprs);
            assert_eq!(found, grid, "{asked:?} with {vgprs} on {processor}");
        }
        let settings = Settings {
            teams: 7,
            threads: 40,
            ..settings
        };
        assert_eq!(chosen(&settings, "gfx900", (3, 2), 24), (7, 16));
    }

    #[test]
    fn teams_share_the_memory_of_a_unit() {
        let of = |lowlat, teams, group| {
            let settings = Settings {
                lowlat,
                ..Settings::default()
            };
            shared_bytes(&settings, teams, 60, KernelUse { group, ..KERNEL })
        };
        assert_eq!(of(None, 1, 1536), 65536 - 1536);
        assert_eq!(of(None, 60, 1536), 65536 - 1536);
        assert_eq!(of(None, 120, 1536), 32768 - 1536);
        assert_eq!(of(None, 1, 65536), 0);
        assert_eq!(of(Some(0), 1, 0), 48);
        assert_eq!(of(Some(0), 1, 1536), 0);
        assert_eq!(of(Some(4096), 1, 1536), 4096 - 1536);
    }
}
