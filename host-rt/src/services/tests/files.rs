//! Operations on open files.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std_calls::{FileTimes, NO_TIME, lock};

use super::*;

pub(super) fn times(accessed: i64, modified: i64) -> FileTimes {
    FileTimes { accessed, modified }
}

const NEW: u32 = open::READ | open::WRITE | open::CREATE_NEW;

#[test]
fn files_are_written_and_read() {
    in_both(|services, folder| {
        let file = opened(services, "new", NEW);
        assert_eq!(services.file_write(file, b"hello world").unwrap(), 11);
        assert_eq!(services.file_read(file, &mut [0; 4]).unwrap(), 0);
        assert_eq!(services.seek(file, 6, 0).unwrap(), 6);
        let mut buffer = [0; 3];
        assert_eq!(services.file_read(file, &mut buffer).unwrap(), 3);
        assert_eq!(&buffer, b"wor");
        assert_eq!(services.file_read(file, &mut []).unwrap(), 0);
        assert_eq!(services.file_write(file, b"").unwrap(), 0);
        assert_eq!(services.sync(file, 0).unwrap(), 0);
        assert_eq!(services.sync(file, 1).unwrap(), 0);
        assert_eq!(services.close(file).unwrap(), 0);
        assert_eq!(fs::read(folder.path("new")).unwrap(), b"hello world");
    });
}

#[test]
fn a_full_disk_is_an_error_of_the_call() {
    let services = build(Services::builder().allow_all_files());
    let file = opened(&services, "/dev/full", open::WRITE);
    for _ in 0..2 {
        assert_eq!(number(services.file_write(file, b"lost")), libc::ENOSPC);
    }
    assert_eq!(services.close(file).unwrap(), 0);
}

#[test]
fn positions_move_as_on_linux() {
    in_both(|services, folder| {
        folder.file("file", "0123456789");
        let file = opened(services, "file", open::READ);
        assert_eq!(services.seek(file, 4, 0).unwrap(), 4);
        assert_eq!(services.seek(file, -3, 1).unwrap(), 1);
        assert_eq!(services.seek(file, -2, 2).unwrap(), 8);
        assert_eq!(services.seek(file, 5, 2).unwrap(), 15);
        assert_eq!(services.file_read(file, &mut [0; 4]).unwrap(), 0);
        for (offset, whence) in [(-1, 0), (i64::MIN, 0), (-16, 1), (-11, 2), (0, 3)] {
            assert_eq!(number(services.seek(file, offset, whence)), libc::EINVAL);
        }
        assert_eq!(services.seek(file, 0, 1).unwrap(), 15);
    });
}

#[test]
fn options_have_their_meaning() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        let code = |path: &[u8], options| number(services.open(path, options, 0o600));

        assert_eq!(code(b"missing", open::READ), libc::ENOENT);
        assert_eq!(code(b"missing", open::WRITE), libc::ENOENT);
        assert_eq!(code(b"missing/file", NEW), libc::ENOENT);
        assert_eq!(code(b"file/below", NEW), libc::ENOTDIR);
        assert_eq!(code(b"file/", open::READ), libc::ENOTDIR);
        assert_eq!(code(b"file", NEW), libc::EEXIST);
        assert_eq!(code(b".", open::WRITE), libc::EISDIR);

        let file = opened(services, "file", open::APPEND);
        assert_eq!(services.file_write(file, b", more").unwrap(), 6);
        assert_eq!(number(services.file_read(file, &mut [0])), libc::EBADF);
        assert_eq!(contents(services, "file"), b"contents, more");

        let file = opened(services, "file", open::READ);
        assert_eq!(number(services.file_write(file, b"x")), libc::EBADF);
        assert_eq!(number(services.truncate(file, 0)), libc::EINVAL);

        opened(services, "file", open::WRITE | open::CREATE);
        assert_eq!(contents(services, "file"), b"contents, more");
        opened(services, "file", open::WRITE | open::TRUNCATE);
        assert_eq!(contents(services, "file"), b"");
    });
}

#[test]
fn invalid_options_change_nothing() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        for options in [
            0,
            64,
            1 << 31,
            u32::MAX,
            open::READ | 64,
            open::CREATE,
            open::READ | open::CREATE,
            open::READ | open::TRUNCATE,
            open::APPEND | open::TRUNCATE,
        ] {
            for path in [b"file".as_slice(), b"new"] {
                let error = number(services.open(path, options, 0o600));
                assert_eq!(error, libc::EINVAL, "{options}");
            }
        }
        assert_eq!(contents(services, "file"), b"contents");
        assert!(!folder.path("new").exists());
    });
}

