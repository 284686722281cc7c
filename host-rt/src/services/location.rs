//! Operations on a file of the host.
//!
//! [`cap_std`] keeps those on a file in an allowed folder inside of it, even if the path has `..` or
//! leads through symbolic links, and even if others change these meanwhile.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, File, Metadata, OpenOptions};
use cap_std::fs::{FileType, OpenOptionsExt, Permissions};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timestamps, utimensat};
use std_calls::{FileStatus, open};

use super::errno::{errno, retry};
use super::listing::{Entries, Entry};
use super::metadata::{MODE_BITS, kind_of};
use super::remove_tree::remove_tree;

/// A kind of access to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading contents, names and metadata.
    Read,
    /// Reading, and changing anything.
    Write,
}

/// The access that [`Location::open`] needs for these options.
///
/// # Errors
/// `EINVAL` if the options are invalid.
pub(super) fn access_of(options: u32) -> io::Result<Access> {
    const CHANGES: u32 =
        open::WRITE | open::APPEND | open::TRUNCATE | open::CREATE | open::CREATE_NEW;
    match options {
        _ if options & !(open::READ | CHANGES) != 0 => Err(errno(libc::EINVAL)),
        _ if options & CHANGES != 0 => Ok(Access::Write),
        _ => Ok(Access::Read),
    }
}

/// A folder to which a program has access.
#[derive(Debug)]
pub(super) struct AllowedFolder {
    dir: Dir,
    /// Its absolute path without symbolic links.
    path: PathBuf,
    /// Its absolute path, as it was given.
    alias: PathBuf,
    access: Access,
}

impl AllowedFolder {
    pub(super) fn open(path: &Path, access: Access) -> io::Result<Self> {
        Ok(Self {
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
            path: fs::canonicalize(path)?,
            alias: std::path::absolute(path)?,
            access,
        })
    }

    pub(super) fn allows(&self, access: Access) -> bool {
        access == Access::Read || self.access == Access::Write
    }

    /// An absolute path relative to the folder; `None` if it starts elsewhere. It may still leave
    /// the folder.
    pub(super) fn relative(&self, path: &Path) -> Option<PathBuf> {
        let inside = |folder| path.strip_prefix(folder).ok();
        let inside = inside(&self.path).or_else(|| inside(&self.alias))?;
        if inside.as_os_str().is_empty() {
            return Some(PathBuf::from("."));
        }
        let mut relative = inside.to_path_buf();
        // A slash or a `.` at the end, which `strip_prefix` drops, makes it the path of a folder.
        if ends_in_dot(path) {
            relative.push(".");
        } else if is_of_folder(path) {
            relative.push("");
        }
        Some(relative)
    }
}

/// A file of the host, which need not exist.
#[derive(Debug)]
pub(super) enum Location<'a> {
    /// At an absolute path.
    Anywhere(PathBuf),
    /// In an allowed folder.
    Inside {
        folder: &'a AllowedFolder,
        /// Relative to the folder.
        path: PathBuf,
    },
}

