//! Indices of the calling thread and its fence, for Rust and for C.

use crate::arch;

/// This thread's team, below [`teams`].
#[must_use]
pub fn team() -> u32 {
    arch::context().team
}

/// Number of teams of this launch.
#[must_use]
pub fn teams() -> u32 {
    arch::context().teams
}

/// This thread within its team, below [`threads`].
#[must_use]
pub fn thread() -> u32 {
    arch::context().thread
}

/// Number of threads of a team.
#[must_use]
pub fn threads() -> u32 {
    arch::context().threads
}

/// This thread among all threads of the launch, see [`arch::Context::global`].
#[must_use]
pub fn global() -> u32 {
    arch::context().global()
}

/// Nanoseconds since some fixed moment, the same for all threads of the device.
#[must_use]
pub fn clock() -> u64 {
    arch::clock()
}

/// The finest counter of this device, for short times of one thread. The length of a tick may
/// change; [`clock`] measures longer times.
#[must_use]
pub fn ticks() -> u64 {
    arch::ticks()
}

/// Orders the calling thread's accesses to memory with those of the host.
///
/// A typed call orders only its own arguments. If the host function accesses other memory of the
/// device, such as a buffer whose address it knows, call this between the kernel's writes to it and the
/// host call, and between the host call and the kernel's reads of what the function has written.
#[inline(always)]
pub fn system_fence() {
    arch::system_fence();
}

/// [`team`] for C.
#[unsafe(no_mangle)]
extern "C" fn revoff_team() -> u32 {
    team()
}

/// [`teams`] for C.
#[unsafe(no_mangle)]
extern "C" fn revoff_teams() -> u32 {
    teams()
}

/// [`thread`] for C.
#[unsafe(no_mangle)]
extern "C" fn revoff_thread() -> u32 {
    thread()
}

/// [`threads`] for C.
#[unsafe(no_mangle)]
extern "C" fn revoff_threads() -> u32 {
    threads()
}

/// [`system_fence`] for C.
#[unsafe(no_mangle)]
extern "C" fn revoff_system_fence() {
    system_fence();
}
