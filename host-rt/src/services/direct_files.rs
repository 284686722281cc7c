//! Large reads and writes of regular files, which move directly between the file and the device's memory,
//! or piece by piece where that is elsewhere.
//!
//! What is read from or written to other files, such as pipes, is mapped like any argument: a direct
//! transfer must not wait for long.

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use host_fn::Reply;
use shared_abi::map_kind::MapKind;

use super::Services;
use super::errno::{retry, to_reply};
use crate::device::DeviceError;
use crate::map::Arg;
use crate::serve::{DirectTransfer, RequestMemory};

/// The least bytes of a direct transfer: a smaller one is faster with a copy than with the preparations.
const LARGE: u64 = 32 << 10;

/// The bytes of a piece: few enough to stay in a core's cache between their two copies.
const PIECE: usize = 128 << 10;

/// The memory of a piece. Some processors copy several times more slowly to unaligned memory.
#[repr(align(4096))]
struct Piece([u8; PIECE]);

/// The direct transfer of `std_file_read` and `std_file_write`.
pub(super) struct DirectFile {
    services: Arc<Services>,
    direction: Direction,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Read,
    Write,
}

impl DirectFile {
    pub(super) fn read(services: &Arc<Services>) -> Box<Self> {
        Self::new(services, Direction::Read)
    }

    pub(super) fn write(services: &Arc<Services>) -> Box<Self> {
        Self::new(services, Direction::Write)
    }

    fn new(services: &Arc<Services>, direction: Direction) -> Box<Self> {
        let services = Arc::clone(services);
        Box::new(Self {
            services,
            direction,
        })
    }

    /// Moves bytes, and returns their number.
    fn transfer(
        &self,
        file: &File,
        bytes: &Arg,
        memory: &dyn RequestMemory,
    ) -> Result<io::Result<u64>, DeviceError> {
        let mut result = Ok(0);
        // No loss: addresses of the host have as many bits.
        let len = bytes.size as usize;
        let writes = self.direction == Direction::Read;
        let done = memory.in_place(bytes.addr, len, writes, &mut |place| {
            // SAFETY: the memory is valid for all of `len` while this runs. Device threads may access it
            // meanwhile, as they may while any system call does.
            result = retry(|| unsafe { self.direction.system_call(file, place.cast(), len) });
            *result.as_ref().unwrap_or(&0)
        })?;
        match done {
            Some(_) => Ok(result.map(|count| count as u64)),
            None => self.move_pieces(file, bytes, memory),
        }
    }

    /// Moves bytes until one piece is not moved as a whole. An error after the first piece comes again with
    /// the program's next call.
    fn move_pieces(
        &self,
        mut file: &File,
        bytes: &Arg,
        memory: &dyn RequestMemory,
    ) -> Result<io::Result<u64>, DeviceError> {
        let mut piece = Piece([0; PIECE]);
        let mut moved = 0;
        while moved < bytes.size {
            let address = bytes.addr + moved;
            let rest = (bytes.size - moved).min(PIECE as u64) as usize;
            let result = match self.direction {
                Direction::Read => {
                    let result = retry(|| file.read(&mut piece.0[..rest]));
                    if let Ok(count) = result {
                        // SAFETY: the first `count` bytes of `piece` are readable.
                        unsafe { memory.write(address, piece.0.as_ptr(), count) }?;
                    }
                    result
                }
                Direction::Write => {
                    // SAFETY: `piece` is writable for `rest` bytes, at most `PIECE`.
                    unsafe { memory.read(piece.0.as_mut_ptr(), address, rest) }?;
                    retry(|| file.write(&piece.0[..rest]))
                }
            };
            match result {
                Err(error) if moved == 0 => return Ok(Err(error)),
                Ok(count) if count == rest => moved += count as u64,
                result => {
                    moved += result.unwrap_or(0) as u64;
                    break;
                }
            }
        }
        Ok(Ok(moved))
    }
}

impl Direction {
    /// # Safety
    /// `place` is valid for `len` bytes.
    unsafe fn system_call(self, file: &File, place: *mut c_void, len: usize) -> io::Result<usize> {
        let file = file.as_raw_fd();
        // SAFETY: the caller's promise.
        let count = unsafe {
            match self {
                Self::Read => libc::read(file, place, len),
                Self::Write => libc::write(file, place, len),
            }
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

impl DirectTransfer for DirectFile {
    fn applies(&self, args: &[Arg]) -> bool {
        let Some(call) = Call::of(args, self.direction) else {
            return false;
        };
        let open = self.services.handles.file(call.handle);
        let metadata = open.and_then(|open| open.file.metadata());
        metadata.is_ok_and(|metadata| metadata.is_file())
    }

    fn call(&self, args: &[Arg], memory: &dyn RequestMemory) -> Result<(), DeviceError> {
        let Some(call) = Call::of(args, self.direction) else {
            unreachable!("`applies` returned true")
        };
        // Another thread may have closed it meanwhile.
        let moved = match self.services.handles.file(call.handle) {
            Ok(open) => self.transfer(&open.file, call.bytes, memory)?,
            Err(error) => Err(error),
        };
        let reply = Reply::done(to_reply(moved));
        let bytes = &raw const reply;
        // SAFETY: `reply` is readable. It has no padding.
        unsafe { memory.write(call.reply.addr, bytes.cast(), size_of_val(&reply)) }
    }
}

/// The arguments of both functions: as declared, with many bytes.
struct Call<'a> {
    handle: u32,
    bytes: &'a Arg,
    reply: &'a Arg,
}

impl<'a> Call<'a> {
    fn of(args: &'a [Arg], direction: Direction) -> Option<Self> {
        let [handle, bytes, reply] = args else {
            return None;
        };
        let kind_of_bytes = match direction {
            Direction::Read => MapKind::FROM,
            Direction::Write => MapKind::TO,
        };
        let is_call = handle.kind.plain() == MapKind::FIRSTPRIVATE_INT
            && handle.size == size_of::<u32>() as u64
            && bytes.kind.plain() == kind_of_bytes
            && bytes.size >= LARGE
            && bytes.is_in_device_memory()
            && reply.kind.plain() == MapKind::FROM
            && reply.size == size_of::<Reply<i64>>() as u64;
        is_call.then_some(Self {
            // A value is in the low bytes of its word.
            handle: handle.addr as u32,
            bytes,
            reply,
        })
    }
}
