//! Environment variables: those of GCC's plugin.

use gomp_plugin::settings::{BYTES, number};

/// Shared memory of a compute unit.
pub(crate) const LOCAL_MEMORY: u32 = 64 << 10;

/// Settings for launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Bytes for `malloc` on the device, for each image.
    pub(crate) heap: u64,
    /// Bytes of a team's arena.
    pub(crate) arena: u64,
    /// Bytes of a wavefront's stack.
    pub(crate) stack: u64,
    /// Bytes of a team's shared memory for `omp_low_lat_mem_alloc`; all that is left by default.
    pub(crate) lowlat: Option<u32>,
    /// Teams and threads of each launch, overriding its own; 0 if not set.
    pub(crate) teams: u32,
    pub(crate) threads: u32,
}

impl Default for Settings {
    /// The defaults of GCC's plugin.
    fn default() -> Self {
        Self {
            heap: 100 << 20,
            arena: 64 << 10,
            stack: 32 << 10,
            lowlat: None,
            teams: 0,
            threads: 0,
        }
    }
}

/// More than any GPU has.
const MAX_HEAP: u64 = 1 << 40;

/// Device code gets such a size as a signed number.
const MAX_SIZE: u64 = i32::MAX as u64;

impl Settings {
    /// Reads the settings. 0 means not set, as with GCC's plugin, except for the low-latency pool.
    pub(crate) fn read() -> Self {
        let default = Self::default();
        let bytes = |name, most: u64, default: u64| {
            let requested = number(name, BYTES, 0..=most);
            requested
                .filter(|&requested| requested > 0)
                .unwrap_or(default)
        };
        // OpenMP's name takes precedence over OpenACC's.
        let count = |names: [&str; 2], what| {
            let requested = names.into_iter();
            let mut requested = requested.filter_map(|name| number(name, what, 0..=u32::MAX));
            requested.find(|&requested| requested > 0).unwrap_or(0)
        };
        Self {
            heap: bytes("GCN_HEAP_SIZE", MAX_HEAP, default.heap),
            arena: bytes("GCN_TEAM_ARENA_SIZE", MAX_SIZE, default.arena),
            stack: bytes("GCN_STACK_SIZE", MAX_SIZE, default.stack),
            lowlat: number("GOMP_GCN_LOWLAT_POOL", BYTES, 0..=LOCAL_MEMORY),
            teams: count(["GCN_NUM_TEAMS", "GCN_NUM_GANGS"], "a number of teams"),
            threads: count(
                ["GCN_NUM_THREADS", "GCN_NUM_WORKERS"],
                "a number of threads",
            ),
        }
    }
}
