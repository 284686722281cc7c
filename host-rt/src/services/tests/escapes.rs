//! Attempts to leave an allowed folder.

use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::*;

/// A folder with secrets, and services that may change only its folder `allowed`, where links lead
/// out.
fn jail() -> (TempFolder, Arc<Services>) {
    let folder = TempFolder::new();
    folder.file("secret", "secret");
    folder.file("secrets/file", "secret");
    folder.file("allowed/file", "allowed");
    folder.file("allowed/below/file", "below");
    let allowed = folder.path("allowed");
    symlink("../secret", allowed.join("relative")).unwrap();
    symlink(folder.path("secret"), allowed.join("absolute")).unwrap();
    symlink("relative", allowed.join("indirect")).unwrap();
    symlink("..", allowed.join("parent")).unwrap();
    symlink("/", allowed.join("root")).unwrap();
    symlink("../secrets", allowed.join("secrets")).unwrap();
    symlink("../new", allowed.join("broken")).unwrap();
    let services = Services::builder()
        .directory(&allowed)
        .allow_write(&allowed);
    let services = build(services);
    (folder, services)
}

/// Everything outside of the allowed folder is as before.
fn check_outside(folder: &TempFolder) {
    assert_eq!(fs::read(folder.path("secret")).unwrap(), b"secret");
    assert_eq!(fs::read(folder.path("secrets/file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(folder.path("secrets")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
}

#[test]
fn paths_do_not_leave_an_allowed_folder() {
    let (folder, services) = jail();
    let absolute = folder.path("secret");
    let around = folder.path("allowed/../secret");
    let paths = [
        b"../secret".as_slice(),
        b"below/../../secret",
        b"./below/./../..//secret",
        b"parent/secret",
        b"below/../parent/secret",
        b"root/etc/passwd",
        b"secrets/file",
        b"/etc/passwd",
        b"/proc/self/cwd",
        bytes(&absolute),
        bytes(&around),
    ];
    for path in paths {
        for (name, operation) in operations() {
            let shown = String::from_utf8_lossy(path);
            assert_eq!(
                number(operation(&services, path)),
                libc::EACCES,
                "{name} {shown}"
            );
        }
    }
    check_outside(&folder);
}

#[test]
fn links_at_the_end_do_not_leave_it_either() {
    let (folder, services) = jail();
    for path in [
        "relative", "absolute", "indirect", "parent", "root", "secrets",
    ] {
        for (name, operation) in [READING, WRITING].into_iter().flatten() {
            let result = operation(&services, path.as_bytes());
            assert_eq!(number(result), libc::EACCES, "{name} {path}");
        }
        let copied = services.copy(path.as_bytes(), b"copy");
        assert_eq!(number(copied), libc::EACCES, "{path}");
        // The link itself is inside.
        assert_eq!(status(&services, path, 0).kind, FileStatus::LINK);
        services.read_link(path.as_bytes(), &mut []).unwrap();
    }
    let create = services.open(b"broken", open::WRITE | open::CREATE, 0o600);
    assert_eq!(number(create), libc::EACCES);
    assert_eq!(number(services.copy(b"file", b"broken")), libc::EACCES);
    check_outside(&folder);
}

#[test]
fn links_are_changed_and_their_targets_are_not() {
    let (folder, services) = jail();
    let links = [
        "relative", "absolute", "indirect", "parent", "root", "secrets", "broken",
    ];
    let before = fs::metadata(folder.path("secret")).unwrap();
    for path in links {
        let path = path.as_bytes();
        services.set_times(path, 0, &files::times(5, 5)).unwrap();
        services.hard_link(path, b"linked").unwrap();
        services.rename(b"linked", b"moved").unwrap();
        services.remove_tree(b"moved").unwrap();
        services.rename(b"file", path).unwrap();
        services.rename(path, b"file").unwrap();
    }
    let after = fs::metadata(folder.path("secret")).unwrap();
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    check_outside(&folder);
}

/// A final slash asks for the folder behind a link.
#[test]
fn a_slash_does_not_lead_out() {
    let operations: &[PathOperation] = &[
        |s, path| s.remove_tree(path),
        |s, path| s.remove_directory(path),
        |s, path| s.rename(path, b"moved"),
        |s, path| s.set_times(path, 0, &files::times(5, 5)),
    ];
    for operation in operations {
        for path in [b"parent/".as_slice(), b"secrets/", b"secrets/.", b"root/"] {
            let (folder, services) = jail();
            let before = fs::metadata(folder.path("secrets")).unwrap();
            // The link may be changed.
            let _ = operation(&services, path);
            check_outside(&folder);
            let after = fs::metadata(folder.path("secrets")).unwrap();
            assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        }
    }
    let (_folder, services) = jail();
    for path in [b"parent/".as_slice(), b"secrets/", b"secrets/.", b"root//"] {
        assert_eq!(number(services.open_directory(path)), libc::EACCES);
        assert_eq!(
            number(services.status(path, 0, &mut UNKNOWN.clone())),
            libc::EACCES
        );
    }
}

#[test]
fn created_links_do_not_lead_out() {
    let (folder, services) = jail();
    assert_eq!(
        number(services.symbolic_link(b"/etc", b"new")),
        libc::EACCES
    );
    services.symbolic_link(b"../secret", b"new").unwrap();
    assert_eq!(number(services.open(b"new", open::READ, 0)), libc::EACCES);
    services.symbolic_link(b"below", b"inside").unwrap();
    assert_eq!(contents(&services, "inside/file"), b"below");
    check_outside(&folder);
}

#[test]
fn a_working_directory_that_is_replaced_does_not_lead_out() {
    let (folder, services) = jail();
    services.change_directory(b"below").unwrap();
    fs::rename(folder.path("allowed/below"), folder.path("allowed/moved")).unwrap();
    symlink("../secrets", folder.path("allowed/below")).unwrap();
    for (name, operation) in [READING, WRITING].into_iter().flatten() {
        assert_eq!(
            number(operation(&services, b"file")),
            libc::EACCES,
            "{name}"
        );
    }
    check_outside(&folder);
}

#[test]
fn an_allowed_folder_that_is_replaced_does_not_lead_out() {
    let (folder, services) = jail();
    fs::rename(folder.path("allowed"), folder.path("moved")).unwrap();
    symlink("secrets", folder.path("allowed")).unwrap();
    assert_eq!(contents(&services, "file"), b"allowed");
}

/// Sets a flag when dropped, also if a test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        // Relaxed: it guards nothing.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another thread replaces a link while paths that lead through it are used.
#[test]
fn a_link_that_changes_meanwhile_does_not_lead_out() {
    let (folder, services) = jail();
    let (stop, allowed) = (AtomicBool::new(false), folder.path("allowed"));
    let (mut inside, mut refused) = (0, 0);
    symlink("below", allowed.join("swap")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: it guards nothing.
            while !stop.load(Ordering::Relaxed) {
                for target in ["below", "../secrets"] {
                    let _ = fs::remove_file(allowed.join("swap.new"));
                    symlink(target, allowed.join("swap.new")).unwrap();
                    fs::rename(allowed.join("swap.new"), allowed.join("swap")).unwrap();
                }
            }
        });
        let _stop = SetOnDrop(&stop);
        let start = Instant::now();
        while (inside < 50 || refused < 50) && start.elapsed() < Duration::from_secs(20) {
            match services.open(b"swap/file", open::READ, 0) {
                Ok(file) => {
                    let mut buffer = [0; 16];
                    let count = services.file_read(file as u32, &mut buffer).unwrap();
                    assert_eq!(&buffer[..count as usize], b"below");
                    services.close(file as u32).unwrap();
                    inside += 1;
                }
                Err(error) => {
                    assert_eq!(number_of(&error), libc::EACCES);
                    refused += 1;
                }
            }
            let new = services.open(b"swap/new", open::WRITE | open::CREATE, 0o600);
            if let Ok(file) = new {
                services.close(file as u32).unwrap();
                let _ = services.remove_file(b"below/new");
            }
            let _ = services.set_times(b"swap/file", 1, &files::times(5, 5));
            let _ = services.set_mode(b"swap/file", 0o700);
            let _ = services.remove_tree(b"swap/tree");
        }
    });
    assert!(inside >= 50 && refused >= 50, "{inside} {refused}");
    check_outside(&folder);
    use std::os::unix::fs::MetadataExt;
    let secret = fs::metadata(folder.path("secrets/file")).unwrap();
    assert_ne!(secret.mtime_nsec(), 5);
    assert_ne!(secret.mode() & 0o777, 0o700);
}
