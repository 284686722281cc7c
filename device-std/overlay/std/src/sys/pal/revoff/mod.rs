//! The platform layer for device images of revoff: the host is the operating system.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(dead_code)]

#[macro_use]
mod calls;
pub mod futex;
mod handle;

pub use self::calls::{
    ChildStreams, FileStatus, FileTimes, LOOKUP_FAILED, NO_TIME, PipeEnds, RUNNING, SocketAddress,
    StartedChild, shutdown, socket_option,
};
pub use self::handle::Handle;
use crate::io;

macro_rules! declare {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        unsafe extern "Rust" {
            $($(#[$doc])* pub safe fn $name($($parameter: $ty),*) -> $result;)*
        }
    };
}

/// Calls to the host.
pub mod host {
    use super::{ChildStreams, FileStatus, FileTimes, PipeEnds, SocketAddress, StartedChild};
    for_each_call!(declare);
}

/// Functions on the device.
pub mod device {
    for_each_device_function!(declare);
}

// SAFETY: must be called only once during runtime initialization.
pub unsafe fn init(_argc: isize, _argv: *const *const u8, _sigpipe: u8) {}

// SAFETY: must be called only once during runtime cleanup.
pub unsafe fn cleanup() {}

pub fn unsupported<T>() -> io::Result<T> {
    Err(unsupported_err())
}

pub fn unsupported_err() -> io::Error {
    io::Error::UNSUPPORTED_PLATFORM
}

pub fn abort_internal() -> ! {
    device::std_abort()
}

/// The result of a call to the host.
pub fn result(returned: i64) -> io::Result<u64> {
    if returned < 0 {
        Err(io::Error::from_raw_os_error((-returned) as i32))
    } else {
        Ok(returned as u64)
    }
}

/// A text whose length only the host knows: `fill` gets a buffer and returns the length.
pub fn text(mut fill: impl FnMut(&mut [u8]) -> i64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 256];
    loop {
        let len = result(fill(&mut bytes))? as usize;
        if len <= bytes.len() {
            bytes.truncate(len);
            return Ok(bytes);
        }
        bytes.resize(len, 0);
    }
}

/// The elements of a list, each of which a NUL follows.
pub fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split_inclusive(|byte| *byte == 0).map(|element| &element[..element.len() - 1])
}
