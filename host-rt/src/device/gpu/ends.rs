//! Notices the ends of kernels that call the host.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::survive::survive;
use crate::base::lock::lock;
use crate::device::Running;

/// Sees to it that nobody goes on looking for the calls of a kernel that has ended: a thread
/// that waits for the kernels, in the order in which they were started. Who waits for a kernel
/// notices its end, too.
#[derive(Default)]
pub(in crate::device) struct Ends(Mutex<Option<Noticing>>);

struct Noticing {
    launches: Sender<Arc<dyn Running>>,
    thread: JoinHandle<()>,
}

impl Ends {
    /// Waits for `launch`, too.
    pub(in crate::device) fn watch(&self, device: &str, launch: Arc<dyn Running>) {
        let mut noticing = lock(&self.0);
        if noticing.is_none() {
            let (launches, started) = channel::<Arc<dyn Running>>();
            let thread = std::thread::Builder::new()
                .name(format!("{device} ends"))
                .spawn(move || {
                    for launch in started {
                        survive(move || {
                            let _ = launch.wait(None);
                        });
                    }
                });
            match thread {
                Ok(thread) => *noticing = Some(Noticing { launches, thread }),
                Err(error) => {
                    tracing::warn!(%error, device, "the ends of kernels are noticed late");
                    return;
                }
            }
        }
        if let Some(noticing) = &*noticing {
            // The thread ends with the sender alone: it survives what it waits for.
            let _ = noticing.launches.send(launch);
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let noticing = lock(&self.0).take();
        let Some(Noticing { launches, thread }) = noticing else {
            return;
        };
        drop(launches);
        // The last owner of a device may be the last launch of that thread.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    /// Says when it is waited for, and panics then if it is to.
    struct Launch {
        waited: Sender<&'static str>,
        name: &'static str,
        panics: bool,
    }

    impl Running for Launch {
        fn is_done(&self) -> bool {
            true
        }

        fn wait(&self, _until: Option<Instant>) -> Option<Result<(), String>> {
            self.waited.send(self.name).unwrap();
            assert!(!self.panics, "a planted panic");
            Some(Ok(()))
        }
    }

    #[test]
    fn a_panic_in_one_wait_keeps_no_other_end_from_being_noticed() {
        let (ends, (waited, seen)) = (Ends::default(), channel());
        for (name, panics) in [("first", true), ("second", false)] {
            let waited = waited.clone();
            let launch = Launch {
                waited,
                name,
                panics,
            };
            ends.watch("a device", Arc::new(launch));
            assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(name));
        }
    }
}
