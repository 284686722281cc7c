//! Files of the host.

use crate::ffi::OsString;
use crate::fs::TryLockError;
use crate::io::{self, BorrowedCursor, IoSlice, IoSliceMut, SeekFrom};
use crate::path::{Path, PathBuf};
use crate::sync::Arc;
pub use crate::sys::fs::common::{Dir, exists};
use crate::sys::pal::host::*;
use crate::sys::pal::{
    self, FileStatus, Handle, NO_TIME, front, front_mut, host_path, lock, open, result, unsupported,
};
use crate::sys::time::SystemTime;
use crate::fmt;

/// Room for at least one entry of a folder.
const LIST: usize = 8192;

/// The path as the host gets it.
fn bytes(path: &Path) -> io::Result<&[u8]> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(io::const_error!(
            io::ErrorKind::InvalidInput,
            "file name contained an unexpected NUL byte",
        ));
    }
    Ok(bytes)
}

pub struct File(Handle);

#[derive(Clone)]
pub struct FileAttr(FileStatus);

pub struct ReadDir {
    root: Arc<PathBuf>,
    handle: Handle,
    list: Vec<u8>,
    position: usize,
    ended: bool,
}

pub struct DirEntry {
    root: Arc<PathBuf>,
    name: OsString,
    kind: u32,
}

#[derive(Clone, Debug)]
pub struct OpenOptions(u32);

#[derive(Copy, Clone, Debug, Default)]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePermissions {
    mode: u32,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileType(u32);

#[derive(Debug)]
pub struct DirBuilder {}

impl FileAttr {
    fn with(fill: impl FnOnce(&mut FileStatus) -> i64) -> io::Result<FileAttr> {
        let mut status =
            FileStatus { size: 0, modified: 0, accessed: 0, created: 0, mode: 0, kind: 0 };
        result(fill(&mut status))?;
        Ok(FileAttr(status))
    }

    pub fn size(&self) -> u64 {
        self.0.size
    }

    pub fn perm(&self) -> FilePermissions {
        FilePermissions { mode: self.0.mode }
    }

    pub fn file_type(&self) -> FileType {
        FileType(self.0.kind)
    }

    pub fn modified(&self) -> io::Result<SystemTime> {
        time(self.0.modified)
    }

    pub fn accessed(&self) -> io::Result<SystemTime> {
        time(self.0.accessed)
    }

    pub fn created(&self) -> io::Result<SystemTime> {
        time(self.0.created)
    }
}

fn time(nanos: i64) -> io::Result<SystemTime> {
    if nanos == NO_TIME { unsupported() } else { Ok(SystemTime::from_nanos(nanos)) }
}

impl FilePermissions {
    pub fn readonly(&self) -> bool {
        self.mode & 0o222 == 0
    }

    pub fn set_readonly(&mut self, readonly: bool) {
        if readonly {
            self.mode &= !0o222;
        } else {
            self.mode |= 0o222;
        }
    }
}

impl FileTimes {
    pub fn set_accessed(&mut self, time: SystemTime) {
        self.accessed = Some(time);
    }

    pub fn set_modified(&mut self, time: SystemTime) {
        self.modified = Some(time);
    }

    fn to_host(self) -> io::Result<pal::FileTimes> {
        let nanos = |time: Option<SystemTime>| match time {
            None => Ok(NO_TIME),
            Some(time) => time.nanos().ok_or(io::const_error!(
                io::ErrorKind::InvalidInput,
                "timestamp is too large to set as a file time",
            )),
        };
        Ok(pal::FileTimes { accessed: nanos(self.accessed)?, modified: nanos(self.modified)? })
    }
}

impl FileType {
    pub fn is_dir(&self) -> bool {
        self.0 == FileStatus::DIRECTORY
    }

    pub fn is_file(&self) -> bool {
        self.0 == FileStatus::FILE
    }

