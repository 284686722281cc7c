//! Waiting for kernels that call the host to complete.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::base::catch_panic::catch_panic;
use crate::base::lock::lock;
use crate::device::Running;

/// A thread that waits for kernels, in the order in which they were started, so that polling for
/// calls stops once no kernel can call. Other waits for a kernel notice its end, too.
#[derive(Default)]
pub(in crate::device) struct CompletionReaper(Mutex<Option<Reaping>>);

struct Reaping {
    launches: Sender<Arc<dyn Running>>,
    thread: JoinHandle<()>,
}

impl CompletionReaper {
    /// Waits for `launch`, too.
    pub(in crate::device) fn watch(&self, device: &str, launch: Arc<dyn Running>) {
        let mut reaping = lock(&self.0);
        if reaping.is_none() {
            let (launches, started) = channel::<Arc<dyn Running>>();
            let thread = std::thread::Builder::new()
                .name(format!("{device} reaper"))
                .spawn(move || {
                    for launch in started {
                        catch_panic(move || {
                            let _ = launch.wait(None);
                        });
                    }
                });
            match thread {
                Ok(thread) => *reaping = Some(Reaping { launches, thread }),
                Err(error) => {
                    // A log subscriber may launch kernels.
                    drop(reaping);
                    tracing::warn!(%error, device, "no thread to wait for kernels: polling stops late");
                    return;
                }
            }
        }
        if let Some(reaping) = &*reaping {
            // Cannot fail: the thread ends only when the sender is dropped.
            let _ = reaping.launches.send(launch);
        }
    }
}

impl Drop for CompletionReaper {
    fn drop(&mut self) {
        let reaping = lock(&self.0).take();
        let Some(Reaping { launches, thread }) = reaping else {
            return;
        };
        drop(launches);
        // The last launch of that thread may be the last owner of a device.
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
    use crate::device::Outcome;

    /// Records that it is waited for, and panics then if requested.
    struct Launch {
        waited: Sender<&'static str>,
        name: &'static str,
        panics: bool,
    }

    impl Running for Launch {
        fn is_done(&self) -> bool {
            true
        }

        fn wait(&self, _until: Option<Instant>) -> Option<Outcome> {
            self.waited.send(self.name).unwrap();
            assert!(!self.panics, "a planted panic");
            Some(Ok(()))
        }
    }

    #[test]
    fn a_panic_in_one_wait_keeps_no_other_end_from_being_noticed() {
        let (reaper, (waited, seen)) = (CompletionReaper::default(), channel());
        for (name, panics) in [("first", true), ("second", false)] {
            let waited = waited.clone();
            let launch = Launch {
                waited,
                name,
                panics,
            };
            reaper.watch("a device", Arc::new(launch));
            assert_eq!(seen.recv_timeout(Duration::from_secs(60)), Ok(name));
        }
    }
}
