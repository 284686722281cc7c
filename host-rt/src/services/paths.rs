//! Operations on paths.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use std_calls::{FileStatus, FileTimes, MAX_PATH, open};

use super::Services;
use super::errno::errno;
use super::location::{Access, Location};
use super::metadata::{MODE_BITS, status_of, timestamps};
use super::process::fill;
use crate::base::lock::lock;

/// Bytes of a device as a path.
fn path(bytes: &[u8]) -> io::Result<&Path> {
    if bytes.is_empty() {
        Err(errno(libc::ENOENT))
    } else if bytes.len() >= MAX_PATH {
        Err(errno(libc::ENAMETOOLONG))
    } else if bytes.contains(&0) {
        Err(errno(libc::EINVAL))
    } else {
        Ok(Path::new(OsStr::from_bytes(bytes)))
    }
}

impl Services {
    /// The file at a path, which may be relative to the working directory.
    pub(super) fn locate(&self, bytes: &[u8], access: Access) -> io::Result<Location<'_>> {
        let absolute = lock(&self.directory).join(path(bytes)?);
        self.permissions.locate(absolute, access)
    }

    pub(super) fn change_directory(&self, path: &[u8]) -> io::Result<u64> {
        let location = self.locate(path, Access::Read)?;
        if !location.metadata(true)?.is_dir() {
            return Err(errno(libc::ENOTDIR));
        }
        let directory = location.canonical()?;
        *lock(&self.directory) = directory;
        Ok(0)
    }

    pub(super) fn status(
        &self,
        path: &[u8],
        follow: u32,
        status: &mut FileStatus,
    ) -> io::Result<u64> {
        let location = self.locate(path, Access::Read)?;
        *status = status_of(&location.metadata(follow != 0)?);
        Ok(0)
    }

    pub(super) fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<u64> {
        self.locate(path, Access::Write)?.set_mode(mode)?;
        Ok(0)
    }

    pub(super) fn set_times(&self, path: &[u8], follow: u32, times: &FileTimes) -> io::Result<u64> {
        let location = self.locate(path, Access::Write)?;
        location.set_times(&timestamps(times), follow != 0)?;
        Ok(0)
    }

    pub(super) fn create_directory(&self, path: &[u8], mode: u32) -> io::Result<u64> {
        self.locate(path, Access::Write)?.create_directory(mode)?;
        Ok(0)
    }

    pub(super) fn remove_directory(&self, path: &[u8]) -> io::Result<u64> {
        self.locate(path, Access::Write)?.remove_directory()?;
        Ok(0)
    }

    pub(super) fn remove_tree(&self, path: &[u8]) -> io::Result<u64> {
        self.locate(path, Access::Write)?.remove_tree()?;
        Ok(0)
    }

    pub(super) fn remove_file(&self, path: &[u8]) -> io::Result<u64> {
        self.locate(path, Access::Write)?.remove_file()?;
        Ok(0)
    }

    pub(super) fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<u64> {
        let from = self.locate(from, Access::Write)?;
        from.rename(&self.locate(to, Access::Write)?)?;
        Ok(0)
    }

    /// Needs write access to the original too: the program can write to it through the link.
    pub(super) fn hard_link(&self, original: &[u8], link: &[u8]) -> io::Result<u64> {
        let original = self.locate(original, Access::Write)?;
        original.hard_link(&self.locate(link, Access::Write)?)?;
        Ok(0)
    }

    pub(super) fn symbolic_link(&self, original: &[u8], link: &[u8]) -> io::Result<u64> {
        let original = path(original)?;
        self.locate(link, Access::Write)?.symbolic_link(original)?;
        Ok(0)
    }

    pub(super) fn read_link(&self, path: &[u8], target: &mut [u8]) -> io::Result<u64> {
        let text = self.locate(path, Access::Read)?.read_link()?;
        Ok(fill(target, text.as_os_str().as_bytes()))
    }

    pub(super) fn canonical_path(&self, path: &[u8], canonical: &mut [u8]) -> io::Result<u64> {
        let path = self.locate(path, Access::Read)?.canonical()?;
        Ok(fill(canonical, path.as_os_str().as_bytes()))
    }

    /// Like [`std::fs::copy`].
    pub(super) fn copy(&self, from: &[u8], to: &[u8]) -> io::Result<u64> {
        let from = self.locate(from, Access::Read)?;
        let to = self.locate(to, Access::Write)?;
        let mut reader = from.open(open::READ, 0)?;
        let metadata = reader.metadata()?;
        if !metadata.is_file() {
            return Err(errno(libc::EINVAL));
        }
        let mode = MODE_BITS & std::os::unix::fs::MetadataExt::mode(&metadata);
        let mut writer = to.open(open::WRITE | open::CREATE | open::TRUNCATE, mode)?;
        if writer.metadata()?.is_file() {
            // It may have existed, with other permissions.
            writer.set_permissions(metadata.permissions())?;
        }
        io::copy(&mut reader, &mut writer)
    }
}
