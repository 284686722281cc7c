//! The emulated runtime's functions.

use hsa_runtime_sys::{HSA_STATUS_SUCCESS, hsa_status_t};

/// Calls a function of the runtime, by its name, with arguments of these types.
macro_rules! hsa {
    ($name:ident($($argument:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let function: extern "C" fn($($type),*) -> $result =
            // SAFETY: the call writes the types of `hsa.h`, or numbers that are passed alike.
            unsafe { $crate::hsa::runtime::function(stringify!($name)) };
        function($($argument),*)
    }};
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {
        hsa!($name($($argument => $type),*) -> hsa_status_t)
    };
}
pub(crate) use hsa;

/// The runtime's function with a name.
///
/// # Safety
/// `F` is a type of functions with its ABI: handles and pointers may be numbers of their size.
pub(crate) unsafe fn function<F: Copy>(name: &str) -> F {
    let function = hsa_emu::functions::function(name).expect(name);
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: the address of a function that stays loaded, and by the caller's promise one of type `F`.
    unsafe { std::mem::transmute_copy(&function) }
}

/// The status of a function that has to succeed.
#[track_caller]
pub(crate) fn works(status: hsa_status_t) {
    assert_eq!(status, HSA_STATUS_SUCCESS, "a call that has to succeed");
}
