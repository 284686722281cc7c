//! Environment variables: those of GCC's plugin.

use gomp_plugin::settings::number;

/// What is asked of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Bytes that `malloc` has on the device, for each image.
    pub(crate) heap: u64,
    /// Bytes of a team's arena.
    pub(crate) arena: i32,
    /// Bytes of a wavefront's stack.
    pub(crate) stack: i32,
    /// Bytes of a team's own memory, of which `omp_low_lat_mem_alloc` takes; as much as there is
    /// where nobody says.
    pub(crate) lowlat: Option<u64>,
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

impl Settings {
    /// Reads them.
    pub(crate) fn read() -> Self {
        let default = Self::default();
        let bytes = |name, default| match number(name, "bytes", default) {
            0 => default,
            bytes => bytes,
        };
        let small = |name, default: i32| {
            let bytes = bytes(name, u64::from(default.cast_unsigned()));
            i32::try_from(bytes).unwrap_or(i32::MAX)
        };
        // OpenMP's name comes before OpenACC's.
        let count = |names: [&str; 2], unit| {
            let mut asked = names.into_iter().map(|name| number(name, unit, 0));
            let asked = asked.find(|&asked| asked > 0).unwrap_or(0);
            u32::try_from(asked).unwrap_or(u32::MAX)
        };
        Self {
            heap: bytes("GCN_HEAP_SIZE", default.heap),
            arena: small("GCN_TEAM_ARENA_SIZE", default.arena),
            stack: small("GCN_STACK_SIZE", default.stack),
            lowlat: Some(number("GOMP_GCN_LOWLAT_POOL", "bytes", u64::MAX))
                .filter(|&bytes| bytes != u64::MAX),
            teams: count(["GCN_NUM_TEAMS", "GCN_NUM_GANGS"], "teams"),
            threads: count(["GCN_NUM_THREADS", "GCN_NUM_WORKERS"], "threads"),
        }
    }
}
