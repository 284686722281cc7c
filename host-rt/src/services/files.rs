//! Operations on open files.

use std::fs::{Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use cap_std::fs::Metadata;
use std_calls::{FileStatus, FileTimes, lock};

use super::Services;
use super::errno::{errno, retry};
use super::handles::{Handle, OpenFile};
use super::location::{self, Access};
use super::metadata::{MODE_BITS, status_of, timestamps};

impl Services {
    pub(super) fn open(&self, path: &[u8], options: u32, mode: u32) -> io::Result<u64> {
        let access = location::access_of(options)?;
        let location = self.locate(path, access)?;
        self.handles.insert(|| {
            let file = location.open(options, mode)?;
            let may_change = location.allows(Access::Write);
            Ok(Handle::File(Arc::new(OpenFile { file, may_change })))
        })
    }

    pub(super) fn close(&self, handle: u32) -> io::Result<u64> {
        self.handles.close(handle)
    }

    pub(super) fn duplicate(&self, handle: u32) -> io::Result<u64> {
        let original = self.handles.find(handle)?;
        self.handles.insert(|| match original {
            Handle::File(open) => {
                let file = open.file.try_clone()?;
                let may_change = open.may_change;
                Ok(Handle::File(Arc::new(OpenFile { file, may_change })))
            }
            Handle::Socket(socket) => Ok(Handle::Socket(Arc::new(socket.try_clone()?))),
            Handle::Folder(_) => Err(errno(libc::EISDIR)),
            Handle::Child(_) => Err(errno(libc::EINVAL)),
        })
    }

    pub(super) fn file_read(&self, file: u32, bytes: &mut [u8]) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        Ok(retry(|| (&open.file).read(bytes))? as u64)
    }

    pub(super) fn file_write(&self, file: u32, bytes: &[u8]) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        Ok(retry(|| (&open.file).write(bytes))? as u64)
    }

    pub(super) fn seek(&self, file: u32, offset: i64, whence: u32) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        let invalid = || errno(libc::EINVAL);
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| invalid())?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(invalid()),
        };
        (&open.file).seek(to)
    }

    pub(super) fn sync(&self, file: u32, data_only: u32) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        match data_only {
            0 => open.file.sync_all()?,
            _ => open.file.sync_data()?,
        }
        Ok(0)
    }

    pub(super) fn truncate(&self, file: u32, size: u64) -> io::Result<u64> {
        self.handles.file(file)?.file.set_len(size)?;
        Ok(0)
    }

    pub(super) fn lock(&self, file: u32, operation: u32) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        let without_waiting = |result| match result {
            Err(TryLockError::WouldBlock) => Err(errno(libc::EWOULDBLOCK)),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        match operation {
            lock::EXCLUSIVE => retry(|| open.file.lock())?,
            lock::SHARED => retry(|| open.file.lock_shared())?,
            lock::TRY_EXCLUSIVE => without_waiting(open.file.try_lock())?,
            lock::TRY_SHARED => without_waiting(open.file.try_lock_shared())?,
            lock::UNLOCK => open.file.unlock()?,
            _ => return Err(errno(libc::EINVAL)),
        }
        Ok(0)
    }

    pub(super) fn file_status(&self, file: u32, status: &mut FileStatus) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        *status = status_of(&Metadata::from_file(&open.file)?);
        Ok(0)
    }

    pub(super) fn file_set_mode(&self, file: u32, mode: u32) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        let permissions = Permissions::from_mode(mode & MODE_BITS);
        open.to_change()?.set_permissions(permissions)?;
        Ok(0)
    }

    pub(super) fn file_set_times(&self, file: u32, times: &FileTimes) -> io::Result<u64> {
        let open = self.handles.file(file)?;
        rustix::fs::futimens(open.to_change()?, &timestamps(times))?;
        Ok(0)
    }
}
