//! How many teams and threads a launch has: as GCC's plugin has it, but for threads that the GPU has
//! no registers for.

use gomp_plugin::region::Asked;
use host_rt::Grid;
use host_rt::device::KernelLimits;

use crate::settings::Settings;

/// Lanes of a wavefront, which is one thread of GCC's, on whatever GPU.
pub(crate) const LANES: u32 = 64;

/// Most threads of a team: as many as GCC's device code has room for. Those of one that asks
/// for no number, too.
const MOST_THREADS: u32 = 16;

/// What this GPU has instead, which hangs with more where the code does not ask for them.
const FEW_THREADS: (&str, u32) = ("gfx900", 4);

/// The grid: what is asked for, as far as the device takes it, on a GPU with this `processor`.
///
/// GCC's plugin counts registers by itself: four times those of a SIMD unit, also on RDNA, where
/// GCC has a team on a compute unit of two, and 1536 of them for wavefronts of 64 lanes on gfx11,
/// which has 768. What is asked for by `GCN_NUM_THREADS` it does not limit. What a compute unit
/// has no registers for cannot run, so here the device is asked.
pub(crate) fn grid(
    settings: &Settings,
    asked: Asked,
    processor: &str,
    limits: KernelLimits,
) -> Grid {
    let units = limits.processors.max(1);
    let default = match processor == FEW_THREADS.0 {
        true => FEW_THREADS.1,
        false => MOST_THREADS,
    };
    let most = limits.block.min(limits.processor) / LANES;
    let most = most.clamp(1, MOST_THREADS);
    let first = |numbers: [u32; 3]| numbers.into_iter().find(|&n| n > 0).unwrap_or(1);
    let asked_teams = asked.teams.min(units.saturating_mul(2));
    Grid {
        teams: first([settings.teams, asked_teams, units]),
        threads: first([settings.threads, asked.threads, default]).min(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a GPU with 60 compute units with room for 40 wavefronts.
    const LIMITS: KernelLimits = KernelLimits {
        block: 1024,
        processor: 40 * LANES,
        processors: 60,
        shared_bytes: 1536,
    };

    fn chosen(settings: &Settings, processor: &str, asked: (u32, u32), waves: u32) -> (u32, u32) {
        let limits = KernelLimits {
            processor: waves * LANES,
            ..LIMITS
        };
        let (teams, threads) = asked;
        let Grid { teams, threads } = grid(settings, Asked { teams, threads }, processor, limits);
        (teams, threads)
    }

    #[test]
    fn grids_are_those_of_gccs_plugin_that_fit() {
        let settings = Settings::default();
        for (processor, asked, waves, grid) in [
            ("gfx906", (0, 0), 40, (60, 16)),
            ("gfx900", (0, 0), 40, (60, 4)),
            ("gfx900", (0, 9), 40, (60, 9)),
            ("gfx906", (3, 0), 40, (3, 16)),
            ("gfx906", (1000, 64), 40, (120, 16)),
            // As many as have registers.
            ("gfx906", (1, 16), 8, (1, 8)),
            ("gfx906", (1, 16), 0, (1, 1)),
        ] {
            let found = chosen(&settings, processor, asked, waves);
            assert_eq!(found, grid, "{asked:?} of {waves} on {processor}");
        }
        let settings = Settings {
            teams: 7,
            threads: 40,
            ..settings
        };
        assert_eq!(chosen(&settings, "gfx900", (3, 2), 40), (7, 16));
        assert_eq!(chosen(&settings, "gfx900", (3, 2), 12), (7, 12));
    }
}
