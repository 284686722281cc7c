//! Scalar loads: see `arch/amdgcn/scoped.ll`.

use core::mem::MaybeUninit;

unsafe extern "C" {
    fn revoff_constant_load(from: *const u32) -> u32;
}

/// Reads a variable.
///
/// # Safety
/// `from` is the address of a static, which nobody writes while kernels run.
#[inline(always)]
pub(super) unsafe fn read<T: Copy>(from: *const T) -> T {
    const { assert!(size_of::<T>().is_multiple_of(4) && align_of::<T>() >= 4) };
    let mut value = MaybeUninit::<T>::uninit();
    for i in 0..size_of::<T>() / 4 {
        // SAFETY: the caller's promise; `i` is inside.
        unsafe {
            let word = revoff_constant_load(from.cast::<u32>().add(i));
            value.as_mut_ptr().cast::<u32>().add(i).write(word);
        }
    }
    // SAFETY: a copy of all words of a `T`.
    unsafe { value.assume_init() }
}
