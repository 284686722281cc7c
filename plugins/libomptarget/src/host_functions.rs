//! Functions of a program that its device code calls.
//!
//! An image that has device-rt names the host functions that it calls. They are C functions
//! of the same names, exported by the executable or the library that registers the image.

use std::ffi::{CString, c_void};

use host_rt::{Functions, Image, RawFunction};

/// The functions that `image` may call, of the object that has the descriptor, and of the
/// executable.
///
/// # Errors
/// The image says of its functions what cannot be.
pub(crate) fn of(image: &Image, descriptor: usize) -> host_rt::Result<Functions> {
    let mut functions = Functions::new();
    let own = object_of(descriptor as *const c_void);
    for declared in image.functions()? {
        let Some(address) = find(&declared.name) else {
            tracing::warn!(
                function = declared.name,
                "no such host function; is it exported (-rdynamic)?"
            );
            continue;
        };
        // A function of a library that merely has this name, such as libc's, is none.
        let object = object_of(address);
        if object.is_none() || (object != own && object != executable()) {
            continue;
        }
        // SAFETY: a symbol of the program's own code by the name of a function that its own
        // device code calls is taken to be that function, which has this type.
        let function = unsafe { std::mem::transmute::<*const c_void, RawFunction>(address) };
        // SAFETY: program and image are built together; what one sends the other takes.
        unsafe { functions.add_raw(&declared.name, function)? };
    }
    Ok(functions)
}

fn find(name: &str) -> Option<*const c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: a C string; the search has no other conditions.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found.cast_const())
}

/// Where the object begins that an address lies in.
fn object_of(address: *const c_void) -> Option<usize> {
    // SAFETY: zeros are a value of it, a structure of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; the result is ours.
    let found = unsafe { libc::dladdr(address, &raw mut info) };
    (found != 0).then(|| info.dli_fbase.addr())
}

/// Where the executable begins.
fn executable() -> Option<usize> {
    // SAFETY: reads what the kernel has told the process.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
    object_of(headers as usize as *const c_void)
}
