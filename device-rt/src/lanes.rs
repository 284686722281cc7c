//! What the lanes of a warp do together.
//!
//! Threads of a GPU run in warps of [`warp_size`](arch::warp_size) lanes. On an
//! architecture without [`independent_lanes`](arch::independent_lanes), a lane that leaves
//! a loop waits for its neighbours behind it. So there, nothing that one lane waits for may
//! be in the hands of another lane of its warp: lanes that need something take turns,
//! in [`rounds`], and each round ends before the next one begins.

use crate::arch;

#[cfg(test)]
mod tests;

/// The lanes of a warp that run this code together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    lanes: u64,
}

impl Group {
    /// Those that are here now.
    #[inline(always)]
    // Simulated lanes are here together if they call from the same place.
    #[cfg_attr(test, track_caller)]
    #[must_use]
    pub fn here() -> Self {
        Self {
            lanes: arch::active_lanes(),
        }
    }

    /// The calling lane alone.
    #[inline(always)]
    #[must_use]
    pub fn alone() -> Self {
        Self {
            lanes: 1 << arch::lane(),
        }
    }

    /// How many.
    #[inline(always)]
    #[must_use]
    pub const fn count(self) -> u32 {
        self.lanes.count_ones()
    }

    /// How many of them come before the calling lane.
    #[inline(always)]
    #[must_use]
    pub fn rank(self) -> u32 {
        (self.lanes & ((1 << arch::lane()) - 1)).count_ones()
    }

    /// Whether the calling lane is the first of them.
    #[inline(always)]
    #[must_use]
    pub fn is_first(self) -> bool {
        self.lanes.trailing_zeros() == arch::lane()
    }

    /// `value` in the first of them.
    ///
    /// # Safety
    /// All lanes of the group, and no others, call this together.
    #[inline(always)]
    #[must_use]
    pub unsafe fn first(self, value: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { arch::first(self.lanes, value) }
    }

    /// Waits for the others of the group, and orders memory between them: what one
    /// lane acquired before, the others have acquired afterwards.
    ///
    /// # Safety
    /// As for [`first`](Self::first).
    #[inline(always)]
    pub unsafe fn converge(self) {
        // SAFETY: the caller's promise.
        unsafe { arch::converge(self.lanes) }
    }
}

/// Lets the lanes that are here try together until each has a result.
///
/// At least one lane's `attempt` in each round must give a result, whatever the
/// others do, and may wait only for what no lane that is still without a result
/// holds.
#[inline(always)]
pub fn rounds<T>(mut attempt: impl FnMut(Group) -> Option<T>) -> T {
    if arch::independent_lanes() {
        loop {
            if let Some(result) = attempt(Group::here()) {
                return result;
            }
        }
    }
    let all = Group::here();
    let mut result = None;
    loop {
        if result.is_none() {
            result = attempt(Group::here());
        }
        // A vote, where a lane could see for itself that it is done: lanes with a
        // result must not leave the loop and wait behind it, and this is where
        // the round ends for all of them.
        // SAFETY: a lane leaves this loop only with all the others.
        let more = unsafe { arch::any(all.lanes, result.is_none()) };
        if !more && let Some(result) = result {
            return result;
        }
    }
}

/// Runs `action` in each of the lanes that are here, one after the other where a
/// lane that waits holds up its warp.
#[inline(always)]
pub fn one_by_one<T>(mut action: impl FnMut() -> T) -> T {
    if arch::independent_lanes() {
        return action();
    }
    rounds(|group| group.is_first().then(&mut action))
}

/// Runs `action` in one lane, where the whole warp is one thread of the program; returns
/// in all lanes when it is done. What any lane did before, the action finds done.
///
/// `Copy`, so that nothing is dropped where the action did not run: rustc would make two
/// ways to the end of that, with a barrier in each, at which lanes do not come together.
///
/// # Safety
/// All lanes of the warp call this together.
#[inline(always)]
pub unsafe fn once_per_warp(action: impl FnOnce() + Copy) {
    let warp = u64::MAX >> (64 - arch::warp_size());
    // SAFETY: the caller's promise.
    unsafe { arch::converge(warp) };
    if arch::lane() == 0 {
        action();
    }
    // SAFETY: as above; the lanes that did not act come here too.
    unsafe { arch::converge(warp) };
}
