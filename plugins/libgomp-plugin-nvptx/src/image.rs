//! What GCC says of an image: the structures that its `mkoffload` writes into a program.

use std::ffi::{CStr, c_char, c_uint, c_void};

use shared_abi::gomp::GOMP_VERSION_NVIDIA_PTX;

/// The first version of libgomp's interface whose images may have indirect functions.
const FIRST_WITH_INDIRECT: u32 = 3;

/// A text of PTX.
#[repr(C)]
struct PtxObject {
    code: *const c_char,
    /// With the 0 at its end.
    size: usize,
}

/// A function of the image, with the dimensions that OpenACC gives it.
#[repr(C)]
struct FunctionName {
    name: *const c_char,
    dim: [u16; 3],
}

/// The structure, without the first word of it (what the program `requires`), which
/// libgomp keeps to itself.
#[repr(C)]
struct Description {
    objects: *const PtxObject,
    object_count: c_uint,
    variables: *const *const c_char,
    variable_count: c_uint,
    functions: *const FunctionName,
    function_count: c_uint,
    indirect_count: c_uint,
}

/// An image, as GCC describes it.
#[derive(Debug)]
pub(crate) struct Described {
    /// The texts, which the device links.
    pub(crate) texts: Vec<String>,
    /// The variables that the host knows, in the order of the host's table.
    pub(crate) variables: Vec<String>,
    /// The functions that the host knows: kernels and what is called on the host.
    pub(crate) functions: Vec<String>,
    /// Functions in the image's table of those that are called through pointers.
    pub(crate) indirect: usize,
}

impl Described {
    /// Reads the description at `data`, of an image of version `version`.
    ///
    /// # Safety
    /// `data` is what `GOMP_OFFLOAD_load_image` was called with.
    ///
    /// # Errors
    /// The image is of a later version, or not what it should be.
    pub(crate) unsafe fn read(version: u32, data: *const c_void) -> Result<Self, String> {
        let (lib, dev) = (version >> 16, version & 0xffff);
        if dev > GOMP_VERSION_NVIDIA_PTX {
            return Err(format!(
                "the image is of version {dev} for NVIDIA GPUs, this plugin knows \
                 {GOMP_VERSION_NVIDIA_PTX}: the program was built by a newer GCC"
            ));
        }
        // SAFETY: mkoffload's structure, as the caller vouches.
        let description = unsafe { &*data.cast::<Description>() };
        // SAFETY: arrays of those lengths, by the same promise.
        let (objects, variables, functions) = unsafe {
            (
                slice(description.objects, description.object_count as usize),
                slice(description.variables, description.variable_count as usize),
                slice(description.functions, description.function_count as usize),
            )
        };
        let texts = objects.iter().enumerate().map(|(i, object)| {
            // SAFETY: as many bytes, by the same promise.
            let bytes = unsafe { slice(object.code.cast::<u8>(), object.size) };
            let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
            String::from_utf8(text.to_vec()).map_err(|error| format!("PTX text {i}: {error}"))
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        // SAFETY: C strings, by the same promise.
        let name = |name: *const c_char| unsafe { CStr::from_ptr(name) };
        let plain = |name: &CStr| name.to_string_lossy().into_owned();
        Ok(Self {
            texts,
            variables: variables.iter().map(|&v| plain(name(v))).collect(),
            functions: functions.iter().map(|f| plain(name(f.name))).collect(),
            indirect: if lib >= FIRST_WITH_INDIRECT {
                description.indirect_count as usize
            } else {
                0
            },
        })
    }
}

/// The slice of `count` values at `first`, which may be null if there are none.
///
/// # Safety
/// They are there, for as long as the program's image.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// The function as the program's source has it: GCC's names are mangled for PTX, and those
/// of regions of the host have a suffix.
pub(crate) fn readable(name: &str) -> String {
    let name = name.split("$nohost").next().unwrap_or(name);
    let name = name.replace('$', ".");
    name.split(".nohost").next().unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_named() {
        // SAFETY: the version is looked at first.
        let error = unsafe { Described::read(0x3_0002, std::ptr::null()) }.unwrap_err();
        assert!(error.contains("version 2"), "{error}");
    }

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
        let description = Description {
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
        let read = |version| unsafe { Described::read(version, data) }.unwrap();
        let described = read(0x3_0001);
        assert_eq!(described.texts, [".version 6.0\n"]);
        assert_eq!(described.variables, ["x"]);
        assert_eq!(readable(&described.functions[0]), "main._omp_fn.1");
        assert_eq!((described.indirect, read(0x2_0001).indirect), (5, 0));
    }
}
