//! GCC's description of an image: the structures that its `mkoffload` writes into a program.

use std::ffi::{c_char, c_int, c_uint, c_void};

use gomp_plugin::image::{has_indirect, slice, text};

use crate::error::Error;

/// The location of the code object.
#[repr(C)]
struct Bytes {
    size: usize,
    bytes: *const u8,
}

/// A function of the image, with its properties from OpenACC and the compiler.
#[repr(C)]
struct KernelDescription {
    name: *const c_char,
    _said: [c_int; 5],
}

/// The structure without its first word (the program's requirements), which libgomp does not pass
/// on.
#[repr(C)]
struct RawDescription {
    object: *const Bytes,
    kernel_count: c_uint,
    kernels: *const KernelDescription,
    /// Since GCC 14: the numbers of functions called through pointers and of variables. Before,
    /// only the latter.
    counts: [c_uint; 2],
}

/// Functions of each image that the host does not know: its constructors' and its destructors'.
pub(crate) const CONSTRUCTORS: &str = "_init_array";
pub(crate) const DESTRUCTORS: &str = "_fini_array";

/// An image by GCC's description.
#[derive(Debug)]
pub(crate) struct ImageDescription {
    /// The code object.
    pub(crate) bytes: Vec<u8>,
    /// The functions that the host knows: kernels, and regions of the host.
    pub(crate) functions: Vec<String>,
    /// The number of variables that the host knows.
    pub(crate) variables: usize,
    /// The number of functions in the image's table of those called through pointers.
    pub(crate) indirect: usize,
}

impl ImageDescription {
    /// Reads the description at `data`, of an image of version `version` for the host.
    ///
    /// # Safety
    /// `data` is what `GOMP_OFFLOAD_load_image` was called with.
    ///
    /// # Errors
    /// There is no code object.
    pub(crate) unsafe fn read(version: u32, data: *const c_void) -> Result<Self, Error> {
        let data = data.cast::<RawDescription>();
        // SAFETY: mkoffload's structure, by the caller's promise; the second count, which older
        // structures lack, is not read.
        let (object, kernels, first) = unsafe {
            let kernels = slice((*data).kernels, (*data).kernel_count as usize);
            ((*data).object, kernels, (*data).counts[0])
        };
        let (indirect, variables) = if has_indirect(version) {
            // SAFETY: mkoffload's structure, by the caller's promise, which has both counts since
            // GCC 14.
            (first, unsafe { (*data).counts[1] })
        } else {
            (0, first)
        };
        if object.is_null() {
            return Err(Error::NoCodeObject);
        }
        // SAFETY: a structure of mkoffload's and the bytes that it names, by the same promise.
        let bytes = unsafe { slice((*object).bytes, (*object).size) };
        // SAFETY: a C string, by the same promise.
        let names = kernels.iter().map(|kernel| unsafe { text(kernel.name) });
        let names = names.filter(|name| ![CONSTRUCTORS, DESTRUCTORS].contains(&name.as_str()));
        Ok(Self {
            bytes: bytes.to_vec(),
            functions: names.collect(),
            variables: variables as usize,
            indirect: indirect as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read() {
        let bytes = b"\x7fELF";
        let object = Bytes {
            size: bytes.len(),
            bytes: bytes.as_ptr(),
        };
        let kernel = |name: &'static std::ffi::CStr| KernelDescription {
            name: name.as_ptr(),
            _said: [0, 0, 0, 62, 24],
        };
        let kernels = [
            kernel(c"_init_array"),
            kernel(c"_fini_array"),
            kernel(c"main._omp_fn.1.nohost.0"),
            kernel(c"main._omp_fn.0"),
        ];
        let description = RawDescription {
            object: &raw const object,
            kernel_count: 4,
            kernels: kernels.as_ptr(),
            counts: [5, 7],
        };
        let data = (&raw const description).cast();
        // SAFETY: such a structure.
        let read = |version| unsafe { ImageDescription::read(version, data) }.unwrap();
        let described = read(3);
        assert_eq!(described.bytes, bytes);
        assert_eq!(
            described.functions,
            ["main._omp_fn.1.nohost.0", "main._omp_fn.0"]
        );
        assert_eq!((described.indirect, described.variables), (5, 7));
        assert_eq!((read(2).indirect, read(2).variables), (0, 5));

        let empty = RawDescription {
            object: std::ptr::null(),
            ..description
        };
        // SAFETY: such a structure.
        let error = unsafe { ImageDescription::read(3, (&raw const empty).cast()) }.unwrap_err();
        assert!(matches!(error, Error::NoCodeObject), "{error}");
    }
}
