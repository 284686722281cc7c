//! Removal of a folder with its contents.
//!
//! A device determines how deep folders are nested, so this does not recurse: a host thread's stack
//! would end. Every name is looked up in an open folder, without following symbolic links, so
//! concurrent changes cannot redirect the removal.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::errno::errno;

/// The maximum depth: the number of folders that are open at the same time.
const MAX_DEPTH: usize = 512;

/// A folder that is being emptied.
struct Level {
    /// Its name in the folder of the level above.
    name: CString,
    entries: Dir,
}

impl Level {
    fn open(parent: impl AsFd, name: CString) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(parent, &name, flags, Mode::empty())?;
        let entries = Dir::new(folder)?;
        Ok(Self { name, entries })
    }
}

/// Removes the folder `name` of `parent` and its contents; of a symbolic link, the link.
///
/// # Errors
/// `ENOTDIR` if it is neither, and `EMFILE` if folders are nested too deeply.
pub(super) fn remove_tree(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let name = name.into_c_str()?.into_owned();
    let status = statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Symlink => return Ok(unlinkat(parent, &name, AtFlags::empty())?),
        FileType::Directory => {}
        _ => return Err(errno(libc::ENOTDIR)),
    }
    let mut levels = vec![Level::open(parent, name)?];
    while let Some(level) = levels.last_mut() {
        match level.entries.read() {
            Some(entry) => {
                let entry = entry?;
                if let Some(folder) = remove_or_open(&level.entries, entry.file_name().into())? {
                    if levels.len() == MAX_DEPTH {
                        return Err(errno(libc::EMFILE));
                    }
                    levels.push(folder);
                }
            }
            None => {
                let Level { name, entries } = levels.pop().expect("the loop's condition");
                drop(entries);
                let parent = match levels.last() {
                    Some(level) => level.entries.fd()?,
                    None => parent.as_fd(),
                };
                unlinkat(parent, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
    Ok(())
}

/// Removes an entry, or opens it if it is a folder.
fn remove_or_open(parent: &Dir, name: CString) -> io::Result<Option<Level>> {
    if matches!(name.to_bytes(), b"." | b"..") {
        return Ok(None);
    }
    let parent = parent.fd()?;
    match unlinkat(parent, &name, AtFlags::empty()) {
        // Another thread or program may have removed it.
        Ok(()) | Err(Errno::NOENT) => Ok(None),
        Err(Errno::ISDIR) => Level::open(parent, name).map(Some),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::{env, fs};

    use super::*;

    /// As if the link had replaced a folder after `unlinkat` failed.
    #[test]
    fn a_link_is_not_opened() {
        let path = env::temp_dir().join(format!("host-rt-remove-tree-{}", std::process::id()));
        fs::create_dir_all(path.join("folder")).unwrap();
        symlink("folder", path.join("link")).unwrap();
        let parent: OwnedFd = fs::File::open(&path).unwrap().into();
        let opened = ["folder", "link"].map(|name| {
            let name = CString::new(name).unwrap();
            Level::open(&parent, name).map(|_| ())
        });
        fs::remove_dir_all(&path).unwrap();
        let [folder, link] = opened;
        folder.unwrap();
        assert_eq!(link.unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
    }
}
