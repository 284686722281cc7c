//! How a result travels back: in one more argument, mapped `from`, behind all
//! that were declared.
//!
//! The mark beside the value is how the device knows that the function ran. Not
//! every device runtime reports a status, GCC's own does not, but every one
//! copies back what is mapped.

use core::mem::offset_of;

use crate::call_error::CallError;
use crate::entry::Entry;
use crate::plain::Plain;
use shared_abi::status::Status;

/// Whether the value beside it is one. Aligned like the wires carry bytes, in
/// whole units of eight.
#[repr(C, align(8))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// No value yet.
    const PENDING: Mark = Mark(0);
    /// The value is the function's. Not a number that memory holds by chance.
    pub(crate) const DONE: Mark = Mark(u64::from_le_bytes(*b"returned"));
}

/// The memory behind the last argument, the same type on both sides.
///
/// There may be padding around the mark. It holds no uninitialised bytes when it
/// travels: it only ever comes from the host, and the host writes zeroes over
/// the whole of it first.
#[repr(C)]
pub struct Reply<R> {
    pub(crate) value: R,
    pub(crate) done: Mark,
}

// Frozen: device images and hosts of different builds meet here.
const _: () = {
    assert!(size_of::<Reply<()>>() == 8 && offset_of!(Reply<()>, done) == 0);
    assert!(size_of::<Reply<u32>>() == 16 && offset_of!(Reply<u32>, done) == 8);
    assert!(size_of::<Reply<u64>>() == 16 && offset_of!(Reply<u64>, done) == 8);
    assert!(size_of::<Reply<[u8; 9]>>() == 24 && offset_of!(Reply<[u8; 9]>, done) == 16);
    assert!(align_of::<Reply<u8>>() == 8);
    // On amdgcn `u128` is aligned to 8 bytes. The hash of a signature with one says
    // so, and host and image refuse each other.
    if align_of::<u128>() == 16 {
        assert!(size_of::<Reply<u128>>() == 32 && offset_of!(Reply<u128>, done) == 16);
        assert!(align_of::<Reply<u128>>() == 16);
    }
};

impl<R> Reply<R> {
    /// Where nobody has answered yet.
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

    /// The argument that asks for it.
    #[inline(always)]
    #[must_use]
    pub fn entry(&mut self) -> Entry<'_> {
        Entry::reply(self)
    }

    /// What the call came to. The mark decides; `status` is for the error.
    #[inline(always)]
    pub fn result(self, status: Status) -> Result<R, CallError> {
        if self.done == Mark::DONE {
            Ok(self.value)
        } else {
            Err(CallError::new(status))
        }
    }
}
