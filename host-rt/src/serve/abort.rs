//! Aborting the calls of a launch, so that its kernel can end.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::failures::LaunchState;
use super::{CallError, Server};

/// Interval at which calls are aborted that have begun meanwhile.
const INTERVAL: Duration = Duration::from_millis(1);

/// How long a kernel may run after its last aborted call.
const QUIET: Duration = Duration::from_millis(100);

/// How long a kernel may go on to call.
const LIMIT: Duration = Duration::from_secs(1);

impl Server {
    /// Aborts the calls of a launch: those in flight, whose callers continue with
    /// [`Status::ABORTED`](shared_abi::status::Status::ABORTED) (or on GCC's wires, which have no
    /// status, without results) while their functions run on without effect, and later ones.
    ///
    /// Then waits until the kernel `is_done`, but not long after it has made its last call. Returns
    /// whether it is.
    pub(crate) fn abort(
        self: &Arc<Self>,
        launch: &LaunchState,
        is_done: impl Fn() -> bool,
    ) -> bool {
        let launches = &self.requests.launches;
        launches.abort(launch.key);
        let begin = Instant::now();
        let mut last_call = begin;
        let mut worker = None;
        while !is_done() {
            let is_aborted = |key, _| launches.is_aborted(key);
            let error = |function| CallError::Aborted { function };
            let mut has_called = self.abort_calls(is_aborted, error);
            // The functions that keep all threads may never return. A call of another launch might
            // keep this thread, too.
            if launches.is_aborted(0) {
                has_called |= self.serve_if_all_are_busy(&mut worker);
            }
            let now = Instant::now();
            if has_called {
                last_call = now;
            } else if now > last_call + QUIET {
                break;
            } else {
                sleep(INTERVAL);
            }
            if now > begin + LIMIT {
                break;
            }
        }
        is_done()
    }
}
