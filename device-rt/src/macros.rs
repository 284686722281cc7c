//! The macros of `std` for kernels: printing and assertions.

/// Prints to the host's standard output, like `std`'s macro. Each print is a call to the host.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::print::formatted($crate::print::Stream::Output, ::core::format_args!($($text)*), false)
    };
}

/// Prints a line to the host's standard output, like `std`'s macro. The lines of other threads do not
/// come between its parts, however long it is.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print::formatted($crate::print::Stream::Output, ::core::format_args!(""), true)
    };
    ($($text:tt)+) => {
        $crate::print::formatted($crate::print::Stream::Output, ::core::format_args!($($text)+), true)
    };
}

/// [`print!`](crate::print!) to the host's standard error.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => {
        $crate::print::formatted($crate::print::Stream::Error, ::core::format_args!($($text)*), false)
    };
}

/// [`println!`](crate::println!) to the host's standard error.
#[macro_export]
macro_rules! eprintln {
    () => {
        $crate::print::formatted($crate::print::Stream::Error, ::core::format_args!(""), true)
    };
    ($($text:tt)+) => {
        $crate::print::formatted($crate::print::Stream::Error, ::core::format_args!($($text)+), true)
    };
}

/// Prints an expression with its location and its value to the host's standard error, and returns the
/// value, like `std`'s macro.
#[macro_export]
macro_rules! dbg {
    () => {
        $crate::print::formatted(
            $crate::print::Stream::Error,
            ::core::format_args!("[{}:{}:{}]", ::core::file!(), ::core::line!(), ::core::column!()),
            true,
        )
    };
    // A `match`, so that temporaries of the expression live as long as those of the caller's
    // statement.
    ($value:expr $(,)?) => {
        match $value {
            value => {
                $crate::print::debug(::core::stringify!($value), &value);
                value
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($(match $value {
            value => {
                $crate::print::debug(::core::stringify!($value), &value);
                value
            }
        }),+,)
    };
}

/// Ends the launch if the condition is false, like `core`'s macro, and reports the message and the
/// thread as well as the location, also on GPUs: there on the host's standard error, by a call to the
/// host. `core`'s macro reports only the location there, and takes less code.
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::assertion::failed(::core::format_args!(
                "{}",
                ::core::concat!("assertion failed: ", ::core::stringify!($condition))
            ))
        }
    };
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::assertion::failed(::core::format_args!($($message)+))
        }
    };
}

/// [`assert!`](crate::assert!) that two values are equal; reports both.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left == *right) {
                    let message = ::core::option::Option::None;
                    $crate::assertion::comparison_failed("==", left, right, message)
                }
            }
        }
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left == *right) {
                    let message = ::core::option::Option::Some(::core::format_args!($($message)+));
                    $crate::assertion::comparison_failed("==", left, right, message)
                }
            }
        }
    };
}

/// [`assert!`](crate::assert!) that two values differ; reports both.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left != *right) {
                    let message = ::core::option::Option::None;
                    $crate::assertion::comparison_failed("!=", left, right, message)
                }
            }
        }
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left != *right) {
                    let message = ::core::option::Option::Some(::core::format_args!($($message)+));
                    $crate::assertion::comparison_failed("!=", left, right, message)
                }
            }
        }
    };
}
