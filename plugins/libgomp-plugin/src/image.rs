//! The parts that GCC's descriptions of images share. Each kind has its own structure, which its
//! `mkoffload` writes into a program.

use std::ffi::{CStr, c_char};

use revoff_host::image::ImageError;

use crate::error::{Error, Result};
use crate::kind::kind;

/// The first version of libgomp's interface whose images may have indirect functions.
const FIRST_WITH_INDIRECT: u32 = 3;

/// The part of an image's version that is for the host.
///
/// # Errors
/// The other part, which is for the device, is unknown.
pub(crate) fn host_version(version: u32) -> Result<u32> {
    let (host, found) = (version >> 16, version & 0xffff);
    let (known, gpus) = (kind().image_version, kind().gpus);
    if found == known {
        return Ok(host);
    }
    Err(Error::Version { found, known, gpus })
}

/// The error of a rejected image, with a `remedy` if it is for another device.
#[must_use]
pub fn refused(error: revoff_host::RuntimeError, remedy: impl FnOnce() -> String) -> Error {
    match error {
        revoff_host::RuntimeError::Image(ImageError::OtherMachine {
            name,
            found,
            device,
            wanted,
            ..
        }) => Error::OtherMachine {
            name,
            found,
            device,
            wanted,
            remedy: remedy(),
        },
        error => error.into(),
    }
}

/// Whether images of this version for the host contain the number of functions called through
/// pointers.
#[must_use]
pub fn has_indirect(version: u32) -> bool {
    version >= FIRST_WITH_INDIRECT
}

/// The slice of `count` values at `first`, which may be null if there are none.
///
/// # Safety
/// They exist, for as long as the program's image.
#[must_use]
pub unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// The name at `name`.
///
/// # Safety
/// It is a C string.
#[must_use]
pub unsafe fn text(name: *const c_char) -> String {
    // SAFETY: the caller vouches for it.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

/// The function's name in the program's source: GCC mangles names for PTX, and those of host
/// regions have a suffix.
#[must_use]
pub fn readable(name: &str) -> String {
    let name = name.split("$nohost").next().unwrap_or(name);
    let name = name.replace('$', ".");
    name.split(".nohost").next().unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_named() {
        assert_eq!(host_version(0x3_0001).unwrap(), 3);
        for (version, age) in [(0x3_0002, "a newer GCC"), (0x3_0000, "an older GCC")] {
            let error = host_version(version).unwrap_err().to_string();
            let number = format!("version {} for no GPUs", version & 0xffff);
            assert!(error.contains(&number) && error.contains(age), "{error}");
        }
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("main$_omp_fn$1$nohost$0"), "main._omp_fn.1");
        assert_eq!(readable("main._omp_fn.2.nohost.0"), "main._omp_fn.2");
        assert_eq!(readable("main._omp_fn.0"), "main._omp_fn.0");
    }
}
