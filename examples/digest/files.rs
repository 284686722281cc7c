//! The files: finding them, handing them out, reading them, and collecting their digests.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A digest, or the reason why there is none.
pub(crate) type Outcome = Result<[u8; 32], io::Error>;

/// A file and its result.
struct Entry {
    path: PathBuf,
    /// Open from the first chunk to the digest.
    open: Mutex<Option<File>>,
    result: OnceLock<Outcome>,
    /// Whether this rank digests it.
    is_here: bool,
}

/// All files, by path.
pub(crate) struct Files {
    entries: Vec<Entry>,
    total_bytes: u64,
    next: AtomicU32,
    bytes_read: AtomicU64,
}

impl Files {
    /// The files at `paths` and below them.
    pub(crate) fn find(paths: &[PathBuf]) -> Self {
        let mut found = Vec::new();
        for path in paths {
            walk(path, true, &mut found);
        }
        found.sort_by(|a, b| {
            a.path
                .as_os_str()
                .as_bytes()
                .cmp(b.path.as_os_str().as_bytes())
        });
        let total_bytes = found
            .iter()
            .filter_map(|e| fs::metadata(&e.path).ok())
            .map(|m| m.len())
            .sum();
        Self {
            entries: found,
            total_bytes,
            next: AtomicU32::new(0),
            bytes_read: AtomicU64::new(0),
        }
    }

    /// The same, of which one rank of several digests its share. A file that appears while the ranks look for
    /// files changes no other's rank, because the path decides.
    #[cfg(feature = "mpi")]
    pub(crate) fn of_rank(mut self, rank: u32, size: u32) -> Self {
        use std::hash::{DefaultHasher, Hash, Hasher};
        for entry in &mut self.entries {
            let mut hasher = DefaultHasher::new();
            entry.path.hash(&mut hasher);
            entry.is_here = hasher.finish() % u64::from(size) == u64::from(rank);
        }
        let here = self.entries.iter().filter(|entry| entry.is_here);
        let sizes = here.filter_map(|entry| fs::metadata(&entry.path).ok());
        self.total_bytes = sizes.map(|metadata| metadata.len()).sum();
        self
    }

    /// The results of this rank's files.
    #[cfg(feature = "mpi")]
    pub(crate) fn results_here(&self) -> impl Iterator<Item = (&Path, &Outcome)> {
        let here = self.entries.iter().filter(|entry| entry.is_here);
        here.filter_map(|entry| Some((entry.path.as_path(), entry.result.get()?)))
    }

    /// Takes the result of another rank's file.
    #[cfg(feature = "mpi")]
    pub(crate) fn set_result(&self, path: &Path, result: Outcome) {
        let wanted = path.as_os_str().as_bytes();
        let is_before = |entry: &Entry| entry.path.as_os_str().as_bytes() < wanted;
        let first = self.entries.partition_point(is_before);
        // A path that is given twice has two entries.
        let mut same = self.entries[first..]
            .iter()
            .take_while(|entry| entry.path == path);
        if let Some(entry) = same.find(|entry| entry.result.get().is_none()) {
            let _ = entry.result.set(result);
        }
    }

    /// Total bytes of all files, as far as the system reports them.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Bytes read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// The next file that was not handed out yet.
    pub(crate) fn next(&self) -> u32 {
        // Those of other ranks are not for this one, and unreadable ones have their result already.
        loop {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            match self.entries.get(next as usize) {
                Some(entry) if !entry.is_here || entry.result.get().is_some() => {}
                Some(_) => return next,
                None => return digest_calls::NONE,
            }
        }
    }

    /// Reads the next bytes of `file` until `buffer` is full or the file ends;
    /// `None` if it cannot be read.
    pub(crate) fn read(&self, file: u32, buffer: &mut [u8]) -> Option<u32> {
        let entry = self.entries.get(file as usize)?;
        match entry.read(buffer) {
            Ok(n) => {
                self.bytes_read.fetch_add(n as u64, Ordering::Relaxed);
                u32::try_from(n).ok()
            }
            Err(error) => {
                let _ = entry.result.set(Err(error));
                None
            }
        }
    }

    /// Takes the digest of `file`.
    pub(crate) fn report(&self, file: u32, digest: [u8; 32]) {
        if let Some(entry) = self.entries.get(file as usize) {
            *entry.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let _ = entry.result.set(Ok(digest));
        }
    }

    /// Paths with their digests or errors, in order. An unfinished file has neither.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&Path, Option<&Outcome>)> {
        self.entries
            .iter()
            .map(|entry| (entry.path.as_path(), entry.result.get()))
    }

    /// Files without a digest.
    pub(crate) fn failures(&self) -> usize {
        self.results()
            .filter(|(_, result)| !matches!(result, Some(Ok(_))))
            .count()
    }

    /// Files with a digest.
    pub(crate) fn digested(&self) -> usize {
        self.entries.len() - self.failures()
    }
}

impl Entry {
    /// Without seeking, because pipes and terminals cannot seek.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *open {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        let mut n = 0;
        while n < buffer.len() {
            match file.read(&mut buffer[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(n)
    }
}

/// Adds the file at `path`, or those below it. `named` paths are followed if they are links; others
/// are not, as in `find -type f`.
fn walk(path: &Path, named: bool, found: &mut Vec<Entry>) {
    let mut add = |result: Option<io::Error>| {
        let cell = OnceLock::new();
        if let Some(error) = result {
            let _ = cell.set(Err(error));
        }
        found.push(Entry {
            path: path.to_owned(),
            open: Mutex::new(None),
            result: cell,
            is_here: true,
        });
    };
    let metadata = if named {
        fs::metadata(path)
    } else {
        fs::symlink_metadata(path)
    };
    match metadata {
        Err(error) => add(Some(error)),
        Ok(metadata) if metadata.is_dir() => match fs::read_dir(path) {
            Err(error) => add(Some(error)),
            Ok(children) => {
                for child in children {
                    match child {
                        Ok(child) => walk(&child.path(), false, found),
                        Err(_) => continue,
                    }
                }
            }
        },
        Ok(metadata) if named || metadata.is_file() => add(None),
        Ok(_) => {}
    }
}
