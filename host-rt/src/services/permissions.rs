//! The files to which a program has access.

use std::io;
use std::path::PathBuf;

use super::ServicesError;
use super::errno::errno;
use super::location::{Access, AllowedFolder, Location};

/// The files to which a program has access.
#[derive(Debug)]
pub(super) enum Permissions {
    /// All of the user's.
    All,
    /// Those in some folders.
    Folders(Vec<AllowedFolder>),
}

impl Permissions {
    /// Access to `folders` only.
    pub(super) fn folders(folders: Vec<(PathBuf, Access)>) -> Result<Self, ServicesError> {
        let open = |(path, access): (PathBuf, Access)| {
            let opened = AllowedFolder::open(&path, access);
            opened.map_err(|source| ServicesError::Folder { path, source })
        };
        let folders: Result<_, _> = folders.into_iter().map(open).collect();
        folders.map(Self::Folders)
    }

    /// The file at an absolute path.
    ///
    /// If several allowed folders contain it, the outermost is used, so that symbolic links may
    /// lead as far as possible.
    ///
    /// # Errors
    /// `EACCES` without permission.
    pub(super) fn locate(&self, path: PathBuf, access: Access) -> io::Result<Location<'_>> {
        let folders = match self {
            Self::All => return Ok(Location::Anywhere(path)),
            Self::Folders(folders) => folders,
        };
        let inside = folders
            .iter()
            .filter(|folder| folder.allows(access))
            .filter_map(|folder| Some((folder, folder.relative(&path)?)))
            .max_by_key(|(_, path)| path.components().count());
        match inside {
            Some((folder, path)) => Ok(Location::Inside { folder, path }),
            None => Err(errno(libc::EACCES)),
        }
    }
}
