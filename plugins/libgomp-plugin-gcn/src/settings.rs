//! Environment variables: those of GCC's plugin.

use gomp_plugin::settings::{BYTES, number};

use crate::memory::LOCAL_MEMORY;

/// What is asked of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Bytes that `malloc` has on the device, for each image.
    pub(crate) heap: u64,
    /// Bytes of a team's arena.
    pub(crate) arena: u64,
    /// Bytes of a wavefront's stack.
    pub(crate) stack: u64,
    /// Bytes of a team's own memory, of which `omp_low_lat_mem_alloc` takes; as much as there is
    /// where nobody says.
    pub(crate) lowlat: Option<u32>,
    /// Teams and threads of each launch, whatever it asks for; 0 where nobody says.
    pub(crate) teams: u32,
    pub(crate) threads: u32,
}

impl Default for Settings {
    /// As GCC's plugin has them.
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
const MOST_HEAP: u64 = 1 << 40;

/// Device code is told such a size as a number with a sign.
const MOST_OF_EACH: u64 = i32::MAX as u64;

impl Settings {
    /// Reads them. 0 is as if nobody said, as with GCC's plugin, but of the low-latency pool.
    pub(crate) fn read() -> Self {
        let default = Self::default();
        let bytes = |name, most: u64, default: u64| {
            let asked = number(name, BYTES, 0..=most);
            asked.filter(|&asked| asked > 0).unwrap_or(default)
        };
        // OpenMP's name comes before OpenACC's.
        let count = |names: [&str; 2], what| {
            let asked = names.into_iter();
            let mut asked = asked.filter_map(|name| number(name, what, 0..=u32::MAX));
            asked.find(|&asked| asked > 0).unwrap_or(0)
        };
        Self {
            heap: bytes("GCN_HEAP_SIZE", MOST_HEAP, default.heap),
            arena: bytes("GCN_TEAM_ARENA_SIZE", MOST_OF_EACH, default.arena),
            stack: bytes("GCN_STACK_SIZE", MOST_OF_EACH, default.stack),
            lowlat: number("GOMP_GCN_LOWLAT_POOL", BYTES, 0..=LOCAL_MEMORY),
            teams: count(["GCN_NUM_TEAMS", "GCN_NUM_GANGS"], "a number of teams"),
            threads: count(
                ["GCN_NUM_THREADS", "GCN_NUM_WORKERS"],
                "a number of threads",
            ),
        }
    }
}
