//! The device side: one argument, as `GOMP_target_ext` takes it.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr;

use crate::plain::Plain;
use shared_abi::map_kind::MapKind;

/// Address, size and kind of an argument; borrows the value that it was made from.
///
/// An entry made from a shared reference has a kind that the host only reads. Memory that the host
/// writes comes from an exclusive reference. `call` relies on both.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub(crate) address: *mut c_void,
    pub(crate) size: usize,
    pub(crate) kind: u16,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> Entry<'a> {
    /// A copy of a value: in the address itself if it fits, otherwise at it.
    #[inline(always)]
    #[must_use]
    pub fn value<T: Plain>(value: &'a T) -> Self {
        if size_of::<T>() > size_of::<u64>() {
            return Self::mapped(ptr::from_ref(value), 1, MapKind::FIRSTPRIVATE);
        }
        let mut bits = 0_u64;
        // SAFETY: `size_of::<T>()` bytes can be read at `value`, all initialised since `T` is
        // `IntoBytes`, and the same number can be written at `bits`, which is no smaller (checked
        // above). The two are different variables.
        unsafe {
            ptr::copy_nonoverlapping(
                ptr::from_ref(value).cast::<u8>(),
                (&raw mut bits).cast::<u8>(),
                size_of::<T>(),
            );
        }
        Entry {
            address: ptr::without_provenance_mut(bits as usize),
            size: size_of::<T>(),
            kind: const { MapKind::FIRSTPRIVATE_INT.with_align(align_of::<T>()).0 },
            borrowed: PhantomData,
        }
    }

    /// `&T`
    #[inline(always)]
    #[must_use]
    pub fn to<T: Plain>(target: &'a T) -> Self {
        Self::mapped(ptr::from_ref(target), 1, MapKind::TO)
    }

    /// `&[T]`
    #[inline(always)]
    #[must_use]
    pub fn to_slice<T: Plain>(target: &'a [T]) -> Self {
        Self::mapped(target.as_ptr(), target.len(), MapKind::TO)
    }

    /// `&mut T`
    #[inline(always)]
    #[must_use]
    pub fn tofrom<T: Plain>(target: &'a mut T) -> Self {
        Self::mapped(ptr::from_mut(target), 1, MapKind::TOFROM)
    }

    /// `&mut [T]`
    #[inline(always)]
    #[must_use]
    pub fn tofrom_slice<T: Plain>(target: &'a mut [T]) -> Self {
        Self::mapped(target.as_mut_ptr(), target.len(), MapKind::TOFROM)
    }

    /// `Out<T>`
    #[inline(always)]
    #[must_use]
    pub fn from<T: Plain>(target: &'a mut T) -> Self {
        Self::mapped(ptr::from_mut(target), 1, MapKind::FROM)
    }

    /// `Out<[T]>`
    #[inline(always)]
    #[must_use]
    pub fn from_slice<T: Plain>(target: &'a mut [T]) -> Self {
        Self::mapped(target.as_mut_ptr(), target.len(), MapKind::FROM)
    }

    /// `count` values from `first` on, which the caller borrows for `'a`: exclusively, if the host
    /// writes data of this kind.
    #[inline(always)]
    pub(crate) fn mapped<T>(first: *const T, count: usize, kind: MapKind) -> Self {
        // The memory exists, so its size does not wrap.
        let size = count.wrapping_mul(size_of::<T>());
        Entry {
            // An empty slice's address means nothing. With null, a host has nothing to look up or
            // copy.
            address: if size == 0 {
                ptr::null_mut()
            } else {
                first.cast_mut().cast()
            },
            size,
            kind: kind.with_align(align_of::<T>()).0,
            borrowed: PhantomData,
        }
    }
}
