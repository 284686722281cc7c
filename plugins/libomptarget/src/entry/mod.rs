//! Functions that programs call.
//!
//! They have the names and the C signatures that LLVM's runtime and OpenMP define, and the linker
//! finds them by name. So each `# Safety` section states what LLVM or OpenMP require of the program
//! and of its compiler: there are no Rust callers.

/// Exports a function, and one with the same body that first waits for dependences. `let` defines a
/// value that differs between the two. The documentation ends with the conditions of `$name`, to which
/// `$nowait` adds one.
macro_rules! with_nowait {
    (
        $(let $value:ident = $plain:expr, $waiting:expr;)?
        $(#[$doc:meta])*
        fn $name:ident, $nowait:ident($($arg:ident: $kind:ty,)*) $(-> $result:ty)? $body:block
    ) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $kind),*) $(-> $result)? {
            $(let $value = $plain;)?
            $body
        }

        $(#[$doc])*
        /// `dependences` and `more` are arrays of libomp's dependences with these lengths.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $nowait(
            $($arg: $kind,)*
            dependence_count: i32,
            dependences: *mut std::ffi::c_void,
            more_count: i32,
            more: *mut std::ffi::c_void,
        ) $(-> $result)? {
            $(let $value = $waiting;)?
            // SAFETY: the arrays have these lengths, by the caller's promise.
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

mod compiler;
mod copy;
mod devices;
mod interop;
mod legacy;
mod memory;

use std::ffi::c_int;

/// The results of OpenMP's routines.
const DONE: c_int = 0;
const FAILED: c_int = !0;
