//! The teams and threads of a launch: as with GCC's plugin, except for threads that the GPU has no
//! registers for.

use gomp_plugin::Device;
use gomp_plugin::launch::RequestedGrid;
use revoff_host::Grid;
use revoff_host::device::KernelLimits;
use revoff_host::targets::DeviceArch;

use crate::settings::Settings;

/// Lanes of a wavefront, which is one thread of GCC's, on all GPUs.
pub(crate) const LANES: u32 = 64;

/// Maximum threads of a team, for which GCC's device code has room; also the default.
const MAX_THREADS: u32 = 16;

/// The default on this GPU, which hangs with more threads if the code does not request them.
const FEW_THREADS: (&str, u32) = ("gfx900", 4);

/// The processor of a device: `gfx90a`.
pub(crate) fn processor(device: &Device) -> String {
    match device.runtime.arch() {
        DeviceArch::Amd(target) => target.processor,
        other => other.to_string(),
    }
}

/// The requested grid, within the device's limits, on a GPU with this `processor`.
///
/// GCC's plugin computes the limit of registers itself: it counts four times the registers of a
/// SIMD unit, even on RDNA, where GCC has a team on a compute unit of two, and 1536 registers for
/// wavefronts of 64 lanes on gfx11, which has 768. It does not limit the number in
/// `GCN_NUM_THREADS`. A grid without enough registers cannot run, so this plugin asks the device.
pub(crate) fn grid(
    settings: &Settings,
    requested: RequestedGrid,
    processor: &str,
    limits: KernelLimits,
) -> Grid {
    let units = limits.processors.max(1);
    let default = match processor == FEW_THREADS.0 {
        true => FEW_THREADS.1,
        false => MAX_THREADS,
    };
    let most = limits.block.min(limits.processor) / LANES;
    let most = most.clamp(1, MAX_THREADS);
    let first = |numbers: [u32; 3]| numbers.into_iter().find(|&n| n > 0).unwrap_or(1);
    let asked_teams = requested.teams.min(units.saturating_mul(2));
    Grid {
        teams: first([settings.teams, asked_teams, units]),
        threads: first([settings.threads, requested.threads, default]).min(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU with 60 compute units with room for 40 wavefronts each.
    const LIMITS: KernelLimits = KernelLimits {
        block: 1024,
        processor: 40 * LANES,
        processors: 60,
        shared_bytes: 1536,
    };

    fn chosen(
        settings: &Settings,
        processor: &str,
        requested: (u32, u32),
        waves: u32,
    ) -> (u32, u32) {
        let limits = KernelLimits {
            processor: waves * LANES,
            ..LIMITS
        };
        let (teams, threads) = requested;
        let Grid { teams, threads } = grid(
            settings,
            RequestedGrid { teams, threads },
            processor,
            limits,
        );
        (teams, threads)
    }

    #[test]
    fn grids_are_those_of_gccs_plugin_that_fit() {
        let settings = Settings::default();
        for (processor, requested, waves, grid) in [
            ("gfx906", (0, 0), 40, (60, 16)),
            ("gfx900", (0, 0), 40, (60, 4)),
            ("gfx900", (0, 9), 40, (60, 9)),
            ("gfx906", (3, 0), 40, (3, 16)),
            ("gfx906", (1000, 64), 40, (120, 16)),
            // The number that has registers.
            ("gfx906", (1, 16), 8, (1, 8)),
            ("gfx906", (1, 16), 0, (1, 1)),
        ] {
            let found = chosen(&settings, processor, requested, waves);
            assert_eq!(found, grid, "{requested:?} of {waves} on {processor}");
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
