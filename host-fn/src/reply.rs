//! The encoding of a result: one more argument, mapped `from`, after the declared ones.
//!
//! A mark beside the value tells the device that the function ran. Some device runtimes, such as
//! GCC's own, report no status, but every one copies mapped data back.

use core::alloc::{Layout, LayoutError};
use core::mem::offset_of;
use core::ptr;

use crate::call_error::CallError;
use crate::entry::Entry;
use crate::plain::Plain;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;

/// Whether the value beside it is valid. Aligned like the data that wires carry, in units of eight
/// bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// No value yet.
    const PENDING: Mark = Mark(0);
    /// The value is the function's. A number that memory is unlikely to hold by chance.
    pub(crate) const DONE: Mark = Mark(u64::from_le_bytes(Self::DONE_BYTES));
    /// The bytes of `DONE`.
    pub(crate) const DONE_BYTES: [u8; 8] = *b"returned";
}

/// The memory of the last argument, the same type on both sides.
///
/// Padding around the mark is never uninitialised when it is copied: only the host sends a reply,
/// and it zeroes the whole of it first, unless that has no padding.
#[repr(C)]
pub struct Reply<R> {
    pub(crate) value: R,
    pub(crate) done: Mark,
}

// Frozen: device images and hosts of different builds exchange it.
const _: () = {
    assert!(size_of::<Reply<()>>() == 8 && offset_of!(Reply<()>, done) == 0);
    assert!(size_of::<Reply<u32>>() == 16 && offset_of!(Reply<u32>, done) == 8);
    assert!(size_of::<Reply<u64>>() == 16 && offset_of!(Reply<u64>, done) == 8);
    assert!(size_of::<Reply<[u8; 9]>>() == 24 && offset_of!(Reply<[u8; 9]>, done) == 16);
    assert!(align_of::<Reply<u8>>() == 8);
    // On amdgcn, `u128` is aligned to 8 bytes. The hash of a signature with one includes the
    // alignment, so that host and image reject each other.
    if align_of::<u128>() == 16 {
        assert!(size_of::<Reply<u128>>() == 32 && offset_of!(Reply<u128>, done) == 16);
        assert!(align_of::<Reply<u128>>() == 16);
    }
};

impl<R> Reply<R> {
    /// A reply before any answer.
    #[inline(always)]
    #[must_use]
    pub fn pending() -> Self
    where
        R: Plain,
    {
        Reply {
            value: R::new_zeroed(),
            done: Mark::PENDING,
        }
    }

    /// The argument for the reply, the last one of each call.
    #[inline(always)]
    #[must_use]
    pub fn entry(&mut self) -> Entry<'_> {
        Entry::mapped(ptr::from_mut(self), 1, MapKind::FROM)
    }

    /// The result of the call. The mark decides; `status` is for the error.
    #[inline(always)]
    pub fn result(self, status: Status) -> Result<R, CallError> {
        if self.done == Mark::DONE {
            Ok(self.value)
        } else {
            Err(CallError::new(status))
        }
    }
}

/// The layout of a `Reply<R>`, given that of `R`, and the offset of its mark.
pub(crate) fn layout_of(value: Layout) -> Result<(Layout, usize), LayoutError> {
    let (layout, done) = value.extend(Layout::new::<Mark>())?;
    Ok((layout.pad_to_align(), done))
}

impl Reply<i64> {
    /// The reply of a function that has run. It has no padding.
    #[must_use]
    pub fn done(value: i64) -> Self {
        Reply {
            value,
            done: Mark::DONE,
        }
    }
}
