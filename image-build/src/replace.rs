//! Files that other processes may read while this one makes them anew: they find the old file or the new one.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{BuildError, io_at};

/// Makes a file beside another one, which it then replaces.
pub(crate) fn replace(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<io::Result<()>, BuildError>,
) -> Result<(), BuildError> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    let new = Path::new(&new);
    make(new)?
        .and_then(|()| fs::rename(new, path))
        .map_err(io_at(path))
}

/// Replaces a file, unless it has this content.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    replace(path, |new| Ok(fs::write(new, content)))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_reader_finds_a_whole_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        let contents = [b"a".repeat(1 << 16), b"b".repeat(1 << 16)];
        write(&path, &contents[0]).expect("written");
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for at in 0..500 {
                    write(&path, &contents[at % 2]).expect("written");
                }
            });
            while !writer.is_finished() {
                let found = fs::read(&path).expect("read");
                assert!(contents.contains(&found), "{} bytes", found.len());
            }
        });
    }
}
