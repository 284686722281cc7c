//! The `host` device: an image is a shared object, a device thread an OS thread.
//! [`HostArch`], which the host writes when it loads the image, replaces the special registers of
//! hardware.

use core::panic::Location;
use core::sync::atomic::{AtomicPtr, Ordering, fence};

use shared_abi::host_arch::{HostArch, ThreadContext};
use shared_abi::words::Coherent;

use super::{Context, Space};

/// The host's services; null until a host loads the image.
#[unsafe(export_name = "__revoff_host_arch")]
static HOST_ARCH: AtomicPtr<HostArch> = AtomicPtr::new(core::ptr::null_mut());

fn services() -> Option<&'static HostArch> {
    // Relaxed: the host writes it before it starts the first device thread, and starting a thread
    // orders the write.
    let table = HOST_ARCH.load(Ordering::Relaxed);
    // SAFETY: null, or what the host wrote: a table that outlives every thread
    // that runs code of this image, never written again.
    unsafe { table.as_ref() }
}

fn thread_context() -> Option<&'static ThreadContext> {
    let services = services()?;
    // SAFETY: `context` takes nothing and is callable from any thread; what it
    // returns is null or valid for as long as this kernel runs, which is longer
    // than any caller in this crate keeps it.
    unsafe { (services.context)().as_ref() }
}

/// Mapped memory.
pub type Mapped = Coherent;

/// Device memory.
pub type DeviceMemory = Coherent;

/// The mapped memory at a device address.
///
/// # Safety
/// As for [`Coherent::new`].
#[must_use]
pub unsafe fn mapped(address: u64) -> Mapped {
    // SAFETY: the caller promises what `Coherent::new` requires.
    unsafe { Coherent::new(address as *mut u8) }
}

/// The device memory at a device address.
///
/// # Safety
/// As for [`Coherent::new`].
#[must_use]
pub unsafe fn device_memory(address: u64) -> DeviceMemory {
    // SAFETY: the caller promises what `Coherent::new` requires.
    unsafe { Coherent::new(address as *mut u8) }
}

/// Determines the kind of memory of an address, for the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct Spaces {
    stack_low: u64,
    stack_high: u64,
}

impl Spaces {
    /// The calling thread's view.
    #[must_use]
    pub fn current() -> Self {
        thread_context().map_or(
            Self {
                stack_low: 0,
                stack_high: 0,
            },
            |context| Self {
                stack_low: context.stack_low,
                stack_high: context.stack_high,
            },
        )
    }

    /// The kind of memory at `addr`. Teams have no shared memory on this device.
    #[must_use]
    pub fn of(&self, addr: u64) -> Space {
        if (self.stack_low..self.stack_high).contains(&addr) {
            Space::Local
        } else {
            Space::Global
        }
    }
}

/// The calling thread. Outside a launch: the only thread of the only team.
#[must_use]
pub fn context() -> Context {
    match thread_context() {
        Some(context) => Context {
            team: context.team,
            teams: context.teams,
            thread: context.thread,
            threads: context.threads,
            launch: context.launch,
        },
        None => Context {
            team: 0,
            teams: 1,
            thread: 0,
            threads: 1,
            launch: 0,
        },
    }
}

/// Waits a little, longer the larger `attempt` is.
pub fn pause(attempt: u32) {
    match services() {
        // SAFETY: `pause` is callable from any thread.
        Some(services) => unsafe { (services.pause)(attempt) },
        None => core::hint::spin_loop(),
    }
}

/// Orders all earlier accesses to memory with all later ones, except a store with a later load.
pub fn system_fence() {
    fence(Ordering::AcqRel);
}

/// Nanoseconds since some fixed moment; 0 outside a launch.
#[must_use]
pub fn clock() -> u64 {
    // SAFETY: `clock` is callable from any thread.
    services().map_or(0, |services| unsafe { (services.clock)() })
}

/// The same counter as [`clock`]: there is no finer one.
#[must_use]
pub fn ticks() -> u64 {
    clock()
}

/// A device thread is a warp of its own.
#[must_use]
pub fn warp_size() -> u32 {
    1
}

/// See [`warp_size`].
#[must_use]
pub fn independent_lanes() -> bool {
    true
}

/// See [`warp_size`].
#[must_use]
pub fn lane() -> u32 {
    0
}

/// See [`warp_size`].
#[must_use]
pub fn active_lanes() -> u64 {
    1
}

/// Returns `value`: the thread is its only lane.
///
/// # Safety
/// No requirements here; other architectures have some.
#[must_use]
pub unsafe fn first(_lanes: u64, value: u32) -> u32 {
    value
}

/// Returns `vote`: the thread is its only lane.
///
/// # Safety
/// No requirements here; other architectures have some.
#[must_use]
pub unsafe fn any(_lanes: u64, vote: bool) -> bool {
    vote
}

/// The lanes of `lanes` in which `vote` is true: the thread is the only one.
///
/// # Safety
/// No requirements here; other architectures have some.
#[must_use]
pub unsafe fn ballot(_lanes: u64, vote: bool) -> u64 {
    vote.into()
}

/// Does nothing: the thread is its only lane.
///
/// # Safety
/// No requirements here; other architectures have some.
pub unsafe fn converge(_lanes: u64) {}

/// The bits of the wires that threads of the host use: all of them.
pub const WIRES: u32 = u32::MAX;

/// Whether plain loads and stores of words need not be aligned.
pub const HAS_UNALIGNED: bool = true;

/// Whether a device thread can wake the host.
pub const CAN_WAKE: bool = true;

/// Wakes the host.
pub fn wake_host() {
    if let Some(services) = services() {
        // SAFETY: `wake_host` is callable from any thread.
        unsafe { (services.wake_host)() }
    }
}

/// The host gets the message.
pub const HAS_MESSAGES: bool = true;

/// Like [`trap`]. The message contains the location on this architecture.
pub fn trap_at(_place: Option<&Location<'_>>) -> ! {
    trap("")
}

/// Ends the launch and this thread.
pub fn trap(message: &str) -> ! {
    match services() {
        // SAFETY: the pointer and the length are those of a `str`; the host
        // copies it before it ends the thread.
        Some(services) => unsafe { (services.trap)(message.as_ptr(), message.len() as u64) },
        // No host has loaded this image, so there is no launch to end.
        None => loop {
            core::hint::spin_loop();
        },
    }
}

#[cfg(test)]
impl Spaces {
    /// The view of a thread whose stack is `low..high`.
    pub(crate) const fn with_stack(low: u64, high: u64) -> Self {
        Self {
            stack_low: low,
            stack_high: high,
        }
    }
}
