//! Operations on paths.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std_calls::{MAX_PATH, NO_TIME};

use super::files::times;
use super::*;

#[test]
fn invalid_paths_are_rejected() {
    in_both(|services, folder| {
        folder.file("file", "");
        let long = vec![b'a'; MAX_PATH];
        for (name, operation) in operations() {
            assert_eq!(
                number(operation(services, b"fi\0le")),
                libc::EINVAL,
                "{name}"
            );
            assert_eq!(number(operation(services, b"")), libc::ENOENT, "{name}");
            assert_eq!(
                number(operation(services, &long)),
                libc::ENAMETOOLONG,
                "{name}"
            );
        }
        let link = |text: &[u8]| number(services.symbolic_link(text, b"link"));
        assert_eq!(link(b"te\0xt"), libc::EINVAL);
        assert_eq!(link(b""), libc::ENOENT);
        assert_eq!(link(&long), libc::ENAMETOOLONG);
        assert_eq!(
            fs::read_dir(&folder.0).unwrap().count(),
            1,
            "nothing was created"
        );
    });
}

#[test]
fn missing_files_are_reported() {
    in_both(|services, _| {
        for (name, operation) in [READING, READING_LINKS, WRITING].into_iter().flatten() {
            assert_eq!(
                number(operation(services, b"missing")),
                libc::ENOENT,
                "{name}"
            );
            assert_eq!(
                number(operation(services, b"no/file")),
                libc::ENOENT,
                "{name}"
            );
        }
        for remove in [
            Services::remove_directory,
            Services::remove_tree,
            Services::remove_file,
        ] {
            assert_eq!(number(remove(services, b"missing")), libc::ENOENT);
        }
        assert_eq!(number(services.rename(b"missing", b"new")), libc::ENOENT);
        assert_eq!(number(services.hard_link(b"missing", b"new")), libc::ENOENT);
        assert_eq!(number(services.copy(b"missing", b"new")), libc::ENOENT);
    });
}

#[test]
fn the_working_directory_is_that_of_the_program() {
    in_both(|services, folder| {
        folder.file("a/b/file", "contents");
        symlink("a/b", folder.path("link")).unwrap();
        let process = env::current_dir().unwrap();
        assert_eq!(text(|path| services.directory(path)), bytes(&folder.0));
        assert_eq!(services.change_directory(b"link/../b/.").unwrap(), 0);
        assert_eq!(
            text(|path| services.directory(path)),
            bytes(&folder.path("a/b"))
        );
        assert_eq!(contents(services, "file"), b"contents");
        assert_eq!(contents(services, "../b/./file"), b"contents");
        assert_eq!(number(services.change_directory(b"file")), libc::ENOTDIR);
        assert_eq!(number(services.change_directory(b"missing")), libc::ENOENT);
        assert_eq!(
            text(|path| services.directory(path)),
            bytes(&folder.path("a/b"))
        );
        services.change_directory(bytes(&folder.0)).unwrap();
        assert_eq!(text(|path| services.directory(path)), bytes(&folder.0));
        assert_eq!(env::current_dir().unwrap(), process);
    });
}

#[test]
fn names_need_not_be_text() {
    in_both(|services, _| {
        let name = b"caf\xe9 \xff\x01";
        let file = services
            .open(name, open::WRITE | open::CREATE, 0o600)
            .unwrap();
        services.file_write(file as u32, b"contents").unwrap();
        let canonical = text(|path| services.canonical_path(name, path));
        assert!(canonical.ends_with(name));
        services.symbolic_link(name, b"link").unwrap();
        assert_eq!(text(|target| services.read_link(b"link", target)), name);
        services.rename(name, b"plain").unwrap();
        assert_eq!(contents(services, "plain"), b"contents");
    });
}

#[test]
fn links_are_followed_or_not() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        services.symbolic_link(b"file", b"link").unwrap();
        assert_eq!(status(services, "link", 1).kind, FileStatus::FILE);
        assert_eq!(status(services, "link", 1).size, 8);
        assert_eq!(status(services, "link", 0).kind, FileStatus::LINK);
        assert_eq!(status(services, ".", 0).kind, FileStatus::DIRECTORY);
        symlink(".", folder.path("to-folder")).unwrap();
        assert_eq!(status(services, "to-folder", 0).kind, FileStatus::LINK);
        for path in ["to-folder/", "to-folder//", "to-folder/."] {
            assert_eq!(status(services, path, 0).kind, FileStatus::DIRECTORY);
        }
        mknodat(CWD, folder.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(status(services, "pipe", 1).kind, FileStatus::OTHER);
        assert_eq!(text(|target| services.read_link(b"link", target)), b"file");
        assert_eq!(number(services.read_link(b"file", &mut [])), libc::EINVAL);
        assert_eq!(contents(services, "link"), b"contents");
        assert_eq!(number(services.symbolic_link(b"x", b"link")), libc::EEXIST);
        services.remove_file(b"link").unwrap();
        assert!(folder.path("file").exists());
    });
}

