//! [`FileId`].

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// A file, whatever its name.
#[derive(PartialEq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }
}
