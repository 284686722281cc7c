//! The file.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

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

/// The beginning of each file: a record of [`process_name`].
const BEGINNING: &[u8] = br#"[
{"ph":"M","pid":"#;

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
    /// The file is replaced with the first record. Until then another process may write it.
    Waiting,
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
    #[error("it is limited to {0} bytes")]
    TooLong(u64),
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

    /// Creates the file, unless it has been created, or a record could not be written. A file with content, such as an
    /// earlier timeline, stays until there is a record. A child that was forked has none.
    ///
    /// # Errors
    /// It cannot be created, or replaced later: a file that is no timeline stays.
    pub(crate) fn open(&'static self) -> Result<(), TelemetryError> {
        if is_child() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        if !matches!(*state, State::New) {
            return Ok(());
        }
        let file = open_for_writing(&self.path);
        let out = file.and_then(|file| match file.metadata()?.len() {
            0 => Out::start(file, &self.path, self.process),
            _ => check_is_timeline(&file).map(|()| None),
        });
        let out = out.map_err(|reason| cannot_create(self.path.clone(), reason))?;
        *state = out.map_or(State::Waiting, State::Open);
        // `at_exit` waits for a process that exits, which waits for the state.
        drop(state);
        self.write_regularly();
        Ok(())
    }

    /// Replaces the file, unless [`TimelineFile::open`] created it.
    fn replace(&self) -> Result<(), TelemetryError> {
        let mut state = lock(&self.state);
        if let State::Waiting = *state {
            *state = State::Open(Out::create(&self.path, self.process)?);
        }
        Ok(())
    }

    /// Starts the thread that writes records, and writes the end when the process exits.
    fn write_regularly(&'static self) {
        // Without this thread, records are written when a thread has many, and at the end.
        let writer = thread::Builder::new().name("timeline".to_owned());
        let _ = writer.spawn(|| {
            while !self.has_ended() {
                thread::sleep(INTERVAL);
                self.write_all();
            }
        });
        at_exit(|| self.end());
    }

    /// Its name, without a number after it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn has_ended(&self) -> bool {
        matches!(*lock(&self.state), State::Ended)
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
        if let Err(error) = self.open().and_then(|()| self.replace()) {
            *lock(&self.state) = State::Ended;
            return report(&error.to_string());
        }
        let mut state = lock(&self.state);
        let State::Open(out) = &mut *state else {
            return;
        };
        if let Err(error) = out.write(records) {
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
    fn create(name: &Path, process: u32) -> Result<Self, TelemetryError> {
        let mut path = name.to_owned();
        for number in 2.. {
            let file = open_for_writing(&path);
            match file.and_then(|file| Self::start(file, &path, process)) {
                Ok(Some(out)) => return Ok(out),
                Ok(None) => {
                    path = name.to_owned();
                    path.as_mut_os_string().push(format!(".{number}"));
                }
                Err(reason) => return Err(cannot_create(path, reason)),
            }
        }
        unreachable!("no process has that many files")
    }

    /// Removes an earlier timeline, and writes the beginning; `None` if another process writes the file.
    fn start(file: File, path: &Path, process: u32) -> io::Result<Option<Self>> {
        let is_regular = file.metadata()?.is_file();
        if is_regular {
            // Some file systems have no locks.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Ok(None);
            }
            check_is_timeline(&file)?;
            file.set_len(0)?;
        }
        let mut out = Self {
            file,
            path: path.to_owned(),
            is_regular,
            written: 0,
        };
        let mut beginning = b"[\n".to_vec();
        process_name(&mut beginning, process);
        match out.write(&beginning) {
            Err(EndError::Io(reason)) => Err(reason),
            _ => Ok(Some(out)), // It is short.
        }
    }

    fn write(&mut self, records: &[u8]) -> Result<(), EndError> {
        // The system ends a process that exceeds its own limit.
        let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let limit = limit.min(MAX_BYTES);
        if self.written + records.len() as u64 > limit {
            return Err(EndError::TooLong(limit));
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

/// Opens or creates a file, and leaves its content.
fn open_for_writing(path: &Path) -> io::Result<File> {
    // A pipe has the program wait for its reader, or end with it.
    let kind = fs::metadata(path).map(|metadata| metadata.file_type());
    if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) {
        return Err(io::Error::other("it is a pipe or a socket, not a file"));
    }
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let opened = file.metadata()?;
    if opened.is_file() && is_standard_stream(&opened) {
        let reason = "a standard stream goes there, which would be overwritten";
        return Err(io::Error::other(reason));
    }
    Ok(file)
}

/// Checks that a file with content begins as a timeline does: others stay as they are.
fn check_is_timeline(mut file: &File) -> io::Result<()> {
    let mut beginning = Vec::new();
    file.rewind()?;
    file.take(BEGINNING.len() as u64)
        .read_to_end(&mut beginning)?;
    file.rewind()?;
    // Another process may be writing it.
    if BEGINNING.starts_with(&beginning) {
        return Ok(());
    }
    Err(io::Error::other(
        "it is no timeline, and would be overwritten",
    ))
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
        assert!(file.has_ended());
        with_default(registry().with(layer(file)), || info!("lost, too"));
        file.end();
    }
}
