//! The memory of a launch for its stacks and arenas, and the shared memory of a team.
//!
//! A device thread computes its offset in the former with 32 bits, and GCC's device code does not
//! check for overflow, so launches that need more are rejected here.

use revoff_host::Grid;
use revoff_host::device::KernelLimits;

use crate::error::Error;
use crate::settings::{LOCAL_MEMORY, Settings};

/// Sizes are multiples of this, so that each stack and each arena is aligned like the first: a
/// cache line, which is enough for any type.
const ALIGNMENT: u64 = 128;

/// The shared memory that GCC's device code always writes to: up to the pool of
/// `omp_low_lat_mem_alloc`, and its first word.
const MIN_LOCAL_MEMORY: u32 = 40 + 8;

/// The layout of a launch's memory: the arenas of all teams, then the stacks of all wavefronts.
/// Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// A team's arena.
    pub(crate) arena: i32,
    /// A wavefront's stack.
    pub(crate) stack: i32,
    /// All arenas.
    pub(crate) arenas: u64,
    /// All of it.
    pub(crate) bytes: u64,
}

/// The memory for `grid`, with arenas and stacks of at least these sizes.
///
/// # Errors
/// It is more than GCC's device code can address.
pub(crate) fn memory(grid: Grid, arena: u64, stack: u64) -> Result<Layout, Error> {
    let Grid { teams, threads } = grid;
    let rounded = |bytes: u64| bytes.checked_next_multiple_of(ALIGNMENT);
    let all = |bytes: Option<u64>, count: u64| bytes?.checked_mul(count);

    let each = rounded(arena);
    let arenas = all(each, teams.into()).filter(|&all| i32::try_from(all).is_ok());
    let (Some(arena), Some(arenas)) = (each.and_then(|each| i32::try_from(each).ok()), arenas)
    else {
        return Err(Error::Arenas { teams, arena });
    };
    let each = rounded(stack);
    let stacks = all(each, u64::from(teams) * u64::from(threads));
    let stacks = stacks.filter(|&all| u32::try_from(all).is_ok());
    let (Some(stack), Some(stacks)) = (each.and_then(|each| i32::try_from(each).ok()), stacks)
    else {
        return Err(Error::Stacks {
            teams,
            threads,
            stack,
        });
    };
    Ok(Layout {
        arena,
        stack,
        arenas,
        bytes: arenas + stacks,
    })
}

/// Bytes of a team's shared memory beyond the kernel's own.
pub(crate) fn shared_bytes(settings: &Settings, teams: u32, limits: KernelLimits) -> u32 {
    let wanted = match settings.lowlat {
        // Divided among the teams that a unit runs at a time.
        None => LOCAL_MEMORY / (teams / limits.processors.max(1)).max(1),
        Some(bytes) => bytes.max(MIN_LOCAL_MEMORY),
    };
    wanted.saturating_sub(limits.shared_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARENA: u64 = 64 << 10;
    const STACK: u64 = 32 << 10;

    fn of(teams: u32, threads: u32, arena: u64, stack: u64) -> Result<Layout, Error> {
        memory(Grid { teams, threads }, arena, stack)
    }

    #[track_caller]
    fn is_refused(layout: Result<Layout, Error>, texts: &[&str]) {
        let error = layout.unwrap_err().to_string();
        for text in texts {
            assert!(error.contains(text), "{text}: {error}");
        }
    }

    #[test]
    fn the_largest_gpu_has_what_gcc_gives_it() {
        let layout = Layout {
            arena: 64 << 10,
            stack: 32 << 10,
            arenas: 304 * ARENA,
            bytes: 304 * (ARENA + 16 * STACK),
        };
        assert_eq!(of(304, 16, ARENA, STACK).unwrap(), layout);
    }

    #[test]
    fn sizes_are_rounded_up() {
        let layout = of(2, 3, 1, 129).unwrap();
        assert_eq!((layout.arena, layout.stack), (128, 256));
        assert_eq!((layout.arenas, layout.bytes), (256, 256 + 6 * 256));
        // Constructors have none.
        let layout = of(1, 1, 0, STACK).unwrap();
        assert_eq!((layout.arena, layout.arenas, layout.bytes), (0, 0, STACK));
    }

    #[test]
    fn stacks_end_where_device_code_counts_no_further() {
        // 2^32 bytes, less one stack.
        assert!(of(8191, 16, ARENA, STACK).is_ok());
        let texts = [
            "8192 teams of 16 threads",
            "32768",
            "4294967295",
            "GCN_STACK_SIZE",
        ];
        is_refused(of(8192, 16, 0, STACK), &texts);
        is_refused(of(u32::MAX, u32::MAX, 0, STACK), &["GCN_NUM_TEAMS"]);
        // Device code gets a stack's size as a signed number.
        is_refused(of(1, 1, 0, 1 << 31), &["GCN_STACK_SIZE"]);
        is_refused(of(1, 1, 0, u64::MAX), &["GCN_STACK_SIZE"]);
    }

    #[test]
    fn arenas_end_where_device_code_counts_no_further() {
        assert!(of(32767, 1, ARENA, STACK).is_ok());
        let texts = ["32768 teams", "65536", "2147483647", "GCN_TEAM_ARENA_SIZE"];
        is_refused(of(32768, 1, ARENA, STACK), &texts);
        is_refused(of(2, 1, u64::MAX, STACK), &["GCN_NUM_TEAMS"]);
    }

    #[test]
    fn teams_share_the_memory_of_a_unit() {
        let of = |lowlat, teams, shared_bytes| {
            let settings = Settings {
                lowlat,
                ..Settings::default()
            };
            let limits = KernelLimits {
                shared_bytes,
                block: 1024,
                processor: 2560,
                processors: 60,
            };
            self::shared_bytes(&settings, teams, limits)
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
