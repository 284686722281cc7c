//! Large reads and writes, without a device.

use std::cell::RefCell;
use std::slice;

use shared_abi::map_kind::MapKind;
use std_calls::PipeEnds;

use super::*;
use crate::device::{DeviceAddr, DeviceError};
use crate::map::Arg;
use crate::serve::{DirectTransfer, RequestMemory};
use crate::services::direct_files::DirectFile;

/// The address of the memory of a device.
const BASE: u64 = 4096;
/// Its size: not a whole number of pieces.
const SIZE: usize = 300_000;
/// The argument for the reply, behind the data.
const REPLY: u64 = BASE + SIZE as u64;

/// A device's memory, and whether the host accesses it in place.
struct Memory {
    bytes: RefCell<Vec<u8>>,
    is_in_place: bool,
}

impl Memory {
    fn new(is_in_place: bool, byte: u8) -> Self {
        let mut bytes = vec![byte; SIZE + 16];
        bytes[SIZE..].fill(0);
        Self {
            bytes: RefCell::new(bytes),
            is_in_place,
        }
    }

    /// The reply, if the function has run.
    fn reply(&self) -> Option<i64> {
        let bytes = self.bytes.borrow();
        let (value, done) = bytes[SIZE..].split_at(8);
        let value = i64::from_le_bytes(value.try_into().unwrap());
        (done == b"returned").then_some(value)
    }

    fn with<R>(
        &self,
        address: u64,
        len: usize,
        act: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, DeviceError> {
        let mut bytes = self.bytes.borrow_mut();
        let start = (address - BASE) as usize;
        let range = bytes.get_mut(start..start + len);
        range.map(act).ok_or(DeviceError::Unreachable {
            address: DeviceAddr(address),
            len: len as u64,
            what: "not there",
        })
    }
}

impl RequestMemory for Memory {
    unsafe fn read(&self, to: *mut u8, from: u64, len: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let to = unsafe { slice::from_raw_parts_mut(to, len) };
        self.with(from, len, |bytes| to.copy_from_slice(bytes))
    }

    unsafe fn write(&self, to: u64, from: *const u8, len: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        let from = unsafe { slice::from_raw_parts(from, len) };
        self.with(to, len, |bytes| bytes.copy_from_slice(from))
    }

    fn in_place(
        &self,
        address: u64,
        len: usize,
        _writes: bool,
        access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> Result<Option<usize>, DeviceError> {
        if !self.is_in_place {
            return Ok(None);
        }
        self.with(address, len, |bytes| Some(access(bytes.as_mut_ptr())))
    }
}

/// The arguments of a call that reads (`FROM`) or writes (`TO`) so many bytes.
fn args(handle: u32, kind: MapKind, bytes: usize) -> [Arg; 3] {
    [
        Arg::new(handle.into(), 4, MapKind::FIRSTPRIVATE_INT),
        Arg::new(BASE, bytes as u64, kind.with_align(1)),
        Arg::new(REPLY, 16, MapKind::FROM.with_align(8)),
    ]
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}

#[test]
fn reads_fill_as_much_as_there_is() {
    in_both(|services, folder| {
        // Less than the memory, with and without a part of a piece; and more.
        for len in [0, 1, 128 << 10, 200_000, SIZE, SIZE + 1] {
            fs::write(folder.path("file"), pattern(len)).unwrap();
            for is_in_place in [true, false] {
                let file = opened(services, "file", open::READ);
                let memory = Memory::new(is_in_place, 0xee);
                let (direct, args) = (DirectFile::read(services), args(file, MapKind::FROM, SIZE));
                assert!(direct.applies(&args));
                direct.call(&args, &memory).unwrap();
                let read = len.min(SIZE);
                assert_eq!(memory.reply(), Some(read as i64));
                let bytes = memory.bytes.borrow();
                assert!(bytes[..read] == pattern(read), "{len} bytes");
                assert!(bytes[read..SIZE].iter().all(|&byte| byte == 0xee));
                assert_eq!(services.seek(file, 0, 1).unwrap(), read as u64);
            }
        }
    });
}

#[test]
fn writes_take_all() {
    in_both(|services, folder| {
        for is_in_place in [true, false] {
            let options = open::WRITE | open::CREATE | open::TRUNCATE;
            let file = opened(services, "file", options);
            let memory = Memory::new(is_in_place, 7);
            let (direct, args) = (DirectFile::write(services), args(file, MapKind::TO, SIZE));
            assert!(direct.applies(&args));
            direct.call(&args, &memory).unwrap();
            assert_eq!(memory.reply(), Some(SIZE as i64));
            assert!(fs::read(folder.path("file")).unwrap() == vec![7; SIZE]);
        }
    });
}

#[test]
fn errors_are_replies() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        for is_in_place in [true, false] {
            let file = opened(services, "file", open::READ);
            let memory = Memory::new(is_in_place, 0);
            let (direct, args) = (DirectFile::write(services), args(file, MapKind::TO, SIZE));
            direct.call(&args, &memory).unwrap();
            assert_eq!(memory.reply(), Some(i64::from(-libc::EBADF)));
            // As another thread may do between the two.
            assert!(direct.applies(&args));
            services.close(file).unwrap();
            let memory = Memory::new(is_in_place, 0);
            direct.call(&args, &memory).unwrap();
            assert_eq!(memory.reply(), Some(i64::from(-libc::EBADF)));
        }
    });
}

#[test]
fn memory_that_is_not_there_fails_the_call() {
    in_both(|services, folder| {
        fs::write(folder.path("file"), pattern(2 * SIZE)).unwrap();
        for is_in_place in [true, false] {
            let file = opened(services, "file", open::READ);
            let memory = Memory::new(is_in_place, 0);
            let direct = DirectFile::read(services);
            let result = direct.call(&args(file, MapKind::FROM, 2 * SIZE), &memory);
            result.unwrap_err();
            assert_eq!(memory.reply(), None);
        }
    });
}

#[test]
fn other_calls_are_mapped() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        let file = opened(services, "file", open::READ);
        let direct = DirectFile::read(services);
        assert!(direct.applies(&args(file, MapKind::FROM, 32 << 10)));
        assert!(!direct.applies(&args(file, MapKind::FROM, (32 << 10) - 1)));
        assert!(!direct.applies(&args(file, MapKind::TO, SIZE)));
        assert!(!direct.applies(&args(file + 1, MapKind::FROM, SIZE)));
        assert!(!direct.applies(&args(file, MapKind::FROM, SIZE)[..2]));
        let mut ends = PipeEnds::default();
        services.pipe(&mut ends).unwrap();
        for pipe in [ends.reader, ends.writer] {
            assert!(!direct.applies(&args(pipe, MapKind::FROM, SIZE)));
        }
        let odd = |index: usize, arg: Arg| {
            let mut args = args(file, MapKind::FROM, SIZE);
            args[index] = arg;
            direct.applies(&args)
        };
        assert!(!odd(0, Arg::new(file.into(), 8, MapKind::FIRSTPRIVATE_INT)));
        assert!(!odd(0, Arg::new(file.into(), 4, MapKind::TO)));
        assert!(!odd(2, Arg::new(REPLY, 8, MapKind::FROM)));
        assert!(!odd(2, Arg::new(REPLY, 16, MapKind::TO)));
    });
}
