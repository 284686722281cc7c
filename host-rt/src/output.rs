//! What device code prints.

use std::ffi::c_void;

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Prints it: output of the program, as with NVIDIA's driver and GCC's plugins. Behind what
/// C code of the program has printed before, and not by Rust's handle, whose lock the program
/// may hold while it waits for the kernel. C's own, `flockfile`, few take.
pub(crate) fn print(text: &[u8]) {
    // SAFETY: C has opened it before any of this runs, and the bytes are there; both
    // functions lock the stream.
    let written = unsafe {
        libc::fwrite(text.as_ptr().cast::<c_void>(), 1, text.len(), stdout) == text.len()
            && libc::fflush(stdout) == 0
    };
    if !written {
        let error = std::io::Error::last_os_error();
        tracing::warn!(%error, "what a kernel prints is lost");
    }
}
