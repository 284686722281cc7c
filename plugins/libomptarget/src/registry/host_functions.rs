//! Functions of a program that its device code calls.
//!
//! An image that has device-rt names the host functions that it calls. They are C functions
//! of the same names, exported by the executable or the library that registers the image.

use revoff_host::{Functions, Image};

use super::host_call::{self, HostCall};
use super::objects::Objects;
use crate::report::message;

/// The functions that `image` may call: those of the object with the descriptor, and those of the
/// executable.
///
/// # Errors
/// The image's list of functions is invalid.
pub(crate) fn of(
    image: &Image,
    descriptor: usize,
) -> revoff_host::Result<Functions, revoff_host::RuntimeError> {
    let mut functions = Functions::new();
    let program = Objects::of(descriptor);
    for declared in image.functions()? {
        if declared.name == host_call::NAME {
            functions.add(HostCall(program))?;
        } else if let Some(function) = program.function(&declared.name) {
            // SAFETY: program and image are built together, so their types agree.
            unsafe { functions.add_raw(&declared.name, function)? };
        } else {
            message::message(&format!(
                "device code calls host function `{}`, which {} does not export: define it there, not static, \
                 and link with -rdynamic",
                declared.name,
                program.name()
            ));
        }
    }
    Ok(functions)
}
