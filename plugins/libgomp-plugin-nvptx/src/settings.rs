//! Environment variables of this plugin.

use gomp_plugin::settings::{self, BYTES};

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded.
const SWAP: &str = "REVOFF_SWAP";

/// Bytes of shared memory of GCC's device code for `omp_low_lat_mem_alloc`.
const LOWLAT_POOL: &str = "GOMP_NVPTX_LOWLAT_POOL";

/// libgomp's default.
const DEFAULT_LOWLAT_POOL: u32 = 8 << 10;

/// GCC's device code always writes this much.
const MIN_LOWLAT_POOL: u32 = 16;

/// Bytes of dynamic shared memory of each launch.
pub(crate) fn lowlat() -> u32 {
    let requested = settings::number(LOWLAT_POOL, BYTES, 0..=u32::MAX);
    requested
        .unwrap_or(DEFAULT_LOWLAT_POOL)
        .max(MIN_LOWLAT_POOL)
}

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded, which is the default.
pub(crate) fn swaps() -> bool {
    settings::number(SWAP, "a switch", 0..=1u8) != Some(0)
}
