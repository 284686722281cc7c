//! What device code prints.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Threads that print.
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// Prints it: output of the program, as with NVIDIA's driver and GCC's plugins. Behind what
/// C code of the program has printed before, and not by Rust's handle, whose lock the program
/// may hold while it waits for the kernel. C's own, `flockfile`, few take.
pub(crate) fn print(text: &[u8]) {
    static LOST: AtomicBool = AtomicBool::new(false);
    // Relaxed, here and below: hints.
    WRITING.fetch_add(1, Ordering::Relaxed);
    // SAFETY: C has opened it before any of this runs, and the bytes are there; both
    // functions lock the stream.
    let written = unsafe {
        libc::fwrite(text.as_ptr().cast::<c_void>(), 1, text.len(), stdout) == text.len()
            && libc::fflush(stdout) == 0
    };
    let error = std::io::Error::last_os_error();
    WRITING.fetch_sub(1, Ordering::Relaxed);
    if !written && !LOST.swap(true, Ordering::Relaxed) {
        tracing::warn!(%error, "what kernels print is lost: the standard output does not take it");
    }
}

/// Whether somebody prints right now: where that takes long, the standard output takes no more.
pub(crate) fn is_writing() -> bool {
    WRITING.load(Ordering::Relaxed) > 0
}
