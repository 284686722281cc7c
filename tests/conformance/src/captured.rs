//! Captures the standard output or error of this process.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Captures the standard output, or error, until it is dropped. For tests in separate processes.
pub struct Captured {
    file: File,
    descriptor: i32,
    saved: OwnedFd,
}

impl Captured {
    /// Starts to capture the standard output.
    ///
    /// # Panics
    /// The system cannot create a file.
    #[must_use]
    pub fn begin() -> Self {
        Self::of(libc::STDOUT_FILENO)
    }

    /// Starts to capture the standard error.
    ///
    /// # Panics
    /// The system cannot create a file.
    #[must_use]
    pub fn begin_errors() -> Self {
        Self::of(libc::STDERR_FILENO)
    }

    fn of(descriptor: i32) -> Self {
        // SAFETY: creates descriptors, which only this owns.
        let (file, saved) = unsafe {
            (
                libc::memfd_create(c"captured".as_ptr(), libc::MFD_CLOEXEC),
                libc::dup(descriptor),
            )
        };
        assert!(
            file >= 0 && saved >= 0,
            "no file: {}",
            io::Error::last_os_error()
        );
        // SAFETY: both are open, and nothing else closes them.
        let this = unsafe {
            Self {
                file: File::from_raw_fd(file),
                descriptor,
                saved: OwnedFd::from_raw_fd(saved),
            }
        };
        replace(descriptor, this.file.as_raw_fd());
        this
    }

    /// The output so far.
    ///
    /// # Panics
    /// It cannot be read.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let len = self.file.metadata().map_or(0, |file| file.len());
        let mut bytes = vec![0; len as usize];
        // The writer's position is unchanged.
        if let Err(error) = self.file.read_exact_at(&mut bytes, 0) {
            panic!("what was written cannot be read: {error}");
        }
        bytes
    }

    /// Like [`bytes`](Self::bytes), line by line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.bytes())
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        replace(self.descriptor, self.saved.as_raw_fd());
    }
}

/// Replaces the standard output by a pipe that is never read, until it is dropped. For tests in
/// separate processes.
pub struct Stalled {
    reader: PipeReader,
    stdout: OwnedFd,
}

impl Stalled {
    /// Replaces the standard output.
    ///
    /// # Panics
    /// The system cannot create a pipe.
    #[must_use]
    pub fn begin() -> Self {
        let (reader, writer) = io::pipe().expect("a pipe");
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        let stdout = stdout.expect("a descriptor");
        replace_stdout(writer.as_raw_fd());
        Self { reader, stdout }
    }

    /// Waits until the pipe accepts no more.
    pub fn wait_until_full(&self) {
        let mut output = libc::pollfd {
            fd: libc::STDOUT_FILENO,
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one descriptor, to which the function writes its result; it does not wait.
        while unsafe { libc::poll(&raw mut output, 1, 0) } != 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        replace_stdout(self.stdout.as_raw_fd());
        // Lets a blocked writer finish its text.
        let _ = io::copy(&mut self.reader, &mut io::sink());
    }
}

fn replace_stdout(with: i32) {
    replace(libc::STDOUT_FILENO, with);
}

fn replace(descriptor: i32, with: i32) {
    // SAFETY: both descriptors are open; later writes to the replaced one by number go to the new
    // file.
    let result = unsafe { libc::dup2(with, descriptor) };
    assert!(result >= 0, "no output: {}", io::Error::last_os_error());
}