#[test]
fn a_new_file_has_its_mode() {
    in_both(|services, folder| {
        // Bits that no usual umask removes, and one that is no permission.
        services.open(b"new", NEW, 0o1_000_500).unwrap();
        let mode = fs::metadata(folder.path("new")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o500);
    });
}

#[test]
fn a_folder_can_be_opened_but_not_read() {
    in_both(|services, _| {
        let folder = opened(services, ".", open::READ);
        assert_eq!(
            number(services.file_read(folder, &mut [0; 4])),
            libc::EISDIR
        );
        let mut status = UNKNOWN;
        services.file_status(folder, &mut status).unwrap();
        assert_eq!(status.kind, FileStatus::DIRECTORY);
    });
}

#[test]
fn handles_are_checked() {
    let folder = TempFolder::new();
    folder.file("file", "contents");
    let services = &both(&folder.0)[1];
    let directory = services.open_directory(b".").unwrap() as u32;
    let file = opened(services, "file", open::READ);
    let closed = opened(services, "file", open::READ);
    services.close(closed).unwrap();

    type Operation = fn(&Services, u32) -> io::Result<u64>;
    let on_files: &[Operation] = &[
        |s, file| s.file_read(file, &mut [0]),
        |s, file| s.file_write(file, &[0]),
        |s, file| s.seek(file, 0, 0),
        |s, file| s.sync(file, 0),
        |s, file| s.truncate(file, 0),
        |s, file| s.lock(file, lock::SHARED),
        |s, file| s.duplicate(file),
        |s, file| s.file_status(file, &mut UNKNOWN.clone()),
        |s, file| s.file_set_mode(file, 0o600),
        |s, file| s.file_set_times(file, &times(0, 0)),
    ];
    for operation in on_files {
        for handle in [0, 1, 2, closed, file + 100, u32::MAX] {
            assert_eq!(number(operation(services, handle)), libc::EBADF);
        }
        assert_eq!(number(operation(services, directory)), libc::EISDIR);
    }
    for handle in [0, closed, u32::MAX] {
        assert_eq!(number(services.close(handle)), libc::EBADF);
        assert_eq!(
            number(services.next_entries(handle, &mut [0; 99])),
            libc::EBADF
        );
    }
    assert_eq!(
        number(services.next_entries(file, &mut [0; 99])),
        libc::ENOTDIR
    );
    services.close(file).unwrap();
    services.close(directory).unwrap();
    assert_eq!(number(services.close(file)), libc::EBADF);
    assert_eq!(number(services.close(directory)), libc::EBADF);
}

#[test]
fn too_many_open_files_are_an_error_without_effect() {
    let folder = TempFolder::new();
    folder.file("file", "contents");
    let services = build(
        Services::builder()
            .allow_write(&folder.0)
            .directory(&folder.0)
            .open_files(2),
    );
    let file = opened(&services, "file", open::READ);
    services.open_directory(b".").unwrap();
    assert_eq!(number(services.open(b"new", NEW, 0o600)), libc::EMFILE);
    assert!(!folder.path("new").exists());
    assert_eq!(number(services.open_directory(b".")), libc::EMFILE);
    assert_eq!(number(services.duplicate(file)), libc::EMFILE);
    services.close(file).unwrap();
    opened(&services, "new", NEW);
}

#[test]
fn files_are_cut_and_extended() {
    in_both(|services, _| {
        let file = opened(services, "new", NEW);
        services.file_write(file, b"abcdef").unwrap();
        assert_eq!(services.truncate(file, 2).unwrap(), 0);
        assert_eq!(services.truncate(file, 4).unwrap(), 0);
        assert_eq!(contents(services, "new"), b"ab\0\0");
        assert_eq!(number(services.truncate(file, u64::MAX)), libc::EINVAL);
    });
}

#[test]
fn duplicates_share_the_position() {
    in_both(|services, folder| {
        folder.file("file", "abcdef");
        let file = opened(services, "file", open::READ);
        let duplicate = services.duplicate(file).unwrap() as u32;
        let other = opened(services, "file", open::READ);
        assert_ne!(duplicate, file);
        services.seek(file, 3, 0).unwrap();
        services.close(file).unwrap();
        let read = |file| {
            let mut byte = [0];
            services.file_read(file, &mut byte).unwrap();
            byte[0]
        };
        assert_eq!(read(duplicate), b'd');
        assert_eq!(read(other), b'a');
    });
}

