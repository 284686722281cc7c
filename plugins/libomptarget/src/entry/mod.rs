//! Functions that programs call.

/// Exports a function, and one with the same body that first waits for dependences. `let` defines a
/// value that differs between the two.
macro_rules! with_nowait {
    (
        $(let $value:ident = $plain:expr, $waiting:expr;)?
        fn $name:ident, $nowait:ident($($arg:ident: $kind:ty,)*) $(-> $result:ty)? $body:block
    ) => {
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $kind),*) $(-> $result)? {
            $(let $value = $plain;)?
            $body
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $nowait(
            $($arg: $kind,)*
            dependence_count: i32,
            dependences: *mut std::ffi::c_void,
            more_count: i32,
            more: *mut std::ffi::c_void,
        ) $(-> $result)? {
            $(let $value = $waiting;)?
            // SAFETY: the caller passes lists of dependences of these lengths, as the modules with
            // these functions require.
            unsafe {
                crate::task::depend::wait_for_dependences(
                    dependence_count,
                    dependences,
                    more_count,
                    more,
                );
            }
            $body
        }
    };
}

mod api;
mod compiler;
mod interop;
mod legacy;
