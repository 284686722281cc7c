//! Large reads and writes without copies.

use std_calls::PipeEnds;

use revoff_fn::__private::Reply;
use shared_abi::map_kind::MapKind;

use super::*;
use crate::map::Arg;
use crate::serve::DirectTransfer;
use crate::services::direct_files::{DirectRead, DirectWrite};

const SIZE: usize = 300_000;

/// The arguments of a call that reads (`FROM`) or writes (`TO`) so many bytes.
fn args(handle: u32, kind: MapKind, bytes: usize) -> [Arg; 3] {
    let reply = size_of::<Reply<i64>>() as u64;
    [
        Arg::new(handle.into(), 4, MapKind::FIRSTPRIVATE_INT),
        Arg::new(4096, bytes as u64, kind.with_align(1)),
        Arg::new(8192, reply, MapKind::FROM.with_align(8)),
    ]
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}

/// Reads into `memory` what the file has.
fn read(services: &Arc<Services>, file: u32, memory: &mut [u8]) -> i64 {
    let (direct, args) = (
        DirectRead(Arc::clone(services)),
        args(file, MapKind::FROM, memory.len()),
    );
    // SAFETY: all of `memory` is writable.
    unsafe { direct.call(&args, memory.as_mut_ptr()) }
}

fn write(services: &Arc<Services>, file: u32, memory: &[u8]) -> i64 {
    let (direct, args) = (
        DirectWrite(Arc::clone(services)),
        args(file, MapKind::TO, memory.len()),
    );
    // SAFETY: all of `memory` is readable, and a write does not change it.
    unsafe { direct.call(&args, memory.as_ptr().cast_mut()) }
}

#[test]
fn reads_fill_as_much_as_there_is() {
    in_both(|services, folder| {
        for len in [0, 1, 200_000, SIZE, SIZE + 1] {
            fs::write(folder.path("file"), pattern(len)).unwrap();
            let file = opened(services, "file", open::READ);
            let mut memory = vec![0xee; SIZE];
            let count = len.min(SIZE);
            assert_eq!(read(services, file, &mut memory), count as i64);
            assert!(memory[..count] == pattern(count), "{len} bytes");
            assert!(memory[count..].iter().all(|&byte| byte == 0xee));
            assert_eq!(services.seek(file, 0, 1).unwrap(), count as u64);
        }
    });
}

#[test]
fn writes_take_all() {
    in_both(|services, folder| {
        let file = opened(services, "file", open::WRITE | open::CREATE);
        assert_eq!(write(services, file, &pattern(SIZE)), SIZE as i64);
        assert!(fs::read(folder.path("file")).unwrap() == pattern(SIZE));
    });
}

#[test]
fn errors_are_replies() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        let file = opened(services, "file", open::READ);
        let bad = i64::from(-libc::EBADF);
        assert_eq!(write(services, file, &pattern(SIZE)), bad);
        services.close(file).unwrap();
        assert_eq!(read(services, file, &mut pattern(SIZE)), bad);
        assert_eq!(write(services, file, &pattern(SIZE)), bad);
    });
}

#[test]
fn other_calls_are_mapped() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        let options = open::READ | open::WRITE;
        let file = opened(services, "file", options);
        let empty = opened(services, "empty", options | open::CREATE);
        let direct = DirectRead(Arc::clone(services));
        let writes = DirectWrite(Arc::clone(services));
        assert!(direct.applies(&args(file, MapKind::FROM, 32 << 10)));
        assert!(!direct.applies(&args(file, MapKind::FROM, (32 << 10) - 1)));
        assert!(writes.applies(&args(file, MapKind::TO, SIZE)));
        assert!(!direct.applies(&args(file, MapKind::TO, SIZE)));
        assert!(!writes.applies(&args(file, MapKind::FROM, SIZE)));
        assert!(!direct.applies(&args(empty, MapKind::FROM, SIZE)));
        assert!(writes.applies(&args(empty, MapKind::TO, SIZE)));
        assert!(!direct.applies(&args(u32::MAX, MapKind::FROM, SIZE)));
        assert!(!direct.applies(&args(file, MapKind::FROM, SIZE)[..2]));
        let mut ends = PipeEnds::default();
        services.pipe(&mut ends).unwrap();
        assert!(!direct.applies(&args(ends.reader, MapKind::FROM, SIZE)));
        assert!(!writes.applies(&args(ends.writer, MapKind::TO, SIZE)));
        let odd = |index: usize, arg: Arg| {
            let mut args = args(file, MapKind::FROM, SIZE);
            args[index] = arg;
            direct.applies(&args)
        };
        assert!(!odd(0, Arg::new(file.into(), 8, MapKind::FIRSTPRIVATE_INT)));
        assert!(!odd(0, Arg::new(file.into(), 4, MapKind::TO)));
        assert!(!odd(2, Arg::new(8192, 8, MapKind::FROM)));
        assert!(!odd(2, Arg::new(8192, 16, MapKind::TO)));
    });
}

/// A read of such a file may wait for ever.
#[test]
fn files_without_a_size_are_mapped() {
    let services = build(Services::builder().allow_all_files());
    let file = opened(&services, "/proc/self/status", open::READ);
    let direct = DirectRead(Arc::clone(&services));
    assert!(!direct.applies(&args(file, MapKind::FROM, SIZE)));
}
