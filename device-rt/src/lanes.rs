//! Operations of the lanes of a warp together.
//!
//! Threads of a GPU run in warps of [`warp_size`](arch::warp_size) lanes. On an architecture
//! without [`independent_lanes`](arch::independent_lanes), a lane that leaves a loop waits after it
//! for its neighbours. So a lane there must not wait for anything that another lane of its warp
//! owns. A [`waterfall`] loop serves some lanes in each iteration, and all lanes finish an
//! iteration before the next one begins.

use crate::arch;

#[cfg(test)]
mod tests;

/// Lanes of a warp that run the same code together.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    mask: u64,
}

impl Lanes {
    /// The active lanes.
    #[inline(always)]
    // Simulated lanes are active together if they call from the same location.
    #[cfg_attr(test, track_caller)]
    #[must_use]
    pub fn active_lanes() -> Self {
        Self {
            mask: arch::active_lanes(),
        }
    }

    /// The calling lane alone.
    #[inline(always)]
    #[must_use]
    pub fn alone() -> Self {
        Self {
            mask: 1 << arch::lane(),
        }
    }

    /// Their number.
    #[inline(always)]
    #[must_use]
    pub const fn count(self) -> u32 {
        self.mask.count_ones()
    }

    /// The number of lanes before the calling lane.
    #[inline(always)]
    #[must_use]
    pub fn rank(self) -> u32 {
        (self.mask & ((1 << arch::lane()) - 1)).count_ones()
    }

    /// Whether the calling lane is the first of them.
    #[inline(always)]
    #[must_use]
    pub fn is_first(self) -> bool {
        self.mask.trailing_zeros() == arch::lane()
    }

    /// `value` in the first of them.
    ///
    /// # Safety
    /// All of these lanes, and no others, call this together.
    #[inline(always)]
    #[must_use]
    pub unsafe fn first(self, value: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { arch::first(self.mask, value) }
    }

    /// Whether `vote` is true in any of them.
    ///
    /// # Safety
    /// As for [`first`](Self::first).
    #[inline(always)]
    #[must_use]
    pub unsafe fn any(self, vote: bool) -> bool {
        // SAFETY: the caller's promise.
        unsafe { arch::any(self.mask, vote) }
    }

    /// Those in which `vote` is true.
    ///
    /// # Safety
    /// As for [`first`](Self::first).
    #[inline(always)]
    #[must_use]
    pub unsafe fn filter(self, vote: bool) -> Self {
        Self {
            // SAFETY: the caller's promise.
            mask: unsafe { arch::ballot(self.mask, vote) },
        }
    }

    /// Waits for the others of these lanes, and orders memory between them: afterwards, each lane
    /// has acquired what any of them had.
    ///
    /// # Safety
    /// As for [`first`](Self::first).
    #[inline(always)]
    pub unsafe fn converge(self) {
        // SAFETY: the caller's promise.
        unsafe { arch::converge(self.mask) }
    }
}

/// A waterfall loop: the active lanes call `attempt` together until each has a result.
///
/// In each iteration at least one lane's `attempt` must give a result, whatever the others do.
/// It may wait only for what no lane without a result owns.
#[inline(always)]
pub fn waterfall<T>(mut attempt: impl FnMut(Lanes) -> Option<T>) -> T {
    if arch::independent_lanes() {
        loop {
            if let Some(result) = attempt(Lanes::active_lanes()) {
                return result;
            }
        }
    }
    let all = Lanes::active_lanes();
    let mut result = None;
    loop {
        if result.is_none() {
            result = attempt(Lanes::active_lanes());
        }
        // A vote, although each lane knows whether it is done: lanes with a result must not
        // leave the loop and wait after it, and the vote ends the iteration for all of them.
        // SAFETY: a lane leaves this loop only with all the others.
        let more = unsafe { arch::any(all.mask, result.is_none()) };
        if !more && let Some(result) = result {
            return result;
        }
    }
}

/// Runs `action` in each of the active lanes, one after the other if a waiting lane delays its
/// warp.
#[inline(always)]
pub fn serialize_lanes<T>(mut action: impl FnMut() -> T) -> T {
    if arch::independent_lanes() {
        return action();
    }
    waterfall(|lanes| lanes.is_first().then(&mut action))
}

/// Runs `action` in one lane, for programs in which the whole warp is one thread; returns in all
/// lanes when it is done. The action sees what every lane did before.
///
/// `Copy`, so that nothing is dropped in lanes that do not run the action: rustc would make two
/// paths to the end of that, each with a barrier of its own, and lanes would not meet.
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
    // SAFETY: all lanes of the warp get here, by the caller's promise, including those that skipped
    // the action.
    unsafe { arch::converge(warp) };
}
