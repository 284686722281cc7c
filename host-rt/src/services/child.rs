//! Child processes.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;

use super::errno::errno;
use super::forward::Forward;
use crate::base::lock::lock;

/// A child process.
pub(super) struct ChildProcess {
    child: Mutex<Option<Child>>,
    /// Its outputs that go to streams of the program other than the process's.
    outputs: Vec<Arc<Forward>>,
}

impl ChildProcess {
    pub(super) fn new(child: Child, outputs: Vec<Arc<Forward>>) -> Self {
        Self {
            child: Mutex::new(Some(child)),
            outputs,
        }
    }

    pub(super) fn with<T>(&self, run: impl FnOnce(&mut Child) -> io::Result<T>) -> io::Result<T> {
        let mut child = lock(&self.child);
        // Taken only by `drop`.
        run(child.as_mut().ok_or_else(|| errno(libc::ECHILD))?)
    }

    /// The status of the child, once all that it has written is written.
    pub(super) fn ended(&self, status: ExitStatus) -> u64 {
        for output in &self.outputs {
            output.copy_available();
        }
        // A status has 16 bits.
        u64::from(status.into_raw().cast_unsigned())
    }
}

/// Without a wait, an ended child would keep its entry in the system's table of processes as long as
/// this process lives.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if let Some(mut child) = lock(&self.child).take()
            && matches!(child.try_wait(), Ok(None))
        {
            let name = "wait for child".to_owned();
            // Without a thread, the entry stays.
            let _ = thread::Builder::new()
                .name(name)
                .spawn(move || child.wait());
        }
    }
}
