//! Tests of the services through the functions that are bound to devices.

mod bind;
mod commands;
mod direct_files;
mod escapes;
mod files;
mod folders;
mod heap;
mod paths;
mod permissions;
mod pipes;
mod process;
mod sockets;
mod streams;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

use std_calls::{FileStatus, open};

use super::errno::number_of;
use super::{Services, ServicesBuilder};

/// A new folder, removed when dropped.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only unique.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("host-rt-services-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Creates a file, and the folder that contains it.
    fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn build(builder: ServicesBuilder) -> Arc<Services> {
    builder.build().unwrap()
}

/// Services that may change everything in a folder, their working directory: one with access to all
/// files, and one with access to this folder only.
fn both(folder: &Path) -> [Arc<Services>; 2] {
    let builder = || Services::builder().directory(folder);
    [
        build(builder().allow_all_files()),
        build(builder().allow_write(folder)),
    ]
}

/// Runs a test with each of [`both`] in a new folder.
fn in_both(test: impl Fn(&Arc<Services>, &TempFolder)) {
    for index in 0..2 {
        let folder = TempFolder::new();
        test(&both(&folder.0)[index], &folder);
    }
}

/// The Linux number of an error.
fn number<T: std::fmt::Debug>(result: io::Result<T>) -> i32 {
    number_of(&result.expect_err("an error"))
}

/// Calls a function that fills a buffer with a text.
fn text(fill: impl Fn(&mut [u8]) -> io::Result<u64>) -> Vec<u8> {
    let len = fill(&mut []).unwrap() as usize;
    let mut buffer = vec![0xee; len + 1];
    assert_eq!(fill(&mut buffer).unwrap() as usize, len);
    assert_eq!(buffer.pop(), Some(0xee), "nothing follows the text");
    buffer
}

fn bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes()
}

/// Opens a file and returns its handle.
fn opened(services: &Services, path: &str, options: u32) -> u32 {
    let handle = services.open(path.as_bytes(), options, 0o644).unwrap();
    u32::try_from(handle).unwrap()
}

/// Reads a whole file through its path.
fn contents(services: &Services, path: &str) -> Vec<u8> {
    let file = opened(services, path, open::READ);
    let mut buffer = [0; 1024];
    let count = services.file_read(file, &mut buffer).unwrap() as usize;
    services.close(file).unwrap();
    buffer[..count].to_vec()
}

const UNKNOWN: FileStatus = FileStatus {
    size: u64::MAX,
    modified: 0,
    accessed: 0,
    created: 0,
    mode: u32::MAX,
    kind: u32::MAX,
};

fn status(services: &Services, path: &str, follow: u32) -> FileStatus {
    let mut status = UNKNOWN;
    services
        .status(path.as_bytes(), follow, &mut status)
        .unwrap();
    status
}

type PathOperation = fn(&Services, &[u8]) -> io::Result<u64>;

/// Reading operations on a path of an existing file or folder.
const READING: &[(&str, PathOperation)] = &[
    ("open", |s, path| s.open(path, open::READ, 0)),
    ("status", |s, path| s.status(path, 1, &mut UNKNOWN.clone())),
    ("open_directory", |s, path| s.open_directory(path)),
    ("canonical_path", |s, path| s.canonical_path(path, &mut [])),
    ("change_directory", |s, path| s.change_directory(path)),
];

/// Reading operations on a path that do not follow a symbolic link at its end.
const READING_LINKS: &[(&str, PathOperation)] = &[
    ("status without following", |s, path| {
        s.status(path, 0, &mut UNKNOWN.clone())
    }),
    ("read_link", |s, path| s.read_link(path, &mut [])),
];

/// Operations that change a file, folder or link.
const WRITING: &[(&str, PathOperation)] = &[
    ("open to write", |s, path| s.open(path, open::WRITE, 0)),
    ("append", |s, path| s.open(path, open::APPEND, 0)),
    ("truncate", |s, path| {
        s.open(path, open::READ | open::WRITE | open::TRUNCATE, 0)
    }),
    ("set_mode", |s, path| s.set_mode(path, 0o700)),
    ("set_times", |s, path| {
        s.set_times(path, 1, &files::times(5, 5))
    }),
];

/// Operations that create, remove or change a name.
const WRITING_NAMES: &[(&str, PathOperation)] = &[
    ("create", |s, path| {
        s.open(path, open::WRITE | open::CREATE, 0o600)
    }),
    ("create new", |s, path| {
        s.open(path, open::WRITE | open::CREATE_NEW, 0o600)
    }),
    ("set_times without following", |s, path| {
        s.set_times(path, 0, &files::times(5, 5))
    }),
    ("create_directory", |s, path| {
        s.create_directory(path, 0o700)
    }),
    ("remove_directory", |s, path| s.remove_directory(path)),
    ("remove_tree", |s, path| s.remove_tree(path)),
    ("remove_file", |s, path| s.remove_file(path)),
    ("rename", |s, path| s.rename(path, b"renamed")),
    ("rename to", |s, path| s.rename(b"file", path)),
    ("hard_link of", |s, path| s.hard_link(path, b"linked")),
    ("hard_link", |s, path| s.hard_link(b"file", path)),
    ("symbolic_link", |s, path| s.symbolic_link(b"file", path)),
    ("copy to", |s, path| s.copy(b"file", path)),
];

/// All operations on paths.
fn operations() -> impl Iterator<Item = &'static (&'static str, PathOperation)> {
    [READING, READING_LINKS, WRITING, WRITING_NAMES]
        .into_iter()
        .flatten()
}