#[test]
fn locks_exclude_each_other() {
    in_both(|services, folder| {
        folder.file("file", "");
        let one = opened(services, "file", open::READ);
        let two = opened(services, "file", open::READ);
        let lock = |file, operation| services.lock(file, operation);

        assert_eq!(lock(one, lock::EXCLUSIVE).unwrap(), 0);
        assert_eq!(number(lock(two, lock::TRY_EXCLUSIVE)), libc::EWOULDBLOCK);
        assert_eq!(number(lock(two, lock::TRY_SHARED)), libc::EWOULDBLOCK);
        assert_eq!(lock(one, lock::UNLOCK).unwrap(), 0);
        assert_eq!(lock(two, lock::SHARED).unwrap(), 0);
        assert_eq!(lock(one, lock::TRY_SHARED).unwrap(), 0);
        assert_eq!(number(lock(one, lock::TRY_EXCLUSIVE)), libc::EWOULDBLOCK);
        assert_eq!(number(lock(one, 5)), libc::EINVAL);
        assert_eq!(lock(two, lock::UNLOCK).unwrap(), 0);
        assert_eq!(lock(one, lock::TRY_EXCLUSIVE).unwrap(), 0);
        // Closing releases a lock.
        services.close(one).unwrap();
        assert_eq!(lock(two, lock::TRY_EXCLUSIVE).unwrap(), 0);
    });
}

#[test]
fn a_blocked_call_delays_no_other() {
    in_both(|services, folder| {
        mknodat(CWD, folder.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        folder.file("file", "contents");
        let pipe = opened(services, "pipe", open::READ | open::WRITE);
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                sender.send(()).unwrap();
                let mut buffer = [0; 8];
                let count = services.file_read(pipe, &mut buffer).unwrap() as usize;
                buffer[..count].to_vec()
            });
            receiver.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            // Other handles, the table, and the same handle can be used.
            assert_eq!(contents(services, "file"), b"contents");
            let duplicate = services.duplicate(pipe).unwrap() as u32;
            services.close(pipe).unwrap();
            assert!(!reader.is_finished());
            assert_eq!(services.file_write(duplicate, b"sent").unwrap(), 4);
            assert_eq!(reader.join().unwrap(), b"sent");
        });
    });
}

#[test]
fn threads_share_a_handle() {
    in_both(|services, _| {
        let file = opened(services, "new", open::APPEND | open::CREATE_NEW);
        std::thread::scope(|scope| {
            for letter in b'a'..b'e' {
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(services.file_write(file, &[letter; 8]).unwrap(), 8);
                    }
                });
            }
        });
        let written = contents(services, "new");
        assert_eq!(written.len(), 4 * 20 * 8);
        for record in written.chunks(8) {
            assert_eq!(record, [record[0]; 8]);
        }
    });
}

#[test]
fn the_status_of_a_file_is_that_of_its_path() {
    in_both(|services, folder| {
        let path = folder.file("file", "contents");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
        let file = opened(services, "file", open::READ);
        let mut by_handle = UNKNOWN;
        assert_eq!(services.file_status(file, &mut by_handle).unwrap(), 0);
        let by_path = status(services, "file", 1);
        let std = fs::metadata(&path).unwrap();
        for status in [by_handle, by_path] {
            assert_eq!(status.size, 8);
            assert_eq!(status.mode, 0o4751);
            assert_eq!(status.kind, FileStatus::FILE);
            let nanoseconds = |s: i64, ns: i64| s * 1_000_000_000 + ns;
            assert_eq!(status.modified, nanoseconds(std.mtime(), std.mtime_nsec()));
            assert_eq!(status.accessed, nanoseconds(std.atime(), std.atime_nsec()));
            let created = std.created().map_or(NO_TIME, |created| {
                created
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap()
                    .as_nanos() as i64
            });
            assert_eq!(status.created, created);
        }
    });
}

#[test]
fn modes_and_times_are_set_through_a_handle() {
    in_both(|services, folder| {
        folder.file("file", "");
        let file = opened(services, "file", open::READ);
        assert_eq!(services.file_set_mode(file, 0o1_000_640).unwrap(), 0);
        assert_eq!(status(services, "file", 1).mode, 0o640);
        let set = |accessed, modified| {
            let times = times(accessed, modified);
            assert_eq!(services.file_set_times(file, &times).unwrap(), 0);
            let status = status(services, "file", 1);
            (status.accessed, status.modified)
        };
        assert_eq!(
            set(1_500_000_000, -2_500_000_000),
            (1_500_000_000, -2_500_000_000)
        );
        assert_eq!(set(NO_TIME, 7), (1_500_000_000, 7));
        assert_eq!(set(8, NO_TIME), (8, 7));
        assert_eq!(set(NO_TIME, NO_TIME), (8, 7));
    });
}