#[test]
fn loops_of_links_end() {
    in_both(|services, folder| {
        symlink("two", folder.path("one")).unwrap();
        symlink("one", folder.path("two")).unwrap();
        for (name, operation) in [READING, WRITING].into_iter().flatten() {
            assert_eq!(number(operation(services, b"one")), libc::ELOOP, "{name}");
        }
    });
}

#[test]
fn modes_are_set() {
    in_both(|services, folder| {
        folder.file("file", "");
        symlink("file", folder.path("link")).unwrap();
        assert_eq!(services.set_mode(b"link", 0o1_000_604).unwrap(), 0);
        assert_eq!(status(services, "file", 1).mode, 0o604);
        // The owner needs no permission to set it.
        services.set_mode(b"file", 0).unwrap();
        services.set_mode(b"file", 0o600).unwrap();
        services.create_directory(b"folder", 0o750).unwrap();
        services.set_mode(b"folder", 0o711).unwrap();
        assert_eq!(status(services, "folder", 1).mode, 0o711);
    });
}

#[test]
fn times_are_set() {
    in_both(|services, folder| {
        folder.file("folder/file", "");
        symlink("file", folder.path("folder/link")).unwrap();
        let set = |path: &str, follow, accessed, modified| {
            let times = times(accessed, modified);
            services.set_times(path.as_bytes(), follow, &times).unwrap();
        };
        let get = |path, follow| {
            let status = status(services, path, follow);
            (status.accessed, status.modified)
        };
        set("folder/link", 1, 1_000, 2_000);
        set("folder/link", 0, 3_000, 4_000);
        assert_eq!(get("folder/file", 1), (1_000, 2_000));
        assert_eq!(get("folder/link", 0), (3_000, 4_000));
        set("folder/file", 1, NO_TIME, -5);
        assert_eq!(get("folder/file", 1), (1_000, -5));
        for (path, time) in [("folder", 10), ("folder/", 11), ("folder/.", 12), (".", 13)] {
            set(path, 1, time, time);
            assert_eq!(get(path, 1), (time, time), "{path}");
            set(path, 0, time + 100, NO_TIME);
            assert_eq!(get(path, 1), (time + 100, time), "{path}");
        }
        set("folder/..", 0, 20, 20);
        assert_eq!(get(".", 1), (20, 20));
    });
}

#[test]
fn folders_are_created_and_removed() {
    in_both(|services, folder| {
        assert_eq!(services.create_directory(b"new", 0o1_000_500).unwrap(), 0);
        assert_eq!(status(services, "new", 1).mode, 0o500);
        assert_eq!(status(services, "new", 1).kind, FileStatus::DIRECTORY);
        services.create_directory(b"slash/", 0o700).unwrap();
        let create = |path: &[u8]| number(services.create_directory(path, 0o700));
        assert_eq!(create(b"new"), libc::EEXIST);
        assert_eq!(create(b"."), libc::EEXIST);
        assert_eq!(create(b"missing/new"), libc::ENOENT);

        folder.file("full/file", "");
        let remove = |path: &[u8]| number(services.remove_directory(path));
        assert_eq!(remove(b"full"), libc::ENOTEMPTY);
        assert_eq!(remove(b"full/file"), libc::ENOTDIR);
        assert_eq!(number(services.remove_file(b"full")), libc::EISDIR);
        assert_eq!(services.remove_directory(b"new").unwrap(), 0);
        assert!(!folder.path("new").exists());
        assert_eq!(services.remove_file(b"full/file").unwrap(), 0);
        assert!(!folder.path("full/file").exists());
    });
}

