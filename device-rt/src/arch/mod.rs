//! What depends on the target. Each architecture is one file with the same
//! items; nothing outside this module asks for the target.
//!
//! | item | what it is |
//! |---|---|
//! | `Mapped` | [`SystemWords`](shared_abi::words::SystemWords) on mapped memory |
//! | `DeviceMemory` | [`DeviceWords`](shared_abi::words::DeviceWords) on device memory |
//! | `mapped`, `device_memory` | the memory at a device address, as one of these |
//! | `Spaces` | where an address lives |
//! | `context` | which thread this is |
//! | `clock` | nanoseconds, for measurements |
//! | `ticks` | a finer counter of unknown rate, for short times |
//! | `pause` | waits a little |
//! | `HAS_BELL`, `ring` | wakes a sleeping host, where the device can |
//! | `trap`, `HAS_MESSAGES` | ends the launch, and whether anybody hears why |
//! | `trap_at` | ends the launch, and leaves its place in the source, where nobody hears why |
//! | `warp_size`, `independent_lanes` | how many threads make a warp, and whether each gets on by itself |
//! | `lane`, `active_lanes`, `first`, `any`, `converge` | what they do together: see [`lanes`](crate::lanes) |

// rustc's name for the architecture of its amdgcn target is `amdgpu`.
#[cfg(target_arch = "amdgpu")]
mod amdgcn;
#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
#[cfg_attr(
    test,
    allow(unreachable_pub, reason = "`simulated` hides some of it in tests")
)]
mod host;
#[cfg(target_arch = "nvptx64")]
mod nvptx64;
#[cfg(test)]
pub(crate) mod simulated;

#[cfg(target_arch = "amdgpu")]
pub use amdgcn::*;
#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
pub use host::*;
#[cfg(target_arch = "nvptx64")]
pub use nvptx64::*;
// In tests, these take the place of the host's.
#[cfg(test)]
pub use simulated::{
    active_lanes, any, converge, first, independent_lanes, lane, pause, warp_size,
};

/// Where memory lives, from the point of view of who can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device or mapped memory: host copies reach it.
    Global,
    /// The thread's own memory (its stack): only the thread reaches it.
    Local,
    /// The team's shared memory: only the team reaches it.
    Shared,
}

/// Which thread runs, and for which launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// This thread's team.
    pub team: u32,
    /// Teams of the launch.
    pub teams: u32,
    /// This thread within its team.
    pub thread: u32,
    /// Threads of a team.
    pub threads: u32,
    /// Key of the launch; 0 where the architecture does not tell.
    pub launch: u32,
}

impl Context {
    /// This thread among all threads of the launch; wraps in a launch of more than
    /// 2^32 of them.
    #[must_use]
    pub const fn global(self) -> u32 {
        self.team
            .wrapping_mul(self.threads)
            .wrapping_add(self.thread)
    }
}
