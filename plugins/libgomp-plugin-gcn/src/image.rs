//! What GCC says of an image: the structures that its `mkoffload` writes into a program.

use std::ffi::{c_char, c_int, c_uint, c_void};

use gomp_plugin::image::{has_indirect, slice, text};

/// Where the code object is.
#[repr(C)]
struct Bytes {
    size: usize,
    bytes: *const u8,
}

/// A function of the image, with what OpenACC and the compiler say of it.
#[repr(C)]
struct KernelDescription {
    name: *const c_char,
    _said: [c_int; 5],
}

/// The structure, without the first word of it (what the program `requires`), which libgomp
/// keeps to itself.
#[repr(C)]
struct Description {
    object: *const Bytes,
    kernel_count: c_uint,
    kernels: *const KernelDescription,
    /// Since GCC 14: how many functions are called through pointers, and how many variables
    /// there are. Before, the latter is alone.
    counts: [c_uint; 2],
}

/// Functions of each image of which the host knows nothing: its constructors' and its
/// destructors'.
pub(crate) const CONSTRUCTORS: &str = "_init_array";
pub(crate) const DESTRUCTORS: &str = "_fini_array";

/// An image, as GCC describes it.
#[derive(Debug)]
pub(crate) struct Described {
    /// The code object.
    pub(crate) bytes: Vec<u8>,
    /// The functions that the host knows: kernels and what is called on the host.
    pub(crate) functions: Vec<String>,
    /// Variables that the host knows.
    pub(crate) variables: usize,
    /// Functions in the image's table of those that are called through pointers.
    pub(crate) indirect: usize,
}

impl Described {
    /// Reads the description at `data`, of an image of version `version` for the host.
    ///
    /// # Safety
    /// `data` is what `GOMP_OFFLOAD_load_image` was called with.
    ///
    /// # Errors
    /// There is no code object.
    pub(crate) unsafe fn read(version: u32, data: *const c_void) -> Result<Self, String> {
        let data = data.cast::<Description>();
        // SAFETY: mkoffload's structure, as the caller vouches, but for the second count, which
        // older ones do not have.
        let (object, kernels, first) = unsafe {
            let kernels = slice((*data).kernels, (*data).kernel_count as usize);
            ((*data).object, kernels, (*data).counts[0])
        };
        let (indirect, variables) = if has_indirect(version) {
            // SAFETY: as above; these have both.
            (first, unsafe { (*data).counts[1] })
        } else {
            (0, first)
        };
        if object.is_null() {
            return Err("its description has no code object".to_owned());
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
        let description = Description {
            object: &raw const object,
            kernel_count: 4,
            kernels: kernels.as_ptr(),
            counts: [5, 7],
        };
        let data = (&raw const description).cast();
        // SAFETY: such a structure.
        let read = |version| unsafe { Described::read(version, data) }.unwrap();
        let described = read(3);
        assert_eq!(described.bytes, bytes);
        assert_eq!(
            described.functions,
            ["main._omp_fn.1.nohost.0", "main._omp_fn.0"]
        );
        assert_eq!((described.indirect, described.variables), (5, 7));
        assert_eq!((read(2).indirect, read(2).variables), (0, 5));

        let empty = Description {
            object: std::ptr::null(),
            ..description
        };
        // SAFETY: such a structure.
        let error = unsafe { Described::read(3, (&raw const empty).cast()) }.unwrap_err();
        assert!(error.contains("no code object"), "{error}");
    }
}
