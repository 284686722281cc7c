//! Operations that are not allowed.

use std::os::unix::fs::symlink;

use super::files::times;
use super::*;

/// A folder `r` that may be read, a folder `w` in it that may be changed, and the working directory
/// around them, to which there is no access.
fn nested() -> (TempFolder, Arc<Services>) {
    let folder = TempFolder::new();
    folder.file("file", "outside");
    folder.file("r/file", "readable");
    folder.file("r/w/file", "writable");
    let services = Services::builder()
        .directory(&folder.0)
        .allow_read(folder.path("r"))
        .allow_write(folder.path("r/w"));
    let services = build(services);
    (folder, services)
}

#[test]
fn by_default_there_is_no_access_to_files() {
    let folder = TempFolder::new();
    folder.file("file", "");
    let services = build(Services::builder().directory(&folder.0));
    for path in [b"file".as_slice(), b".", b"/", b"missing", b"/dev/null"] {
        for (name, operation) in operations() {
            assert_eq!(number(operation(&services, path)), libc::EACCES, "{name}");
        }
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    assert_eq!(text(|path| services.directory(path)), bytes(&folder.0));
}

#[test]
fn a_readable_folder_cannot_be_changed() {
    let folder = TempFolder::new();
    folder.file("file", "contents");
    symlink("file", folder.path("link")).unwrap();
    let services = Services::builder()
        .directory(&folder.0)
        .allow_read(&folder.0);
    let services = build(services);
    for path in [b"file".as_slice(), b"link", b"missing", b"."] {
        for (name, operation) in [WRITING, WRITING_NAMES].into_iter().flatten() {
            assert_eq!(number(operation(&services, path)), libc::EACCES, "{name}");
        }
    }
    // Linux lets the owner change these through any handle.
    let file = opened(&services, "file", open::READ);
    let duplicate = services.duplicate(file).unwrap() as u32;
    let before = status(&services, "file", 1);
    for file in [file, duplicate] {
        assert_eq!(number(services.file_set_mode(file, 0o777)), libc::EACCES);
        assert_eq!(
            number(services.file_set_times(file, &times(1, 1))),
            libc::EACCES
        );
        assert_eq!(number(services.truncate(file, 0)), libc::EINVAL);
        assert_eq!(number(services.file_write(file, b"x")), libc::EBADF);
    }
    let after = status(&services, "file", 1);
    assert_eq!((after.mode, after.modified), (before.mode, before.modified));
    assert_eq!(contents(&services, "link"), b"contents");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn permissions_of_nested_folders_add_up() {
    let (folder, services) = nested();
    assert_eq!(contents(&services, "r/file"), b"readable");
    assert_eq!(contents(&services, "r/w/file"), b"writable");
    let write = |path: &[u8]| services.open(path, open::WRITE, 0);
    write(b"r/w/file").unwrap();
    assert_eq!(number(write(b"r/file")), libc::EACCES);
    assert_eq!(number(write(b"file")), libc::EACCES);
    assert_eq!(number(services.open(b"file", open::READ, 0)), libc::EACCES);
    // The link leaves `r/w`, but not `r`.
    symlink("../file", folder.path("r/w/link")).unwrap();
    assert_eq!(contents(&services, "r/w/link"), b"readable");
    assert_eq!(number(write(b"r/w/link")), libc::EACCES);
    // Not a path of the folder: only its name starts alike.
    folder.file("readable", "");
    assert_eq!(
        number(services.open(b"readable", open::READ, 0)),
        libc::EACCES
    );
}

#[test]
fn both_paths_of_an_operation_need_permission() {
    let (folder, services) = nested();
    type Operation = fn(&Services, &[u8], &[u8]) -> io::Result<u64>;
    let moving: [Operation; 2] = [Services::rename, Services::hard_link];
    for operation in moving {
        let code = |from: &[u8], to: &[u8]| number(operation(&services, from, to));
        assert_eq!(code(b"r/file", b"r/w/new"), libc::EACCES);
        assert_eq!(code(b"r/w/file", b"r/new"), libc::EACCES);
        assert_eq!(code(b"file", b"r/w/new"), libc::EACCES);
        assert_eq!(code(b"r/w/file", b"new"), libc::EACCES);
    }
    assert_eq!(services.copy(b"r/file", b"r/w/copy").unwrap(), 8);
    assert_eq!(number(services.copy(b"r/w/file", b"r/new")), libc::EACCES);
    assert_eq!(number(services.copy(b"file", b"r/w/new")), libc::EACCES);
    for new in ["new", "r/new", "r/w/new"] {
        assert!(!folder.path(new).exists(), "{new}");
    }
    for kept in ["file", "r/file", "r/w/file"] {
        assert!(folder.path(kept).exists(), "{kept}");
    }
}

#[test]
fn files_move_between_folders_with_permission() {
    let folder = TempFolder::new();
    folder.file("a/file", "contents");
    fs::create_dir(folder.path("b")).unwrap();
    let services = Services::builder()
        .directory(&folder.0)
        .allow_write(folder.path("a"))
        .allow_write(folder.path("b"));
    let services = build(services);
    services.rename(b"a/file", b"b/file").unwrap();
    services.hard_link(b"b/file", b"a/file").unwrap();
    assert_eq!(contents(&services, "a/file"), b"contents");
}

#[test]
fn a_folder_is_found_by_both_of_its_names() {
    let folder = TempFolder::new();
    folder.file("real/file", "contents");
    symlink("real", folder.path("alias")).unwrap();
    let services = Services::builder().allow_read(folder.path("alias"));
    let services = build(services);
    for name in ["alias/file", "real/file", "real/./file", "real//file"] {
        let path = folder.path(name);
        assert_eq!(contents(&services, path.to_str().unwrap()), b"contents");
    }
    services
        .change_directory(bytes(&folder.path("alias")))
        .unwrap();
    assert_eq!(
        text(|path| services.directory(path)),
        bytes(&folder.path("real"))
    );
    assert_eq!(contents(&services, "file"), b"contents");
}

#[test]
fn an_allowed_folder_itself_stays() {
    let folder = TempFolder::new();
    folder.file("w/file", "");
    let services = Services::builder()
        .directory(folder.path("w"))
        .allow_write(folder.path("w"));
    let services = build(services);
    let path = folder.path("w");
    for path in [b".".as_slice(), bytes(&path)] {
        let results = [
            services.remove_directory(path),
            services.remove_tree(path),
            services.remove_file(path),
            services.rename(path, b"new"),
            services.rename(b"file", path),
        ];
        for (index, result) in results.into_iter().enumerate() {
            result.expect_err(&index.to_string());
        }
    }
    assert!(folder.path("w/file").exists());
}

#[test]
fn all_files_include_other_permissions() {
    let folder = TempFolder::new();
    folder.file("file", "contents");
    let services = Services::builder()
        .directory(&folder.0)
        .allow_read(&folder.0)
        .allow_all_files();
    let services = build(services);
    services.open(b"file", open::WRITE, 0).unwrap();
    services.status(b"/", 1, &mut UNKNOWN.clone()).unwrap();
}
