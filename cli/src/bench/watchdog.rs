//! Ends the command if nothing gets on: a kernel that never ends cannot be ended, nor
//! can anything be freed that it uses.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::output;

/// Waits for signs of life, in a thread of its own, until it is dropped.
pub(crate) struct Watchdog(Sender<Option<String>>);

impl Watchdog {
    /// One that waits for as long as `patience`.
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

    /// From now on, `what` is done.
    pub(crate) fn at(&self, what: impl Into<String>) {
        // The other end lives as long as this one, or ends the command.
        let _ = self.0.send(Some(what.into()));
    }

    /// It is still done.
    pub(crate) fn alive(&self) {
        // As above.
        let _ = self.0.send(None);
    }
}
