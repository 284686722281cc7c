//! Lanes of a warp, by intrinsics instead of inline assembly: the compiler does not move
//! intrinsics across branches.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.activemask"]
    safe fn active_mask() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shuffle(mask: u32, value: u32, from: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn barrier(mask: u32);
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, vote: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, vote: bool) -> u32;
}

/// Lanes of a warp.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    32
}

/// Whether a lane makes progress while others of its warp wait: from `sm_70` on, lanes are
/// scheduled independently.
#[inline(always)]
#[must_use]
pub fn independent_lanes() -> bool {
    cfg!(target_feature = "sm_70")
}

/// This thread's lane.
#[inline(always)]
#[must_use]
pub fn lane() -> u32 {
    lane_id()
}

/// The lanes that run this together, as a mask.
#[inline(always)]
#[must_use]
pub fn active_lanes() -> u64 {
    u64::from(active_mask())
}

/// `value` in the lowest lane of `lanes`.
///
/// # Safety
/// Exactly the lanes of `lanes` call this, with the same `lanes`.
#[inline(always)]
#[must_use]
pub unsafe fn first(lanes: u64, value: u32) -> u32 {
    let mask = lanes as u32;
    // SAFETY: the caller's promise.
    unsafe { shuffle(mask, value, mask.trailing_zeros(), 31) }
}

/// Whether `vote` is true in any lane of `lanes`.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
#[must_use]
pub unsafe fn any(lanes: u64, vote: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { vote_any(lanes as u32, vote) }
}

/// The lanes of `lanes` in which `vote` is true.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
#[must_use]
pub unsafe fn ballot(lanes: u64, vote: bool) -> u64 {
    // SAFETY: the caller's promise.
    u64::from(unsafe { vote_ballot(lanes as u32, vote) })
}

/// Waits for all of `lanes`. Each lane's earlier memory accesses come before the other lanes' later
/// ones.
///
/// # Safety
/// As for [`first`].
#[inline(always)]
pub unsafe fn converge(lanes: u64) {
    // SAFETY: the caller's promise.
    unsafe { barrier(lanes as u32) }
}
