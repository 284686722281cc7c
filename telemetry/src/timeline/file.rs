//! The file.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::record::{Record, process_name};
use super::records::Records;
use crate::at_exit::at_exit;
use crate::error::TelemetryError;
use crate::file_id::FileId;
use crate::fork::{self, is_child};
use crate::lock::lock;
use crate::variable::Variable;

/// The variable with the file; empty for no timeline.
pub(crate) const VARIABLE: Variable = Variable::new("REVOFF_TRACE");

/// Maximum bytes of a file: viewers hardly show longer ones.
const MAX_BYTES: u64 = 2 << 30;

/// How often the records of all threads are written: those of a program that is killed are lost.
const INTERVAL: Duration = Duration::from_secs(1);

/// A file to which all threads write.
pub(crate) struct TimelineFile {
    path: PathBuf,
    process: u32,
    state: Mutex<State>,
    threads: Mutex<Vec<Arc<Records>>>,
    /// The number of the next arrow, or slice without a thread.
    next: AtomicU64,
}

enum State {
    /// The file is created with the first record, or by [`TimelineFile::open`].
    New,
    Open(Out),
    Ended,
}

struct Out {
    file: File,
    path: PathBuf,
    is_regular: bool,
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

impl TimelineFile {
    /// A file of that name.
    pub(crate) fn new(path: PathBuf) -> &'static Self {
        fork::watch();
        Box::leak(Box::new(Self {
            path,
            process: process::id(),
            state: Mutex::new(State::New),
            threads: Mutex::default(),
            next: AtomicU64::new(1),
        }))
    }

    /// Creates the file, unless it has been created, or a record could not be written. A child that was forked has none.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn open(&'static self) -> Result<(), TelemetryError> {
        if is_child() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        if let State::New = *state {
            *state = State::Open(self.create()?);
        }
        Ok(())
    }

    fn create(&'static self) -> Result<Out, TelemetryError> {
        let mut out = Out::create(&self.path)?;
        // An earlier timeline stays until there is a record: a process without any does not replace it.
        let is_empty = out.file.metadata().map_or(true, |file| file.len() == 0);
        if is_empty && let Err(EndError::Io(reason)) = out.begin(self.process) {
            return Err(cannot_create(out.path, reason));
        }
        // Without this thread, records are written when a thread has many, and at the end.
        let writer = thread::Builder::new().name("timeline".to_owned());
        let _ = writer.spawn(|| {
            while self.is_open() {
                thread::sleep(INTERVAL);
                self.write_all();
            }
        });
        at_exit(|| self.end());
        Ok(out)
    }

    /// Its name, without a number after it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(*lock(&self.state), State::Open(_))
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

    /// An identifier of an arrow or of a slice, also among the files of other processes. Perfetto requires a number of
    /// 64 bits.
    pub(crate) fn new_id(&self) -> String {
        // Relaxed: only distinct.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // A file has fewer than 2^32 records.
        format!("{:#x}", u64::from(self.process) << 32 | number)
    }

    pub(crate) fn add_thread(&self, number: u32) -> Arc<Records> {
        let records = Arc::new(Records::new(self.process, number));
        lock(&self.threads).push(Arc::clone(&records));
        records
    }

    /// Writes the records of a thread that ends.
    pub(crate) fn remove_thread(&'static self, records: &Arc<Records>) {
        if is_child() {
            return;
        }
        records.write(|records| self.write(records));
        lock(&self.threads).retain(|other| !Arc::ptr_eq(other, records));
    }

    /// Writes the records of all threads.
    fn write_all(&'static self) {
        let threads = lock(&self.threads).clone();
        for records in &threads {
            records.write(|records| self.write(records));
        }
    }

    /// Writes records. After an error, records are dropped.
    pub(crate) fn write(&'static self, records: &[u8]) {
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.open() {
            *lock(&self.state) = State::Ended;
            return report(&error.to_string());
        }
        let mut state = lock(&self.state);
        let State::Open(out) = &mut *state else {
            return;
        };
        let begun = out.begin(self.process);
        let result = begun.and_then(|()| out.write(records));
        if let Err(error) = result {
            let (name, path) = (VARIABLE.name(), &out.path);
            let message = format!("{name}={path:?}: the timeline ends here ({error})");
            *state = State::Ended;
            drop(state);
            report(&message);
        }
    }

    /// Writes all records, and the end.
    pub(crate) fn end(&'static self) {
        if is_child() {
            return;
        }
        self.write_all();
        // The last record has no comma after it.
        let mut end = Vec::new();
        process_name(&mut end, self.process);
        end.truncate(end.len() - 2);
        end.extend(b"\n]\n");
        let state = std::mem::replace(&mut *lock(&self.state), State::Ended);
        if let State::Open(mut out) = state
            && out.has_begun()
            && let Err(error) = out.write(&end)
        {
            let (name, path) = (VARIABLE.name(), out.path);
            report(&format!("{name}={path:?}: the end is missing ({error})"));
        }
    }
}

