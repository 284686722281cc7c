//! Environment variables of this plugin's own.

use gomp_plugin::{libgomp, settings};

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded.
const SWAP: &str = "REVOFF_SWAP";

/// Bytes of shared memory that GCC's device code has for `omp_low_lat_mem_alloc`.
const LOWLAT_POOL: &str = "GOMP_NVPTX_LOWLAT_POOL";

/// As libgomp has it.
const DEFAULT_LOWLAT_POOL: u32 = 8 << 10;

/// GCC's device code writes as much whatever it is told.
const LEAST_LOWLAT_POOL: u32 = 16;

/// Bytes of dynamic shared memory of each launch.
pub(crate) fn lowlat_pool() -> u32 {
    let asked = settings::number(LOWLAT_POOL, "bytes", DEFAULT_LOWLAT_POOL.into());
    u32::try_from(asked)
        .unwrap_or(u32::MAX)
        .max(LEAST_LOWLAT_POOL)
}

/// Whether images get device-rt's `GOMP_target_ext` when they are loaded: unless somebody
/// says 0.
pub(crate) fn swaps() -> bool {
    match std::env::var(SWAP).as_deref() {
        Err(_) | Ok("" | "1") => true,
        Ok("0") => false,
        Ok(text) => {
            libgomp::error(&format!("{SWAP}={text}: expected 0 or 1; 1 it is"));
            true
        }
    }
}
