//! The standard streams.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Mutex;

use super::Services;
use super::errno::{errno, retry};
use crate::base::lock::lock;
use crate::base::output;

/// The standard input: that of the process, unless another reader is given.
pub(super) type Input = Box<dyn Read + Send>;
/// The standard output or error: that of the process, unless another writer is given.
pub(super) type Output = Box<dyn Write + Send>;

/// The standard streams of a program. Each is used by one call at a time.
pub(super) struct Streams {
    stdin: Stream<Input>,
    stdout: Stream<Output>,
    stderr: Stream<Output>,
}

struct Stream<T> {
    stream: Mutex<T>,
    /// Whether it is that of the process.
    is_of_process: bool,
}

impl<T> Stream<T> {
    fn new(given: Option<T>, of_process: impl FnOnce() -> T) -> Self {
        Self {
            is_of_process: given.is_none(),
            stream: Mutex::new(given.unwrap_or_else(of_process)),
        }
    }
}

impl Streams {
    pub(super) fn new(
        stdin: Option<Input>,
        stdout: Option<Output>,
        stderr: Option<Output>,
    ) -> Self {
        Self {
            stdin: Stream::new(stdin, || Box::new(ProcessInput)),
            stdout: Stream::new(stdout, || Box::new(ProcessOutput)),
            stderr: Stream::new(stderr, || Box::new(ProcessError)),
        }
    }
}

/// The process's standard input, without Rust's handle: it has a lock as well, and a buffer whose bytes
/// children of the program would miss.
struct ProcessInput;

impl Read for ProcessInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin(), bytes)?)
    }
}

/// The process's standard output, without Rust's handle, whose lock the host program may hold while
/// it waits for a kernel.
struct ProcessOutput;

impl Write for ProcessOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        output::write_stdout(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The process's standard error, likewise.
struct ProcessError;

impl Write for ProcessError {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        output::write_stderr(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Streams {
    /// Writes and flushes all bytes, so that concurrent writes do not mix.
    pub(super) fn write(&self, stream: u32, bytes: &[u8]) -> io::Result<()> {
        let stream = match stream {
            1 => &self.stdout,
            2 => &self.stderr,
            _ => return Err(errno(libc::EBADF)),
        };
        let mut stream = lock(&stream.stream);
        stream.write_all(bytes)?;
        retry(|| stream.flush())
    }

    /// Whether a standard stream is that of the process.
    pub(super) fn is_of_process(&self, stream: u32) -> bool {
        match stream {
            0 => self.stdin.is_of_process,
            1 => self.stdout.is_of_process,
            2 => self.stderr.is_of_process,
            _ => false,
        }
    }
}

impl Services {
    pub(super) fn write(&self, stream: u32, bytes: &[u8]) -> io::Result<u64> {
        self.streams.write(stream, bytes)?;
        Ok(bytes.len() as u64)
    }

    pub(super) fn read(&self, bytes: &mut [u8]) -> io::Result<u64> {
        let mut stdin = lock(&self.streams.stdin.stream);
        let count = retry(|| stdin.read(bytes))?;
        // A reader that is not the process's may return any count.
        Ok(count.min(bytes.len()) as u64)
    }

    pub(super) fn is_terminal(&self, stream: u32) -> io::Result<u64> {
        let is_terminal = match stream {
            0 => self.streams.is_of_process(0) && io::stdin().is_terminal(),
            1 => self.streams.is_of_process(1) && io::stdout().is_terminal(),
            2 => self.streams.is_of_process(2) && io::stderr().is_terminal(),
            _ => return Err(errno(libc::EBADF)),
        };
        Ok(is_terminal.into())
    }
}