fn cannot_create(path: PathBuf, reason: io::Error) -> TelemetryError {
    TelemetryError::Create {
        variable: VARIABLE.name(),
        path,
        reason,
    }
}

/// Prints a message. A log would be a part of the timeline.
fn report(message: &str) {
    // The standard error may be on the same full disk.
    let _ = writeln!(io::stderr(), "{message}");
}

impl Out {
    /// Creates the file, or the first of `FILE.2` and so on that nobody writes: another process, or a library of
    /// this one that contains this code as well.
    fn create(name: &Path) -> Result<Self, TelemetryError> {
        let mut path = name.to_owned();
        for number in 2.. {
            match Self::try_create(&path) {
                Ok(Some((file, is_regular))) => {
                    return Ok(Self {
                        file,
                        path,
                        is_regular,
                        written: 0,
                    });
                }
                Ok(None) => {
                    path = name.to_owned();
                    path.as_mut_os_string().push(format!(".{number}"));
                }
                Err(reason) => return Err(cannot_create(path, reason)),
            }
        }
        unreachable!("no process has that many files")
    }

    /// The file, which may have an earlier timeline, and whether it is a regular one; `None` if another process writes it.
    fn try_create(path: &Path) -> io::Result<Option<(File, bool)>> {
        // A pipe has the program wait for its reader, or end with it.
        let kind = fs::metadata(path).map(|metadata| metadata.file_type());
        if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) {
            return Err(io::Error::other("it is a pipe or a socket, not a file"));
        }
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let opened = file.metadata()?;
        let is_regular = opened.is_file();
        if is_regular {
            if is_standard_stream(&opened) {
                let reason = "a standard stream goes there, which would be overwritten";
                return Err(io::Error::other(reason));
            }
            // Some file systems have no locks.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Ok(None);
            }
        }
        Ok(Some((file, is_regular)))
    }

    fn has_begun(&self) -> bool {
        self.written > 0
    }

    /// Removes an earlier timeline, and writes the beginning, unless it has begun.
    fn begin(&mut self, process: u32) -> Result<(), EndError> {
        if self.has_begun() {
            return Ok(());
        }
        if self.is_regular {
            self.file.set_len(0)?;
        }
        let mut begin = b"[\n".to_vec();
        process_name(&mut begin, process);
        self.write(&begin)
    }

    fn write(&mut self, records: &[u8]) -> Result<(), EndError> {
        if self.written + records.len() as u64 > MAX_BYTES {
            return Err(EndError::TooLong);
        }
        if let Err(error) = self.file.write_all(records) {
            if self.is_regular {
                // Without a part of a record at the end.
                let _ = self.file.set_len(self.written);
            }
            return Err(error.into());
        }
        self.written += records.len() as u64;
        Ok(())
    }
}

/// Whether a standard stream of this process is that file.
fn is_standard_stream(file: &Metadata) -> bool {
    let is_file = |stream: BorrowedFd<'_>| {
        let stream = stream.try_clone_to_owned().map(File::from);
        let stream = stream.and_then(|stream| stream.metadata());
        stream.is_ok_and(|stream| FileId::of(&stream) == FileId::of(file))
    };
    is_file(io::stdin().as_fd()) || is_file(io::stdout().as_fd()) || is_file(io::stderr().as_fd())
}

#[cfg(test)]
mod tests {
    use tracing::info;
    use tracing::subscriber::with_default;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry;

    use super::*;
    use crate::timeline::layer;

    #[test]
    fn an_error_ends_the_file_and_not_the_program() {
        let path = Path::new("/dev/null");
        let file = TimelineFile::new(path.to_owned());
        // Not for writing.
        *lock(&file.state) = State::Open(Out {
            file: File::open(path).expect("it is there"),
            path: path.to_owned(),
            is_regular: false,
            written: 0,
        });
        file.write(b"lost");
        assert!(!file.is_open());
        with_default(registry().with(layer(file)), || info!("lost, too"));
        file.end();
    }
}
