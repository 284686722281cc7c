//! The emulated driver's functions.

/// Calls a function of the driver, by its name, with arguments of these types. The result is a number.
macro_rules! cu {
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {{
        let function: extern "C" fn($($type),*) -> u32 =
            // SAFETY: the call writes the types of `cuda.h`, or numbers that are passed alike.
            unsafe { $crate::cuda::driver::function(stringify!($name)) };
        function($($argument),*)
    }};
}
pub(crate) use cu;

/// The driver's function with a name.
///
/// # Safety
/// `F` is a type of functions with its ABI: handles and pointers may be numbers of their size.
pub(crate) unsafe fn function<F: Copy>(name: &str) -> F {
    let function = cuda_emu::functions::function(name).expect(name);
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: the address of a function that stays loaded, and by the caller's promise one of type `F`.
    unsafe { std::mem::transmute_copy(&function) }
}

/// The result of a function that has to succeed.
#[track_caller]
pub(crate) fn works(code: u32) {
    assert_eq!(code, 0, "a call that has to succeed");
}