    pub fn is_symlink(&self) -> bool {
        self.0 == FileStatus::LINK
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.root, f)
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        if self.position == self.list.len() {
            if self.ended {
                return None;
            }
            self.position = 0;
            self.list.resize(LIST, 0);
            match result(std_next_entries(self.handle.number(), &mut self.list)) {
                Ok(len) => self.list.truncate(len as usize),
                Err(error) => {
                    self.list.clear();
                    self.ended = true;
                    return Some(Err(error));
                }
            }
            if self.list.is_empty() {
                self.ended = true;
                return None;
            }
        }
        let element = pal::elements(&self.list[self.position..]).next()?;
        self.position += element.len() + 1;
        let (kind, name) = element.split_first()?;
        let name = pal::os_string(name.to_vec());
        let kind = u32::from(kind - b'0');
        Some(Ok(DirEntry { root: Arc::clone(&self.root), name, kind }))
    }
}

impl DirEntry {
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    pub fn file_name(&self) -> OsString {
        self.name.clone()
    }

    pub fn metadata(&self) -> io::Result<FileAttr> {
        lstat(&self.path())
    }

    pub fn file_type(&self) -> io::Result<FileType> {
        Ok(FileType(self.kind))
    }
}

impl OpenOptions {
    pub fn new() -> OpenOptions {
        OpenOptions(0)
    }

    fn set(&mut self, option: u32, on: bool) {
        if on {
            self.0 |= option;
        } else {
            self.0 &= !option;
        }
    }

    /// The combinations that std refuses on Unix, with its messages.
    fn check(&self) -> io::Result<()> {
        let has = |option: u32| self.0 & option != 0;
        if !has(open::READ | open::WRITE | open::APPEND) {
            return Err(io::const_error!(
                io::ErrorKind::InvalidInput,
                "must specify at least one of read, write, or append access",
            ));
        }
        let creates = has(open::TRUNCATE | open::CREATE | open::CREATE_NEW);
        if creates && !has(open::WRITE | open::APPEND) {
            return Err(io::const_error!(
                io::ErrorKind::InvalidInput,
                "creating or truncating a file requires write or append access",
            ));
        }
        if has(open::APPEND) && has(open::TRUNCATE) && !has(open::CREATE_NEW) {
            return Err(io::const_error!(
                io::ErrorKind::InvalidInput,
                "creating or truncating a file requires write or append access",
            ));
        }
        Ok(())
    }

    pub fn read(&mut self, read: bool) {
        self.set(open::READ, read);
    }

    pub fn write(&mut self, write: bool) {
        self.set(open::WRITE, write);
    }

    pub fn append(&mut self, append: bool) {
        self.set(open::APPEND, append);
    }

    pub fn truncate(&mut self, truncate: bool) {
        self.set(open::TRUNCATE, truncate);
    }

    pub fn create(&mut self, create: bool) {
        self.set(open::CREATE, create);
    }

    pub fn create_new(&mut self, create_new: bool) {
        self.set(open::CREATE_NEW, create_new);
    }
}

impl File {
    pub fn from_handle(handle: Handle) -> File {
        File(handle)
    }

    pub fn handle(&self) -> u32 {
        self.0.number()
    }