#[test]
fn trees_are_removed_without_following_links() {
    in_both(|services, folder| {
        folder.file("kept/file", "");
        folder.file("tree/a/b/file", "");
        folder.file("tree/a/file", "");
        fs::create_dir_all(folder.path("tree/empty/empty")).unwrap();
        symlink("../../kept", folder.path("tree/a/link")).unwrap();
        symlink("missing", folder.path("tree/broken")).unwrap();
        symlink("kept", folder.path("link")).unwrap();

        assert_eq!(number(services.remove_tree(b"kept/file")), libc::ENOTDIR);
        for path in [
            b".".as_slice(),
            b"tree/.",
            b"tree/.//",
            b"tree/..",
            b"tree/a/../..",
        ] {
            assert_eq!(number(services.remove_tree(path)), libc::EINVAL);
        }
        assert_eq!(services.remove_tree(b"link").unwrap(), 0);
        assert_eq!(services.remove_tree(b"tree").unwrap(), 0);
        assert!(!folder.path("link").is_symlink());
        assert!(!folder.path("tree").exists());
        assert!(folder.path("kept/file").exists());
    });
}

#[test]
fn a_deep_tree_needs_no_stack() {
    in_both(|services, folder| {
        let create = |levels| {
            let path = format!("deep/{}", "d/".repeat(levels));
            fs::create_dir_all(folder.path(&path)).unwrap();
        };
        create(500);
        let small = std::thread::Builder::new().stack_size(64 << 10);
        std::thread::scope(|scope| {
            let remove = small.spawn_scoped(scope, || services.remove_tree(b"deep"));
            assert_eq!(remove.unwrap().join().unwrap().unwrap(), 0);
        });
        create(512);
        assert_eq!(number(services.remove_tree(b"deep")), libc::EMFILE);
    });
}

#[test]
fn files_and_folders_are_renamed() {
    in_both(|services, folder| {
        folder.file("file", "new");
        folder.file("other", "old");
        folder.file("folder/file", "");
        assert_eq!(services.rename(b"file", b"other").unwrap(), 0);
        assert_eq!(contents(services, "other"), b"new");
        assert!(!folder.path("file").exists());
        services.rename(b"folder/", b"moved/").unwrap();
        assert!(folder.path("moved/file").exists());
        assert_eq!(number(services.rename(b"moved", b"other")), libc::ENOTDIR);
        assert_eq!(number(services.rename(b"other", b"moved")), libc::EISDIR);
        assert_eq!(
            number(services.rename(b"moved", b"moved/below")),
            libc::EINVAL
        );
    });
}

#[test]
fn hard_links_share_a_file() {
    in_both(|services, folder| {
        folder.file("file", "old");
        symlink("file", folder.path("symbolic")).unwrap();
        assert_eq!(services.hard_link(b"file", b"link").unwrap(), 0);
        let link = opened(services, "link", open::WRITE);
        services.file_write(link, b"new").unwrap();
        assert_eq!(contents(services, "file"), b"new");
        assert_eq!(number(services.hard_link(b"file", b"link")), libc::EEXIST);
        assert_eq!(number(services.hard_link(b".", b"new")), libc::EPERM);
        services.hard_link(b"symbolic", b"second").unwrap();
        assert_eq!(status(services, "second", 0).kind, FileStatus::LINK);
    });
}

#[test]
fn copies_have_contents_and_permissions() {
    in_both(|services, folder| {
        folder.file("file", "contents");
        services.set_mode(b"file", 0o640).unwrap();
        folder.file("other", "longer contents, of another file");
        folder.file("folder/file", "");
        for name in ["new", "other"] {
            assert_eq!(services.copy(b"file", name.as_bytes()).unwrap(), 8);
            assert_eq!(contents(services, name), b"contents");
            assert_eq!(status(services, name, 1).mode, 0o640);
        }
        assert_eq!(number(services.copy(b"folder", b"new")), libc::EINVAL);
        assert_eq!(number(services.copy(b"file", b"folder")), libc::EISDIR);
        assert_eq!(number(services.copy(b"file", b"missing/new")), libc::ENOENT);
    });
}

#[test]
fn canonical_paths_are_absolute() {
    in_both(|services, folder| {
        folder.file("a/file", "");
        symlink("a", folder.path("link")).unwrap();
        let canonical = |path: &[u8]| text(|buffer| services.canonical_path(path, buffer));
        assert_eq!(
            canonical(b"link/../link/./file"),
            bytes(&folder.path("a/file"))
        );
        assert_eq!(canonical(b"."), bytes(&folder.0));
        assert_eq!(
            canonical(bytes(&folder.path("link"))),
            bytes(&folder.path("a"))
        );
        let missing = services.canonical_path(b"a/missing", &mut []);
        assert_eq!(number(missing), libc::ENOENT);
    });
}
