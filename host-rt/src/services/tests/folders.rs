//! The entries of folders.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

/// All entries of a folder with their kinds, read with a buffer of this size.
fn entries(services: &Services, path: &str, size: usize) -> BTreeMap<Vec<u8>, u8> {
    let folder = services.open_directory(path.as_bytes()).unwrap() as u32;
    let mut all = BTreeMap::new();
    loop {
        let mut list = vec![0xee; size];
        let len = services.next_entries(folder, &mut list).unwrap() as usize;
        if len == 0 {
            break;
        }
        assert_eq!(list[len - 1], 0);
        for element in list[..len - 1].split(|byte| *byte == 0) {
            let old = all.insert(element[1..].to_vec(), element[0]);
            assert_eq!(old, None, "listed twice");
        }
    }
    services.close(folder).unwrap();
    all
}

#[test]
fn entries_have_names_and_kinds() {
    in_both(|services, folder| {
        folder.file("list/file", "");
        fs::create_dir(folder.path("list/folder")).unwrap();
        symlink("file", folder.path("list/link")).unwrap();
        symlink("missing", folder.path("list/broken")).unwrap();
        let _socket = UnixListener::bind(folder.path("list/socket")).unwrap();
        fs::write(
            folder.path("list").join(OsStr::from_bytes(b"caf\xe9 \n")),
            "",
        )
        .unwrap();
        let expected: &[(&[u8], u8)] = &[
            (b"broken", b'3'),
            (b"caf\xe9 \n", b'1'),
            (b"file", b'1'),
            (b"folder", b'2'),
            (b"link", b'3'),
            (b"socket", b'0'),
        ];
        let expected: BTreeMap<_, _> = expected
            .iter()
            .map(|(name, kind)| (name.to_vec(), *kind))
            .collect();
        // One entry at a time, two, all.
        for size in [8, 16, 4096] {
            assert_eq!(entries(services, "list", size), expected, "{size}");
        }
        assert_eq!(entries(services, "list/folder", 64), BTreeMap::new());
    });
}

#[test]
fn many_entries_are_listed_once() {
    in_both(|services, folder| {
        for index in 0..300 {
            folder.file(&format!("list/{index}"), "");
        }
        let all = entries(services, "list", 100);
        assert_eq!(all.len(), 300);
        assert!((0..300).all(|index| all.contains_key(index.to_string().as_bytes())));
    });
}

#[test]
fn a_buffer_that_is_too_small_loses_no_entry() {
    in_both(|services, folder| {
        folder.file("list/long-name", "");
        let list = services.open_directory(b"list").unwrap() as u32;
        for size in [0, 1, 10] {
            let small = services.next_entries(list, &mut vec![0; size]);
            assert_eq!(number(small), libc::EINVAL);
        }
        let mut buffer = [0; 11];
        assert_eq!(services.next_entries(list, &mut buffer).unwrap(), 11);
        assert_eq!(&buffer, b"1long-name\0");
        assert_eq!(services.next_entries(list, &mut buffer).unwrap(), 0);
        assert_eq!(services.next_entries(list, &mut []).unwrap(), 0);
    });
}

#[test]
fn only_folders_have_entries() {
    in_both(|services, folder| {
        folder.file("file", "");
        assert_eq!(number(services.open_directory(b"file")), libc::ENOTDIR);
        assert_eq!(number(services.open_directory(b"missing")), libc::ENOENT);
    });
}
