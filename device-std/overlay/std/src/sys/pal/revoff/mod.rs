//! The platform layer for device images of revoff: the host is the operating system.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(dead_code)]

#[macro_use]
mod calls;
mod constants;
pub mod futex;
mod handle;

pub use self::calls::{
    ChildStreams, FileStatus, FileTimes, PipeEnds, SocketAddress, StartedChild,
};
pub use self::constants::{
    LOOKUP_FAILED, NO_TIME, RUNNING, lock, open, shutdown, socket_option,
};
pub use self::handle::Handle;
use crate::ffi::OsString;
use crate::io;
use crate::path::PathBuf;

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

macro_rules! declare_unsafe {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $ty:ty),*) -> $result:ty;)*) => {
        unsafe extern "Rust" {
            $($(#[$doc])* pub unsafe fn $name($($parameter: $ty),*) -> $result;)*
        }
    };
}

/// Functions on the device.
pub mod device {
    use crate::sync::atomic::AtomicU32;

    for_each_device_function!(declare);
    for_each_unsafe_device_function!(declare_unsafe);
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

/// Ends the program after a panic, whose message has been printed: with the status that a panic in
/// `main` has everywhere.
pub fn end_after_panic() -> ! {
    io::flush_stdout();
    device::std_exit(101)
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

/// The most bytes that one read or write of the program moves: a call may carry more, but not without
/// limit, and std allows fewer.
const LONGEST: usize = 16 << 20;

/// The bytes that one write moves.
pub fn front(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(LONGEST)]
}

/// The bytes that one read fills.
pub fn front_mut(bytes: &mut [u8]) -> &mut [u8] {
    let len = bytes.len().min(LONGEST);
    &mut bytes[..len]
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

/// Bytes of the host as text.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    // SAFETY: any bytes are an `OsString` of this platform.
    unsafe { OsString::from_encoded_bytes_unchecked(bytes) }
}

/// A path that only the host knows: see `text`.
pub fn host_path(fill: impl FnMut(&mut [u8]) -> i64) -> io::Result<PathBuf> {
    Ok(os_string(text(fill)?).into())
}

/// The elements of a list, each of which a NUL follows.
pub fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split_inclusive(|byte| *byte == 0).map(|element| &element[..element.len() - 1])
}
