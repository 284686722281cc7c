//! Large reads and writes of regular files, which move directly between the file and the device's memory
//! where the host can access that.
//!
//! Data for and from other files is mapped like any argument, since such a call may wait for
//! ever: pipes do, and files of `/proc`, which are regular but have no size.

use std::fs::Metadata;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use revoff_fn::__private::Reply;
use shared_abi::map_kind::MapKind;

use super::Services;
use super::errno::{retry, to_reply};
use crate::map::Arg;
use crate::serve::DirectTransfer;

/// The least bytes of a direct transfer: fewer are copied faster than it is prepared.
const LARGE: u64 = 32 << 10;

/// `std_file_read`, without copies.
pub(super) struct DirectRead(pub(super) Arc<Services>);

/// `std_file_write`, without copies.
pub(super) struct DirectWrite(pub(super) Arc<Services>);

impl DirectTransfer for DirectRead {
    fn writes(&self) -> bool {
        true
    }

    fn applies(&self, args: &[Arg]) -> bool {
        applies(&self.0, args, MapKind::FROM, |file| file.len() > 0)
    }

    unsafe fn call(&self, args: &[Arg], place: *mut u8) -> i64 {
        transfer(&self.0, args, |file, len| {
            // SAFETY: the caller's promise: writable for `len` bytes.
            unsafe { libc::read(file, place.cast(), len) }
        })
    }
}

impl DirectTransfer for DirectWrite {
    fn writes(&self) -> bool {
        false
    }

    fn applies(&self, args: &[Arg]) -> bool {
        applies(&self.0, args, MapKind::TO, |_| true)
    }

    unsafe fn call(&self, args: &[Arg], place: *mut u8) -> i64 {
        transfer(&self.0, args, |file, len| {
            // SAFETY: the caller's promise: readable for `len` bytes.
            unsafe { libc::write(file, place.cast(), len) }
        })
    }
}

/// Whether the arguments are those of the declaration, with many bytes of this kind, and the file is regular
/// and `suitable`.
fn applies(
    services: &Services,
    args: &[Arg],
    kind: MapKind,
    suitable: impl FnOnce(Metadata) -> bool,
) -> bool {
    let [handle, bytes, reply] = args else {
        return false;
    };
    let is_declared = handle.kind.plain() == MapKind::FIRSTPRIVATE_INT
        && handle.size == size_of::<u32>() as u64
        && bytes.kind.plain() == kind
        && bytes.is_in_device_memory()
        && reply.kind.plain() == MapKind::FROM
        && reply.size == size_of::<Reply<i64>>() as u64;
    if !is_declared || bytes.size < LARGE {
        return false;
    }
    let open = services.handles.file(handle_of(args));
    let metadata = open.and_then(|open| open.file.metadata());
    metadata.is_ok_and(|metadata| metadata.is_file() && suitable(metadata))
}

/// The value of the first argument, which is in the low bytes of its word.
fn handle_of(args: &[Arg]) -> u32 {
    args[0].addr as u32
}

/// Calls the system with the file and the number of bytes.
fn transfer(services: &Services, args: &[Arg], call: impl Fn(i32, usize) -> isize) -> i64 {
    // Another thread may have closed it meanwhile.
    let open = services.handles.file(handle_of(args));
    to_reply(open.and_then(|open| {
        let file = open.file.as_raw_fd();
        retry(|| {
            u64::try_from(call(file, args[1].size as usize)).map_err(|_| io::Error::last_os_error())
        })
    }))
}
