//! A call to the host, before a wire carries it.

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

use crate::arch::Spaces;

/// The arguments of a `GOMP_target_ext` call.
#[derive(Clone, Copy, Debug)]
pub struct Args {
    count: u32,
    addrs: *const u64,
    sizes: *const u64,
    kinds: *const u16,
}

impl Args {
    /// The `count` arguments at the three arrays.
    ///
    /// # Safety
    /// Each array is readable for `count` elements while the result is used, and
    /// the range that each entry describes is readable or writable as its kind
    /// says.
    #[must_use]
    pub unsafe fn new(count: u32, addrs: *const u64, sizes: *const u64, kinds: *const u16) -> Self {
        Self {
            count,
            addrs,
            sizes,
            kinds,
        }
    }

    /// The number of arguments, and the arrays.
    #[inline]
    pub(crate) fn into_parts(self) -> (u32, *const u64, *const u64, *const u16) {
        (self.count, self.addrs, self.sizes, self.kinds)
    }

    /// Number of arguments.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Address, size and kind of argument `i`; an argument past the end has no bytes.
    ///
    /// Never panics: if a path could end the launch, lanes in lock-step would converge only after
    /// it, but callers vote inside it.
    #[must_use]
    pub fn get(&self, i: u32) -> (u64, u64, MapKind) {
        if i >= self.count {
            return (0, 0, MapKind::ALLOC);
        }
        let i = i as usize;
        // SAFETY: `i` is in bounds and `new`'s caller vouched for the arrays.
        unsafe {
            (
                *self.addrs.add(i),
                *self.sizes.add(i),
                MapKind(*self.kinds.add(i)),
            )
        }
    }
}

/// The destination of a call's status, or null.
///
/// The wire writes the status, so that `GOMP_target_ext` needs no registers for it while it waits.
#[derive(Clone, Copy)]
pub(crate) struct StatusTo(*mut u32);

impl StatusTo {
    /// The destination `word`, which may be null.
    #[inline(always)]
    pub(crate) const fn new(word: *mut u32) -> Self {
        Self(word)
    }

    /// # Safety
    /// If the word is not null, it is writable and aligned.
    #[inline(always)]
    pub(crate) unsafe fn write(self, status: Status) {
        if !self.0.is_null() {
            // SAFETY: the caller's promise.
            unsafe { self.0.write(status.0) };
        }
    }
}

/// A call that goes to the host.
#[derive(Clone, Copy)]
pub(crate) struct Call<S = Spaces> {
    /// The function word.
    pub(crate) func: u64,
    pub(crate) args: Args,
    /// Whether the function accesses memory of the device besides its arguments, so that the call
    /// orders all the caller's accesses.
    pub(crate) orders_memory: bool,
    /// The device's number, which the host has set.
    #[cfg_attr(
        not(feature = "gcc-wires"),
        expect(dead_code, reason = "only GCC's wires transmit it")
    )]
    pub(crate) device_num: i32,
    /// The start of searches for slots and blocks: the index of the warp in the launch.
    pub(crate) home_group: u32,
    pub(crate) launch: u32,
    pub(crate) spaces: S,
}