impl Location<'_> {
    /// Whether access of this kind is allowed.
    pub(super) fn allows(&self, access: Access) -> bool {
        match self {
            Self::Anywhere(_) => true,
            Self::Inside { folder, .. } => folder.allows(access),
        }
    }

    /// Opens the file; `options` are checked by [`access_of`].
    pub(super) fn open(&self, options: u32, mode: u32) -> io::Result<fs::File> {
        let is_set = |option| options & option != 0;
        let mut how = OpenOptions::new();
        how.read(is_set(open::READ))
            .write(is_set(open::WRITE))
            .append(is_set(open::APPEND))
            .truncate(is_set(open::TRUNCATE))
            .create(is_set(open::CREATE))
            .create_new(is_set(open::CREATE_NEW))
            .mode(mode & MODE_BITS);
        let file = retry(|| match self {
            Self::Anywhere(path) => File::open_ambient_with(path, &how, ambient_authority()),
            Self::Inside { folder, path } => folder.dir.open_with(path, &how),
        })?;
        Ok(file.into_std())
    }

    /// Whether an operation follows a symbolic link: like Linux, also if a folder is required.
    fn follows(&self, follow: bool) -> bool {
        let (Self::Anywhere(path) | Self::Inside { path, .. }) = self;
        follow || is_of_folder(path)
    }

    pub(super) fn metadata(&self, follow: bool) -> io::Result<Metadata> {
        match (self, self.follows(follow)) {
            (Self::Anywhere(path), true) => fs::metadata(path).map(Metadata::from_just_metadata),
            (Self::Anywhere(path), false) => {
                fs::symlink_metadata(path).map(Metadata::from_just_metadata)
            }
            (Self::Inside { folder, path }, true) => folder.dir.metadata(path),
            (Self::Inside { folder, path }, false) => folder.dir.symlink_metadata(path),
        }
    }

    pub(super) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let permissions = fs::Permissions::from_mode(mode & MODE_BITS);
        match self {
            Self::Anywhere(path) => fs::set_permissions(path, permissions),
            Self::Inside { folder, path } => {
                let permissions = Permissions::from_std(permissions);
                folder.dir.set_permissions(path, permissions)
            }
        }
    }

    pub(super) fn set_times(&self, times: &Timestamps, follow: bool) -> io::Result<()> {
        let follow = self.follows(follow);
        let (folder, path) = match self {
            Self::Anywhere(path) => {
                let flags = if follow {
                    AtFlags::empty()
                } else {
                    AtFlags::SYMLINK_NOFOLLOW
                };
                return Ok(utimensat(CWD, path, times, flags)?);
            }
            Self::Inside { folder, path } if follow => (folder, &folder.dir.canonicalize(path)?),
            Self::Inside { folder, path } => (folder, path),
        };
        // If the last name has become a symbolic link meanwhile, the times of the link are set.
        let (parent, name) = split(path);
        let parent = folder.dir.open_dir(parent)?;
        Ok(utimensat(&parent, name, times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn create_directory(&self, mode: u32) -> io::Result<()> {
        let mode = mode & MODE_BITS;
        match self {
            Self::Anywhere(path) => fs::DirBuilder::new().mode(mode).create(path),
            Self::Inside { folder, path } => {
                let mut builder = DirBuilder::new();
                builder.mode(mode);
                folder.dir.create_dir_with(path, &builder)
            }
        }
    }

    pub(super) fn remove_directory(&self) -> io::Result<()> {
        match self {
            Self::Anywhere(path) => fs::remove_dir(path),
            Self::Inside { folder, path } => folder.dir.remove_dir(path),
        }
    }

    pub(super) fn remove_file(&self) -> io::Result<()> {
        match self {
            Self::Anywhere(path) => fs::remove_file(path),
            Self::Inside { folder, path } => folder.dir.remove_file(path),
        }
    }

    /// Removes a folder and its contents; of a symbolic link, the link.
    pub(super) fn remove_tree(&self) -> io::Result<()> {
        let (parent, name) = self.parent()?;
        remove_tree(&parent, &name)
    }

    /// The open parent folder and the name in it.
    fn parent(&self) -> io::Result<(OwnedFd, OsString)> {
        let (Self::Anywhere(path) | Self::Inside { path, .. }) = self;
        let (parent, name) = split(path);
        // A `.` at the end, which `split` drops, and `..` are no names of an entry.
        if ends_in_dot(path) || !matches!(name, Component::Normal(_)) {
            return Err(errno(libc::EINVAL));
        }
        let parent = match self {
            Self::Anywhere(_) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                rustix::fs::open(parent, flags, Mode::empty())?
            }
            Self::Inside { folder, .. } => folder.dir.open_dir(parent)?.into_std_file().into(),
        };
        Ok((parent, name.as_os_str().to_owned()))
    }

    pub(super) fn rename(&self, to: &Self) -> io::Result<()> {
        match (self, to) {
            (Self::Anywhere(from), Self::Anywhere(to)) => fs::rename(from, to),
            (
                Self::Inside { folder, path },
                Self::Inside {
                    folder: other,
                    path: to,
                },
            ) => folder.dir.rename(path, &other.dir, to),
            _ => Err(different_permissions()),
        }
    }

    /// Creates the hard link `link` to the file.
    pub(super) fn hard_link(&self, link: &Self) -> io::Result<()> {
        match (self, link) {
            (Self::Anywhere(original), Self::Anywhere(link)) => fs::hard_link(original, link),
            (
                Self::Inside { folder, path },
                Self::Inside {
                    folder: other,
                    path: link,
                },
            ) => folder.dir.hard_link(path, &other.dir, link),
            _ => Err(different_permissions()),
        }
    }

    /// Creates a symbolic link with the text `original`. In an allowed folder, absolute links are
    /// rejected: they are useless there, and other programs may follow them.
    pub(super) fn symbolic_link(&self, original: &Path) -> io::Result<()> {
        match self {
            Self::Anywhere(path) => symlink(original, path),
            Self::Inside { folder, path } => folder.dir.symlink(original, path),
        }
    }

    pub(super) fn read_link(&self) -> io::Result<PathBuf> {
        match self {
            Self::Anywhere(path) => fs::read_link(path),
            Self::Inside { folder, path } => folder.dir.read_link_contents(path),
        }
    }

    /// The absolute path without symbolic links.
    pub(super) fn canonical(&self) -> io::Result<PathBuf> {
        match self {
            Self::Anywhere(path) => fs::canonicalize(path),
            Self::Inside { folder, path } => {
                let path = folder.dir.canonicalize(path)?;
                // Without the `.` of the folder itself.
                Ok(folder.path.join(path).components().collect())
            }
        }
    }

    pub(super) fn entries(&self) -> io::Result<Entries> {
        Ok(match self {
            Self::Anywhere(path) => Box::new(fs::read_dir(path)?.map(|entry| {
                let entry = entry?;
                // One that has vanished meanwhile fails when the program uses it.
                let kind = entry.file_type().map_or(FileStatus::OTHER, |kind| {
                    kind_of(kind.is_file(), kind.is_dir(), kind.is_symlink())
                });
                let name = entry.file_name();
                Ok(Entry { kind, name })
            })),
            Self::Inside { folder, path } => Box::new(folder.dir.read_dir(path)?.map(|entry| {
                let entry = entry?;
                let listed =
                    |kind: FileType| kind_of(kind.is_file(), kind.is_dir(), kind.is_symlink());
                let mut kind = entry.file_type().map_or(FileStatus::OTHER, listed);
                // Some file systems do not list kinds, and cap-std then does not look itself.
                if kind == FileStatus::OTHER
                    && let Ok(metadata) = entry.metadata()
                {
                    kind = listed(metadata.file_type());
                }
                let name = entry.file_name();
                Ok(Entry { kind, name })
            })),
        })
    }
}

/// The error if one of two files of the same program may be anywhere and the other one may not,
/// which cannot happen.
fn different_permissions() -> io::Error {
    errno(libc::EXDEV)
}

/// The parent of a path and its last component, `.` if it has none.
fn split(path: &Path) -> (&Path, Component<'_>) {
    let mut components = path.components();
    match components.next_back() {
        Some(last @ Component::Normal(_)) if components.as_path().as_os_str().is_empty() => {
            (Path::new("."), last)
        }
        Some(last @ Component::Normal(_)) => (components.as_path(), last),
        _ => (path, Component::CurDir),
    }
}

/// Whether only a folder can be at a path, because it ends in a slash or a `.`.
fn is_of_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/") || ends_in_dot(path)
}

/// Whether the last name of a path is `.`.
fn ends_in_dot(path: &Path) -> bool {
    let mut names = path.as_os_str().as_bytes().rsplit(|byte| *byte == b'/');
    names.find(|name| !name.is_empty()) == Some(b".")
}
