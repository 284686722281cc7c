//! Operations on open folders.

use std::io;
use std::sync::{Arc, Mutex};

use super::Services;
use super::handles::Handle;
use super::listing::Listing;
use super::location::Access;
use crate::base::lock::lock;

impl Services {
    pub(super) fn open_directory(&self, path: &[u8]) -> io::Result<u64> {
        let location = self.locate(path, Access::Read)?;
        self.handles.insert(|| {
            let listing = Listing::new(location.entries()?);
            Ok(Handle::Folder(Arc::new(Mutex::new(listing))))
        })
    }

    pub(super) fn next_entries(&self, directory: u32, list: &mut [u8]) -> io::Result<u64> {
        let folder = self.handles.folder(directory)?;
        lock(&folder).fill(list)
    }
}
