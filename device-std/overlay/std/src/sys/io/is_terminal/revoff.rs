use crate::fs::File;
use crate::io::{Stderr, StderrLock, Stdin, StdinLock, Stdout, StdoutLock};
use crate::sys::pal::host::std_is_terminal;

/// Types that may be a terminal.
pub trait Stream {
    /// The number of the standard stream; files of the device are none.
    const NUMBER: Option<u32>;
}

macro_rules! streams {
    ($($ty:ty: $number:expr;)*) => {
        $(
            impl Stream for $ty {
                const NUMBER: Option<u32> = $number;
            }
        )*
    };
}

streams! {
    File: None;
    Stdin: Some(0);
    StdinLock<'_>: Some(0);
    Stdout: Some(1);
    StdoutLock<'_>: Some(1);
    Stderr: Some(2);
    StderrLock<'_>: Some(2);
}

pub fn is_terminal<S: Stream>(_: &S) -> bool {
    S::NUMBER.is_some_and(|number| std_is_terminal(number) == 1)
}
