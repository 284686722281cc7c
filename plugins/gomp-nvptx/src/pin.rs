//! Keeping shared objects with images loaded.
//!
//! libgomp cannot forget an image with functions that the device calls: `dlclose` of one
//! of two such libraries ends the process at an assertion, and where it does not, nobody's
//! functions are found any more (GCC 13 to 16). So a library with an image stays, which
//! POSIX allows `dlclose` to do: its memory, its variables, and its destructors' turn at
//! the end of the process.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// Keeps the object that `data` is in until the process ends; its name, for messages.
pub(crate) fn pin(data: *const c_void) -> String {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the function writes the structure, which may be all zeros too.
    let info = unsafe {
        if libc::dladdr(data, info.as_mut_ptr()) == 0 {
            return "the program".to_owned();
        }
        info.assume_init()
    };
    if info.dli_fname.is_null() {
        return "the program".to_owned();
    }
    // SAFETY: the loader's C string, as long as the object is loaded, and it is: its data
    // was just given to us.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: it is loaded already, so nothing is initialised. The main program is not
    // found by its name, and need not be.
    let handle = unsafe { libc::dlopen(info.dli_fname, flags) };
    if !handle.is_null() {
        // SAFETY: just opened; that it is not deleted is a property of the object.
        unsafe { libc::dlclose(handle) };
    }
    let name = name.to_string_lossy();
    name.rsplit('/').next().unwrap_or(&name).to_owned()
}
