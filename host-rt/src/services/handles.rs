//! The table of open files, folders, sockets and children.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::child::ChildProcess;
use super::errno::errno;
use super::listing::Listing;
use crate::base::lock::lock;

/// The lowest handle: lower numbers are those of the standard streams.
const FIRST: u32 = 3;
/// The highest handle: the last one that is a file descriptor for Rust's `std`.
const LAST: u32 = i32::MAX as u32;

/// An open file, and whether the program may change its permissions and times. Linux lets the owner
/// do so through a file that is open for reading only.
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) may_change: bool,
}

impl OpenFile {
    /// The file, to change its permissions or times.
    pub(super) fn to_change(&self) -> io::Result<&File> {
        if self.may_change {
            Ok(&self.file)
        } else {
            Err(errno(libc::EACCES))
        }
    }
}

/// The object of a handle. Calls hold a reference, so closing a handle does not wait for them.
#[derive(Clone)]
pub(super) enum Handle {
    File(Arc<OpenFile>),
    Folder(Arc<Mutex<Listing>>),
    Socket(Arc<OwnedFd>),
    Child(Arc<ChildProcess>),
}

/// The open files, folders, sockets and children of a program, by handle.
pub(super) struct Handles {
    /// The maximum number of open handles.
    limit: usize,
    table: Mutex<Table>,
}

struct Table {
    /// The handle at which the search for an unused one starts. Handles are reused only after all
    /// others, so that a program does not mistake a new file for one that it has closed.
    next: u32,
    /// The number of files that are being opened.
    reserved: usize,
    open: BTreeMap<u32, Handle>,
}

impl Table {
    /// An unused handle.
    fn unused(&mut self) -> u32 {
        loop {
            let handle = self.next;
            self.next = if handle == LAST { FIRST } else { handle + 1 };
            if !self.open.contains_key(&handle) {
                return handle;
            }
        }
    }

    fn add(&mut self, opened: Handle) -> u32 {
        let handle = self.unused();
        self.open.insert(handle, opened);
        handle
    }
}

/// The right to add some handles, until dropped.
struct Reservation<'a> {
    handles: &'a Handles,
    count: usize,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        lock(&self.handles.table).reserved -= self.count;
    }
}

impl Handles {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            // Fewer than there are numbers, so that there is always an unused one.
            limit: limit.min((LAST - FIRST) as usize),
            table: Mutex::new(Table {
                next: FIRST,
                reserved: 0,
                open: BTreeMap::new(),
            }),
        }
    }

    /// Adds what `open` opens, which is not called if there are too many handles.
    pub(super) fn insert(&self, open: impl FnOnce() -> io::Result<Handle>) -> io::Result<u64> {
        let [handle] = self.insert_all(1, || Ok([Some(open()?)]))?;
        // `open` has returned one.
        Ok(handle.unwrap_or(0).into())
    }

    /// Adds all that `open` opens, which are at most `count`, or nothing.
    pub(super) fn insert_all<const N: usize>(
        &self,
        count: usize,
        open: impl FnOnce() -> io::Result<[Option<Handle>; N]>,
    ) -> io::Result<[Option<u32>; N]> {
        let reservation = self.reserve(count)?;
        // The table is unlocked: opening may block.
        let opened = open()?;
        let mut table = lock(&self.table);
        let handles = opened.map(|opened| opened.map(|opened| table.add(opened)));
        drop(table);
        drop(reservation);
        Ok(handles)
    }

    fn reserve(&self, count: usize) -> io::Result<Reservation<'_>> {
        let mut table = lock(&self.table);
        if table.open.len() + table.reserved + count > self.limit {
            return Err(errno(libc::EMFILE));
        }
        table.reserved += count;
        Ok(Reservation {
            handles: self,
            count,
        })
    }

    pub(super) fn find(&self, handle: u32) -> io::Result<Handle> {
        let found = lock(&self.table).open.get(&handle).cloned();
        found.ok_or_else(|| errno(libc::EBADF))
    }

    pub(super) fn file(&self, handle: u32) -> io::Result<Arc<OpenFile>> {
        match self.find(handle)? {
            Handle::File(file) => Ok(file),
            Handle::Folder(_) => Err(errno(libc::EISDIR)),
            Handle::Socket(_) | Handle::Child(_) => Err(errno(libc::EINVAL)),
        }
    }

    pub(super) fn folder(&self, handle: u32) -> io::Result<Arc<Mutex<Listing>>> {
        match self.find(handle)? {
            Handle::Folder(folder) => Ok(folder),
            _ => Err(errno(libc::ENOTDIR)),
        }
    }

    pub(super) fn socket(&self, handle: u32) -> io::Result<Arc<OwnedFd>> {
        match self.find(handle)? {
            Handle::Socket(socket) => Ok(socket),
            _ => Err(errno(libc::ENOTSOCK)),
        }
    }

    pub(super) fn child(&self, handle: u32) -> io::Result<Arc<ChildProcess>> {
        match self.find(handle)? {
            Handle::Child(child) => Ok(child),
            _ => Err(errno(libc::ECHILD)),
        }
    }

    pub(super) fn close(&self, handle: u32) -> io::Result<u64> {
        // Dropped after the table is unlocked: closing may block.
        let closed = lock(&self.table).open.remove(&handle);
        closed.map(|_| 0).ok_or_else(|| errno(libc::EBADF))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> io::Result<Handle> {
        let listing = Listing::new(Box::new(std::iter::empty()));
        Ok(Handle::Folder(Arc::new(Mutex::new(listing))))
    }

    fn number(error: io::Result<u64>) -> Option<i32> {
        error.unwrap_err().raw_os_error()
    }

    #[test]
    fn a_closed_handle_is_not_the_next_one() {
        let handles = Handles::new(2);
        let first = handles.insert(folder).unwrap() as u32;
        assert_eq!(first, FIRST);
        assert_eq!(handles.close(first).unwrap(), 0);
        assert_eq!(number(handles.close(first)), Some(libc::EBADF));
        assert_ne!(handles.insert(folder).unwrap() as u32, first);
    }

    #[test]
    fn the_numbers_start_again_and_skip_open_handles() {
        let handles = Handles::new(3);
        let first = handles.insert(folder).unwrap();
        lock(&handles.table).next = LAST;
        assert_eq!(handles.insert(folder).unwrap(), LAST.into());
        assert_eq!(handles.insert(folder).unwrap(), first + 1);
    }

    #[test]
    fn nothing_is_opened_beyond_the_limit() {
        let handles = Handles::new(1);
        let handle = handles.insert(|| {
            // The first one counts while it is being opened.
            let second = handles.insert(|| panic!("opened"));
            assert_eq!(number(second), Some(libc::EMFILE));
            folder()
        });
        let handle = handle.unwrap();
        let second = handles.insert(|| panic!("opened"));
        assert_eq!(number(second), Some(libc::EMFILE));
        handles.close(handle as u32).unwrap();
        handles.insert(folder).unwrap();
    }

    #[test]
    fn a_failure_does_not_count() {
        let handles = Handles::new(1);
        let failed = handles.insert(|| Err(errno(libc::ENOENT)));
        assert_eq!(number(failed), Some(libc::ENOENT));
        handles.insert(folder).unwrap();
    }
}
