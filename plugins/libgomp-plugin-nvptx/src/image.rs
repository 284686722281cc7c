//! GCC's description of an image: the structures that its `mkoffload` writes into a program.

use std::ffi::{c_char, c_uint, c_void};

use gomp_plugin::image::{has_indirect, slice, text};

use crate::error::Error;

/// A text of PTX.
#[repr(C)]
struct PtxObject {
    code: *const c_char,
    /// Includes the terminating NUL.
    size: usize,
}

/// A function of the image, with the dimensions that OpenACC gives it.
#[repr(C)]
struct FunctionName {
    name: *const c_char,
    dim: [u16; 3],
}

/// The structure without its first word (the program's requirements), which libgomp does not pass
/// on.
#[repr(C)]
struct RawDescription {
    objects: *const PtxObject,
    object_count: c_uint,
    variables: *const *const c_char,
    variable_count: c_uint,
    functions: *const FunctionName,
    function_count: c_uint,
    /// Since GCC 14.
    indirect_count: c_uint,
}

/// An image by GCC's description.
#[derive(Debug)]
pub(crate) struct ImageDescription {
    /// The texts, which the device links.
    pub(crate) texts: Vec<String>,
    /// The variables that the host knows, in the order of the host's table.
    pub(crate) variables: Vec<String>,
    /// The functions that the host knows: kernels, and regions of the host.
    pub(crate) functions: Vec<String>,
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
    /// The image is invalid.
    pub(crate) unsafe fn read(version: u32, data: *const c_void) -> Result<Self, Error> {
        let data = data.cast::<RawDescription>();
        // SAFETY: mkoffload's structure with arrays of those lengths, by the caller's promise; the
        // last count, which older structures lack, is not read.
        let (objects, variables, functions) = unsafe {
            (
                slice((*data).objects, (*data).object_count as usize),
                slice((*data).variables, (*data).variable_count as usize),
                slice((*data).functions, (*data).function_count as usize),
            )
        };
        let indirect = if has_indirect(version) {
            // SAFETY: mkoffload's structure, by the caller's promise, which has the count since GCC
            // 14.
            unsafe { (*data).indirect_count }
        } else {
            0
        };
        let texts = objects.iter().enumerate().map(|(at, object)| {
            // SAFETY: the structure gives the text's size, and the caller vouches for both.
            let bytes = unsafe { slice(object.code.cast::<u8>(), object.size) };
            let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
            String::from_utf8(text.to_vec()).map_err(|source| Error::NotUtf8 { at, source })
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        // SAFETY: C strings, by the same promise.
        let name = |name: *const c_char| unsafe { text(name) };
        Ok(Self {
            texts,
            variables: variables.iter().map(|&v| name(v)).collect(),
            functions: functions.iter().map(|f| name(f.name)).collect(),
            indirect: indirect as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read() {
        let text = c".version 6.0\n";
        let objects = [PtxObject {
            code: text.as_ptr(),
            size: text.count_bytes() + 1,
        }];
        let variables = [c"x".as_ptr()];
        let functions = [FunctionName {
            name: c"main$_omp_fn$1$nohost$0".as_ptr(),
            dim: [0; 3],
        }];
        let description = RawDescription {
            objects: objects.as_ptr(),
            object_count: 1,
            variables: variables.as_ptr(),
            variable_count: 1,
            functions: functions.as_ptr(),
            function_count: 1,
            indirect_count: 5,
        };
        let data = (&raw const description).cast();
        // SAFETY: such a structure.
        let read = |version| unsafe { ImageDescription::read(version, data) }.unwrap();
        let described = read(3);
        assert_eq!(described.texts, [".version 6.0\n"]);
        assert_eq!(described.variables, ["x"]);
        assert_eq!(described.functions, ["main$_omp_fn$1$nohost$0"]);
        assert_eq!((described.indirect, read(2).indirect), (5, 0));
    }
}
