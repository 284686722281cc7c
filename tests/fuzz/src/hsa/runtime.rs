//! The emulated runtime's functions.

use hsa_runtime_sys::{HSA_STATUS_SUCCESS, hsa_status_t};

/// Calls a function of the runtime, by its name, with arguments of these types.
macro_rules! hsa {
    ($name:ident($($argument:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let function: extern "C" fn($($type),*) -> $result =
            $crate::hsa::runtime::function(stringify!($name));
        function($($argument),*)
    }};
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {
        hsa!($name($($argument => $type),*) -> hsa_status_t)
    };
}
pub(crate) use hsa;

/// The runtime's function with a name.
pub(crate) fn function<F: Copy>(name: &str) -> F {
    let function = hsa_emu::functions::function(name).expect(name);
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: `F` is the function's type, as the caller writes it.
    unsafe { std::mem::transmute_copy(&function) }
}

/// The status of a function that has to succeed.
#[track_caller]
pub(crate) fn works(status: hsa_status_t) {
    assert_eq!(status, HSA_STATUS_SUCCESS, "a call that has to succeed");
}
