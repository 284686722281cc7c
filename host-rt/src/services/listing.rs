//! The entries of folders.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::errno::errno;

/// An entry of a folder.
pub(super) struct Entry {
    /// See [`FileStatus::kind`](std_calls::FileStatus::kind).
    pub(super) kind: u32,
    pub(super) name: OsString,
}

/// The entries of a folder, read as they are needed.
pub(super) type Entries = Box<dyn Iterator<Item = io::Result<Entry>> + Send>;

/// The list of a folder that is being read.
pub(super) struct Listing {
    entries: Entries,
    /// The entry that has been read, but has not been returned.
    pending: Option<io::Result<Vec<u8>>>,
}

impl Listing {
    pub(super) fn new(entries: Entries) -> Self {
        Self {
            entries,
            pending: None,
        }
    }

    /// Writes as many entries as fit; returns the length of the list.
    pub(super) fn fill(&mut self, list: &mut [u8]) -> io::Result<u64> {
        let mut len = 0;
        while let Some(element) = self.next_element() {
            let element = match element {
                Ok(element) => element,
                Err(error) if len == 0 => return Err(error),
                Err(error) => {
                    self.pending = Some(Err(error));
                    break;
                }
            };
            match list[len..].get_mut(..element.len()) {
                Some(free) => {
                    free.copy_from_slice(&element);
                    len += element.len();
                }
                None => {
                    self.pending = Some(Ok(element));
                    if len == 0 {
                        return Err(errno(libc::EINVAL));
                    }
                    break;
                }
            }
        }
        Ok(len as u64)
    }

    fn next_element(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.pending
            .take()
            .or_else(|| Some(self.entries.next()?.map(|entry| element(&entry))))
    }
}

/// An entry as an element of a list.
fn element(entry: &Entry) -> Vec<u8> {
    let name = entry.name.as_bytes();
    let mut element = Vec::with_capacity(name.len() + 2);
    // The kinds are 0 to 3.
    element.push(b'0' + entry.kind as u8);
    element.extend_from_slice(name);
    element.push(0);
    element
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> io::Result<Entry> {
        let name = name.into();
        Ok(Entry { kind: 1, name })
    }

    #[test]
    fn an_error_follows_the_entries_before_it() {
        let entries = [entry("a"), Err(errno(libc::EIO)), entry("b")];
        let mut listing = Listing::new(Box::new(entries.into_iter()));
        let mut list = [0; 16];
        assert_eq!(listing.fill(&mut list).unwrap(), 3);
        assert_eq!(&list[..3], b"1a\0");
        let error = listing.fill(&mut list).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        assert_eq!(listing.fill(&mut list).unwrap(), 3);
        assert_eq!(&list[..3], b"1b\0");
        assert_eq!(listing.fill(&mut list).unwrap(), 0);
    }

    #[test]
    fn entries_that_do_not_fit_are_kept() {
        let entries = [entry("first"), entry("x")];
        let mut listing = Listing::new(Box::new(entries.into_iter()));
        let mut list = [0; 7];
        for size in [0, 6] {
            let error = listing.fill(&mut list[..size]).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
        assert_eq!(listing.fill(&mut list).unwrap(), 7);
        assert_eq!(&list, b"1first\0");
        assert_eq!(listing.fill(&mut list).unwrap(), 3);
        assert_eq!(listing.fill(&mut []).unwrap(), 0);
    }
}
