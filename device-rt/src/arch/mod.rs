//! Code for each target. Each architecture is one file or folder with the same items; nothing
//! outside this module asks for the target.
//!
//! | item | what it is |
//! |---|---|
//! | `Mapped` | [`SystemWords`](shared_abi::words::SystemWords) on mapped memory |
//! | `DeviceMemory` | [`DeviceWords`](shared_abi::words::DeviceWords) on device memory |
//! | `mapped`, `device_memory` | the memory at a device address, as one of these |
//! | `Spaces` | the address space of an address |
//! | `context` | the calling thread's indices |
//! | `clock` | nanoseconds, for measurements |
//! | `ticks` | a finer counter of unknown rate, for short times |
//! | `pause` | waits a little |
//! | `system_fence` | orders all memory, at system scope |
//! | `WIRES` | the bits of the wires between such processors and a host |
//! | `HAS_UNALIGNED` | whether plain loads and stores of words need not be aligned |
//! | `CAN_WAKE`, `wake_host` | wakes a sleeping host, if the device can |
//! | `trap`, `HAS_MESSAGES` | ends the launch, and whether the message reaches the host |
//! | `trap_at` | ends the launch and reports its location in the source, without a message |
//! | `warp_size`, `independent_lanes` | threads of a warp, and whether each makes progress by itself |
//! | `lane`, `active_lanes`, `first`, `any`, `ballot`, `converge` | operations of a warp: see [`lanes`](crate::lanes) |

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
// In tests, these replace the host's.
#[cfg(test)]
pub use simulated::{
    active_lanes, any, ballot, converge, first, independent_lanes, lane, pause, warp_size,
};

/// The kind of memory, by the threads and the host that can access it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device or mapped memory: host copies reach it.
    Global,
    /// The thread's own memory (its stack): only the thread reaches it.
    Local,
    /// The team's shared memory: only the team reaches it.
    Shared,
}

/// The calling thread's indices, and its launch.
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
    /// Key of the launch; 0 if the architecture has none.
    pub launch: u32,
}

impl Context {
    /// The index of this thread in the launch; wraps in a launch of more than 2^32 threads.
    #[must_use]
    pub const fn global(self) -> u32 {
        self.team
            .wrapping_mul(self.threads)
            .wrapping_add(self.thread)
    }
}
