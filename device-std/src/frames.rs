//! The calls that led to a place. Code for the `host` device keeps frame pointers; other devices have no
//! return addresses that a program could read.

/// Calls `visit` with the return address of each call that led here, the last one first, until it returns
/// false. Addresses are offsets in the image, as in its file.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[unsafe(no_mangle)]
pub(crate) fn std_trace(_visit: &mut dyn FnMut(usize) -> bool) {}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use host::std_trace;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod host {
    use core::arch::asm;

    use crate::threads;

    unsafe extern "C" {
        // The linker's: the beginning of the image, and the end of its code.
        static __ehdr_start: u8;
        static etext: u8;
    }

    /// The words at a frame pointer.
    #[repr(C)]
    struct Frame {
        /// The caller's frame pointer.
        caller: usize,
        return_address: usize,
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    pub(crate) fn std_trace(visit: &mut dyn FnMut(usize) -> bool) {
        let mut frame: usize;
        // SAFETY: reads a register. It is the frame pointer, since all of the image is compiled with it.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
            #[cfg(target_arch = "aarch64")]
            asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
        }
        let image = (&raw const __ehdr_start).addr();
        let code = image..(&raw const etext).addr();
        // Frames lie between here and the kernel's, and each above the one before: code of others, such as
        // C's, may use the register for something else.
        let top = threads::stack_top();
        let mut last = (&raw const frame).addr();
        while frame > last && frame.is_multiple_of(align_of::<Frame>()) && frame < top {
            // SAFETY: between a variable of this function and one of the kernel, aligned: a part of this
            // thread's stack that is in use, where no reference of the callers is to what is read: frame
            // pointers and return addresses are no values of the language. `stack_top` leaves room for a
            // `Frame` behind it, and its address was exposed.
            let Frame {
                caller,
                return_address,
            } = unsafe { core::ptr::with_exposed_provenance::<Frame>(frame).read() };
            if !code.contains(&return_address) || !visit(return_address - image) {
                return;
            }
            last = frame;
            frame = caller;
        }
    }
}
