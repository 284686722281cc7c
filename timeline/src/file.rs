//! The file.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::TRACE;
use crate::error::TimelineError;
use crate::record::{Record, process_name};
use crate::records::Records;

/// Maximum bytes of a file: viewers hardly show longer ones.
const MAX_BYTES: u64 = 2 << 30;

/// A file to which all threads write.
pub(crate) struct TimelineFile {
    path: PathBuf,
    process: u32,
    out: Mutex<Out>,
    /// The records of all threads.
    threads: Mutex<Vec<Arc<Mutex<Records>>>>,
}

struct Out {
    /// `None` at the end, and after an error.
    file: Option<File>,
    written: u64,
}

/// Why a file ends early.
#[derive(Debug, thiserror::Error)]
enum EndError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has reached {} GiB", MAX_BYTES >> 30)]
    TooLong,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the file, or one with the first number after its name that nobody writes: another process, or a library of
/// this one that contains this code as well.
fn create_unlocked(path: PathBuf) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let mut place = path.clone();
    for number in 2.. {
        let file = options.open(&place)?;
        match file.try_lock() {
            Ok(()) => {
                // A device or a pipe has no length.
                if file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                return Ok((file, place));
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {
                let mut name = path.clone().into_os_string();
                name.push(format!(".{number}"));
                place = PathBuf::from(name);
            }
        }
    }
    unreachable!("no process has that many files")
}

impl TimelineFile {
    /// Creates a file of that name, in which `%p` stands for the process. It is complete when the process exits. If
    /// another process writes the file, this one has a number after its name.
    pub(crate) fn create(name: &OsStr) -> Result<&'static Self, TimelineError> {
        let process = process::id();
        let path = match name.to_str() {
            Some(name) => PathBuf::from(name.replace("%p", &process.to_string())),
            None => PathBuf::from(name),
        };
        let file = Self::create_at(path.clone(), process)
            .map_err(|reason| TimelineError::Create { path, reason })?;
        let file: &'static Self = Box::leak(Box::new(file));
        extern "C" fn end() {
            // In a child that was forked while it was locked, nobody unlocks it.
            if let Ok(file) = crate::FILE.try_lock()
                && let Some(file) = *file
            {
                file.end();
            }
        }
        // SAFETY: `end` needs nothing that ends before the process: `file` lives as long. In a library that is
        // closed, it runs then.
        unsafe { libc::atexit(end) };
        Ok(file)
    }

    fn create_at(path: PathBuf, process: u32) -> io::Result<Self> {
        let (mut file, path) = create_unlocked(path)?;
        let mut begin = b"[\n".to_vec();
        process_name(&mut begin, process);
        file.write_all(&begin)?;
        Ok(Self {
            path,
            process,
            out: Mutex::new(Out {
                file: Some(file),
                written: begin.len() as u64,
            }),
            threads: Mutex::default(),
        })
    }

    /// A record's beginning, with this process.
    pub(crate) fn record<'b>(
        &self,
        buffer: &'b mut Vec<u8>,
        kind: &str,
        thread: u32,
    ) -> Record<'b> {
        Record::new(buffer, kind, self.process, thread)
    }

    pub(crate) fn add_thread(&self, records: &Arc<Mutex<Records>>) {
        lock(&self.threads).push(Arc::clone(records));
    }

    /// Writes the records of a thread that ends.
    pub(crate) fn remove_thread(&self, records: &Arc<Mutex<Records>>) {
        lock(&self.threads).retain(|other| !Arc::ptr_eq(other, records));
        self.write(&mut lock(records).bytes);
    }

    /// Writes and clears `records`. After an error, records are dropped.
    pub(crate) fn write(&self, records: &mut Vec<u8>) {
        // A child that was forked has copies of records that the parent writes.
        if self.process == process::id() {
            let mut out = lock(&self.out);
            if let Err(error) = out.write(records) {
                out.file = None;
                drop(out);
                self.report(&error);
            }
        }
        records.clear();
    }

    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.out).file.is_some()
    }

    /// Writes all records, and the end.
    pub(crate) fn end(&self) {
        if self.process != process::id() {
            return;
        }
        for records in &*lock(&self.threads) {
            self.write(&mut lock(records).bytes);
        }
        // The last record has no comma after it.
        let mut end = Vec::new();
        process_name(&mut end, self.process);
        end.truncate(end.len() - 2);
        end.extend(b"\n]\n");
        self.write(&mut end);
        lock(&self.out).file = None;
    }

    #[expect(clippy::print_stderr, reason = "a log would be a part of the timeline")]
    fn report(&self, error: &EndError) {
        eprintln!("{TRACE}={:?}: the timeline ends here ({error})", self.path);
    }
}

impl Out {
    fn write(&mut self, records: &[u8]) -> Result<(), EndError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        self.written += records.len() as u64;
        if self.written > MAX_BYTES {
            return Err(EndError::TooLong);
        }
        Ok(file.write_all(records)?)
    }
}
