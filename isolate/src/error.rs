//! The errors of isolation.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::signals;

/// The reason why a process cannot be isolated, or the end of one that was.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder to which access is granted cannot be found.
    #[error("cannot grant access to `{}`: {reason}; name a file or folder that exists", path.display())]
    Granted {
        /// As it was given.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },

    /// The process has threads, which would keep their rights.
    #[error(
        "this process has {count} threads, of which a sandbox would restrict only one; enter it at \
         the start of `main`"
    )]
    Threads {
        /// How many.
        count: usize,
    },

    /// An open folder, by which files could be reached that are not granted.
    #[error(
        "descriptor {descriptor} is the folder {}, which would stay open in the sandbox: close it, or redirect \
         it to a file",
        path.display()
    )]
    OpenFolder {
        /// Its number; 0 to 2 are the standard streams.
        descriptor: String,
        /// Where it is.
        path: PathBuf,
    },

    /// The kernel lacks a mechanism without which the sandbox would be no boundary.
    #[error(
        "this system cannot isolate a process: {missing}; allow the mechanism, use a newer kernel, or \
         run without isolation"
    )]
    Unsupported {
        /// The missing mechanisms, with the system's answers.
        missing: String,
    },

    /// A step of the sandbox failed although the kernel has its mechanism.
    #[error("cannot enter the sandbox: {step}: {reason}")]
    Enter {
        /// The step.
        step: String,
        /// The system's error.
        reason: io::Error,
    },

    /// The isolated process cannot read its request.
    #[error(
        "the request of an isolated process is damaged; only a program that runs a job starts such a process"
    )]
    DamagedRequest,

    /// The isolated process does not know its job.
    #[error(
        "the isolated process does not know its job `{job}`: add it to those of `revoff_isolate::init`"
    )]
    UnknownJob {
        /// The job's name.
        job: String,
    },

    /// The isolated process could not enter its sandbox.
    #[error("{message}")]
    Refused {
        /// Its error.
        message: String,
    },

    /// `main` did not call [`init`](crate::init).
    #[error("no job can run: call `revoff_isolate::init` with the jobs at the start of `main`")]
    NotInitialized,

    /// The isolated process could not be started, or waited for.
    #[error("no process runs the isolated job `{job}`: {reason}")]
    System {
        /// The job's name.
        job: &'static str,
        /// The system's error.
        reason: io::Error,
    },

    /// A signal ended the isolated process.
    #[error(
        "{process} was killed by {}; nothing else is affected",
        signals::describe(*signal)
    )]
    Killed {
        /// The process: its images and its job.
        process: String,
        /// The signal's number.
        signal: i32,
    },

    /// The isolated process exited before its job had a result.
    #[error("{process} exited with status {status} before its job ended; nothing else is affected")]
    Exited {
        /// The process: its images and its job.
        process: String,
        /// The status.
        status: i32,
    },

    /// The job returned an error, or panicked.
    #[error("{process} failed: {message}")]
    Job {
        /// The process: its images and its job.
        process: String,
        /// The error's text.
        message: String,
    },

    /// The isolated process has not ended in time.
    #[error(
        "{process} was stopped: it has not ended within {limit:?} (raise `Sandbox::time_limit`)"
    )]
    TimeLimit {
        /// The process: its images and its job.
        process: String,
        /// The limit.
        limit: Duration,
    },

    /// The isolated process sent more than it may.
    #[error(
        "{process} was stopped: its result has more than {limit} bytes (raise \
         `Sandbox::max_result`)"
    )]
    ResultTooLarge {
        /// The process: its images and its job.
        process: String,
        /// The limit.
        limit: usize,
    },
}

/// A step into a sandbox that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {reason}")]
pub(crate) struct StepError {
    step: String,
    reason: io::Error,
}

/// Adds the step to its error.
pub(crate) fn in_step<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> StepError {
    |reason| StepError {
        step: step.into(),
        reason: reason.into(),
    }
}

impl From<StepError> for Error {
    fn from(StepError { step, reason }: StepError) -> Self {
        Self::Enter { step, reason }
    }
}

/// `fn main() -> Result` and `unwrap` print `Debug`, and their readers need the remedy too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
