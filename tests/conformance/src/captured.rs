//! What this process writes to its standard output, kept from it.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Takes the place of the standard output until it is dropped. For tests that have a process
/// of their own.
pub struct Captured {
    file: File,
    stdout: OwnedFd,
}

impl Captured {
    /// From now on.
    ///
    /// # Panics
    /// The system has no file for it.
    #[must_use]
    pub fn begin() -> Self {
        // SAFETY: makes descriptors, which are ours alone if there are any.
        let (file, stdout) = unsafe {
            (
                libc::memfd_create(c"stdout".as_ptr(), libc::MFD_CLOEXEC),
                libc::dup(libc::STDOUT_FILENO),
            )
        };
        assert!(
            file >= 0 && stdout >= 0,
            "no file: {}",
            io::Error::last_os_error()
        );
        // SAFETY: as above; nobody else closes them.
        let this = unsafe {
            Self {
                file: File::from_raw_fd(file),
                stdout: OwnedFd::from_raw_fd(stdout),
            }
        };
        replace_stdout(this.file.as_raw_fd());
        this
    }

    /// What was written so far.
    ///
    /// # Panics
    /// It cannot be read.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let len = self.file.metadata().map_or(0, |file| file.len());
        let mut bytes = vec![0; len as usize];
        // Whoever writes goes on where it was.
        if let Err(error) = self.file.read_exact_at(&mut bytes, 0) {
            panic!("what was written cannot be read: {error}");
        }
        bytes
    }

    /// As [`bytes`](Self::bytes), line by line.
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
        replace_stdout(self.stdout.as_raw_fd());
    }
}

/// Takes the place of the standard output until it is dropped, and nothing out: a pipe that
/// nobody reads. For tests that have a process of their own.
pub struct Stalled {
    reader: PipeReader,
    stdout: OwnedFd,
}

impl Stalled {
    /// From now on.
    ///
    /// # Panics
    /// The system has no pipe for it.
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
        // SAFETY: one descriptor, which the function writes an answer to; it does not wait.
        while unsafe { libc::poll(&raw mut output, 1, 0) } != 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        replace_stdout(self.stdout.as_raw_fd());
        // Whoever is in the middle of a text gets it out, and is then the last who has it.
        let _ = io::copy(&mut self.reader, &mut io::sink());
    }
}

fn replace_stdout(with: i32) {
    // SAFETY: both descriptors are open; whoever writes to the standard output by number
    // writes there from now on.
    let result = unsafe { libc::dup2(with, libc::STDOUT_FILENO) };
    assert!(result >= 0, "no output: {}", io::Error::last_os_error());
}