    pub fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
        options.check()?;
        Handle::new(std_open(bytes(path)?, options.0, 0o666)).map(File)
    }

    pub fn file_attr(&self) -> io::Result<FileAttr> {
        FileAttr::with(|status| std_file_status(self.handle(), status))
    }

    pub fn fsync(&self) -> io::Result<()> {
        result(std_sync(self.handle(), 0)).map(drop)
    }

    pub fn datasync(&self) -> io::Result<()> {
        result(std_sync(self.handle(), 1)).map(drop)
    }

    pub fn lock(&self) -> io::Result<()> {
        result(std_lock(self.handle(), lock::EXCLUSIVE)).map(drop)
    }

    pub fn lock_shared(&self) -> io::Result<()> {
        result(std_lock(self.handle(), lock::SHARED)).map(drop)
    }

    fn try_to_lock(&self, operation: u32) -> Result<(), TryLockError> {
        match result(std_lock(self.handle(), operation)) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(TryLockError::WouldBlock)
            }
            Err(error) => Err(TryLockError::Error(error)),
        }
    }

    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.try_to_lock(lock::TRY_EXCLUSIVE)
    }

    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        self.try_to_lock(lock::TRY_SHARED)
    }

    pub fn unlock(&self) -> io::Result<()> {
        result(std_lock(self.handle(), lock::UNLOCK)).map(drop)
    }

    pub fn truncate(&self, size: u64) -> io::Result<()> {
        result(std_truncate(self.handle(), size)).map(drop)
    }

    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        result(std_file_read(self.handle(), front_mut(buf))).map(|len| len as usize)
    }

    pub fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        io::default_read_vectored(|buf| self.read(buf), bufs)
    }

    pub fn is_read_vectored(&self) -> bool {
        false
    }

    pub fn read_buf(&self, cursor: BorrowedCursor<'_>) -> io::Result<()> {
        io::default_read_buf(|buf| self.read(buf), cursor)
    }

    pub fn write(&self, buf: &[u8]) -> io::Result<usize> {
        result(std_file_write(self.handle(), front(buf))).map(|len| len as usize)
    }

    pub fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        io::default_write_vectored(|buf| self.write(buf), bufs)
    }

    pub fn is_write_vectored(&self) -> bool {
        false
    }

    pub fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn seek(&self, position: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match position {
            SeekFrom::Start(offset) => (offset as i64, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        result(std_seek(self.handle(), offset, whence))
    }

    pub fn size(&self) -> Option<io::Result<u64>> {
        None
    }

    pub fn tell(&self) -> io::Result<u64> {
        self.seek(SeekFrom::Current(0))
    }

    pub fn duplicate(&self) -> io::Result<File> {
        Handle::new(std_duplicate(self.handle())).map(File)
    }

    pub fn set_permissions(&self, permissions: FilePermissions) -> io::Result<()> {
        result(std_file_set_mode(self.handle(), permissions.mode)).map(drop)
    }

    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        result(std_file_set_times(self.handle(), &times.to_host()?)).map(drop)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("handle", &self.handle()).finish()
    }
}

impl DirBuilder {
    pub fn new() -> DirBuilder {
        DirBuilder {}
    }

    pub fn mkdir(&self, path: &Path) -> io::Result<()> {
        result(std_create_directory(bytes(path)?, 0o777)).map(drop)
    }
}

pub fn readdir(path: &Path) -> io::Result<ReadDir> {
    Ok(ReadDir {
        handle: Handle::new(std_open_directory(bytes(path)?))?,
        root: Arc::new(path.to_owned()),
        list: Vec::new(),
        position: 0,
        ended: false,
    })
}

pub fn unlink(path: &Path) -> io::Result<()> {
    result(std_remove_file(bytes(path)?)).map(drop)
}

pub fn rename(old: &Path, new: &Path) -> io::Result<()> {
    result(std_rename(bytes(old)?, bytes(new)?)).map(drop)
}

pub fn set_perm(path: &Path, permissions: FilePermissions) -> io::Result<()> {
    result(std_set_mode(bytes(path)?, permissions.mode)).map(drop)
}

pub fn set_times(path: &Path, times: FileTimes) -> io::Result<()> {
    result(std_set_times(bytes(path)?, 1, &times.to_host()?)).map(drop)
}

pub fn set_times_nofollow(path: &Path, times: FileTimes) -> io::Result<()> {
    result(std_set_times(bytes(path)?, 0, &times.to_host()?)).map(drop)
}

pub fn rmdir(path: &Path) -> io::Result<()> {
    result(std_remove_directory(bytes(path)?)).map(drop)
}

pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    result(std_remove_tree(bytes(path)?)).map(drop)
}

pub fn readlink(path: &Path) -> io::Result<PathBuf> {
    let path = bytes(path)?;
    host_path(|target| std_read_link(path, target))
}

pub fn symlink(original: &Path, link: &Path) -> io::Result<()> {
    result(std_symbolic_link(bytes(original)?, bytes(link)?)).map(drop)
}

pub fn link(original: &Path, link: &Path) -> io::Result<()> {
    result(std_hard_link(bytes(original)?, bytes(link)?)).map(drop)
}

pub fn stat(path: &Path) -> io::Result<FileAttr> {
    let path = bytes(path)?;
    FileAttr::with(|status| std_status(path, 1, status))
}

pub fn lstat(path: &Path) -> io::Result<FileAttr> {
    let path = bytes(path)?;
    FileAttr::with(|status| std_status(path, 0, status))
}

pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    let path = bytes(path)?;
    host_path(|canonical| std_canonical_path(path, canonical))
}

pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    result(std_copy(bytes(from)?, bytes(to)?))
}
