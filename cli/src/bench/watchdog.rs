//! Ends the command if there is no progress: a kernel that never ends can neither be stopped nor
//! have its memory freed.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::output;

/// Waits for signs of progress, in a thread of its own, until it is dropped.
pub(crate) struct Watchdog(Sender<Option<String>>);

impl Watchdog {
    /// Starts a watchdog that ends the command after `patience` without progress.
    pub(crate) fn start(patience: Duration) -> anyhow::Result<Self> {
        let (sender, signs) = mpsc::channel::<Option<String>>();
        let watch = move || {
            let mut now = "the start".to_owned();
            loop {
                match signs.recv_timeout(patience) {
                    Ok(next) => now = next.unwrap_or(now),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => output::abandon(&format!(
                        "{now}: no progress for {} s (--patience); a kernel does not end, or the \
                         host does not answer it",
                        patience.as_secs()
                    )),
                }
            }
        };
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)?;
        Ok(Self(sender))
    }

    /// Reports progress: the command now does `what`.
    pub(crate) fn at(&self, what: impl Into<String>) {
        // The receiver lives as long as this sender, or ends the command.
        let _ = self.0.send(Some(what.into()));
    }

    /// Reports progress of the current activity.
    pub(crate) fn alive(&self) {
        // The receiver lives as long as this sender, or ends the command.
        let _ = self.0.send(None);
    }
}
