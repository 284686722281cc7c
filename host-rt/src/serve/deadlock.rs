//! Deadlocks of nested launches: the calls whose functions wait for kernels keep all slots or bounce
//! blocks, and calls of those kernels need one.
//!
//! The host does not see device threads that wait for a slot. So a deadlock is assumed if such waits
//! keep all of a resource, and no call is taken and no launch begins or ends for a while. Then the
//! oldest launch that these calls belong to is aborted. A nested launch is younger than the one that it
//! is nested in. So the outermost launch fails, and all that its functions wait for goes on. Without a
//! call that still waits, it is not aborted: its functions have returned in the meantime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::in_flight::WaitingCall;
use super::{CallError, Server, lock};

/// Interval at which a host function that waits for a kernel looks for a deadlock.
const INTERVAL: Duration = Duration::from_millis(50);

/// The state that any progress changes: the number of requests taken, the last launch and the
/// number of launches.
type Progress = (u64, u32, usize);

/// The progress at the first of the latest checks that found all of a resource kept by waits, without
/// progress since.
pub(super) type Stall = Option<(Progress, Instant)>;

/// A host function's wait for a kernel.
pub(super) struct NestedWait<'s> {
    server: &'s Arc<Server>,
    /// `None` if the kernel cannot call the host: it needs nothing that calls keep.
    call: Option<WaitingCall>,
    next_check: Instant,
}

impl<'s> NestedWait<'s> {
    /// Begins the wait for a kernel, which can call the host if `can_call`.
    pub(super) fn begin(server: &'s Arc<Server>, can_call: bool) -> Self {
        Self {
            server,
            call: can_call.then(|| server.begin_waiting()).flatten(),
            next_check: Instant::now() + INTERVAL,
        }
    }

    /// Looks for a deadlock from time to time.
    pub(super) fn check(&mut self) {
        let now = Instant::now();
        if self.call.is_some() && now >= self.next_check {
            self.next_check = now + INTERVAL;
            self.server.check_deadlock(now);
        }
    }
}

impl Server {
    /// Aborts a launch if there is a deadlock.
    fn check_deadlock(&self, now: Instant) {
        let calls = self.calls();
        let waiting = calls.iter().filter(|call| call.is_waiting());
        let kept: Vec<_> = waiting.map(|call| call.kept()).collect();
        let exhausted = self.exhausted(&kept).into_iter().next();
        let mut stall = lock(&self.requests.stall);
        let Some(limit) = exhausted else {
            *stall = None;
            return;
        };
        let launches = &self.requests.launches;
        let (last_key, running) = launches.progress();
        let progress = (self.requests(), last_key, running);
        let Some(oldest) = launches.oldest(&limit.launches) else {
            return;
        };
        let timeout = self.config.deadlock_timeout;
        // The next calls of a launch that has failed by a deadlock, if it is unknown which are.
        let patience = match oldest {
            0 if launches.oldest_is_deadlocked() => INTERVAL.min(timeout),
            _ => timeout,
        };
        match *stall {
            Some((before, since)) if before == progress => {
                if now.saturating_duration_since(since) < patience {
                    return;
                }
            }
            _ => {
                *stall = Some((progress, now));
                return;
            }
        }
        *stall = None;
        drop(stall);
        self.abort_waiting(oldest, &limit.resource);
    }

    /// Aborts the calls of a launch whose functions wait for kernels, and the launch, if there are such
    /// calls. If the launch is unknown (0), as on GPUs, aborts all such calls.
    fn abort_waiting(&self, key: u32, resource: &str) {
        self.abort_calls(
            |launch, is_waiting| launch == key && is_waiting,
            |function| {
                // Before the call completes, after which its kernel may call again.
                self.requests.launches.abort(key);
                CallError::Deadlock {
                    function,
                    resource: resource.into(),
                    after: self.config.deadlock_timeout,
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::testing;

    #[test]
    fn a_launch_whose_functions_have_returned_is_not_aborted() {
        let server = testing::server(testing::host());
        let launches = &server.requests.launches;
        let launch = launches.begin("kernel", true);
        server.abort_waiting(launch.key, "the only slot");
        assert!(!launches.is_aborted(launch.key));
    }
}
