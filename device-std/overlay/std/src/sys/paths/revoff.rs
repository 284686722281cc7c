//! Paths are those of a Unix host.

use crate::ffi::{OsStr, OsString};
use crate::path::{Path, PathBuf};
use crate::sys::pal::{self, host_path, os_string};
use crate::{env, fmt, io, slice};

/// Separates the paths of a list such as `PATH`.
const SEPARATOR: u8 = b':';

pub fn getcwd() -> io::Result<PathBuf> {
    host_path(pal::host::std_directory)
}

pub fn chdir(path: &Path) -> io::Result<()> {
    pal::result(pal::host::std_change_directory(path.as_os_str().as_encoded_bytes())).map(drop)
}

pub struct SplitPaths<'a> {
    parts: slice::Split<'a, u8, fn(&u8) -> bool>,
}

pub fn split_paths(list: &OsStr) -> SplitPaths<'_> {
    SplitPaths { parts: list.as_encoded_bytes().split(|byte| *byte == SEPARATOR) }
}

impl Iterator for SplitPaths<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        Some(os_string(self.parts.next()?.to_vec()).into())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.parts.size_hint()
    }
}

#[derive(Debug)]
pub struct JoinPathsError;

pub fn join_paths<I, T>(paths: I) -> Result<OsString, JoinPathsError>
where
    I: Iterator<Item = T>,
    T: AsRef<OsStr>,
{
    let mut joined = Vec::new();
    for (index, path) in paths.enumerate() {
        let path = path.as_ref().as_encoded_bytes();
        if index > 0 {
            joined.push(SEPARATOR);
        }
        if path.contains(&SEPARATOR) {
            return Err(JoinPathsError);
        }
        joined.extend_from_slice(path);
    }
    Ok(os_string(joined))
}

impl fmt::Display for JoinPathsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path segment contains separator `{}`", char::from(SEPARATOR))
    }
}

impl crate::error::Error for JoinPathsError {}

pub fn current_exe() -> io::Result<PathBuf> {
    host_path(pal::host::std_program)
}

pub fn temp_dir() -> PathBuf {
    env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

pub fn home_dir() -> Option<PathBuf> {
    env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}
