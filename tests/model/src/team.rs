//! The host's threads in a model.

use std::fmt::Debug;

use host_rt::wire::Poll;
use loom::sync::Mutex;

/// Looks in vain after which a wait is explored in one way only. A further look
/// finds what the last one would have found, had it come later; but two waits that only wait for each other's
/// looks would be explored for ever.
const LOOKS: u32 = 1;

/// Lets others go on; for every loop that waits for them.
pub fn pause(attempt: u32) {
    if attempt >= LOOKS {
        // The run goes on to its end, but in one way only.
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// Serving threads that take turns at polling, as `host_rt::serve` has them: who
/// holds the token polls until it has taken a request, and serves it without the
/// token.
pub struct Team<W> {
    token: Mutex<PollToken<W>>,
}

struct PollToken<W> {
    poller: W,
    /// Requests that are still to come.
    missing: u32,
}

impl<W> Team<W> {
    /// A team that is done when `requests` are taken.
    pub fn new(poller: W, requests: u32) -> Self {
        Self {
            token: Mutex::new(PollToken {
                poller,
                missing: requests,
            }),
        }
    }

    /// The life of one of its threads. `look` looks once; `wait` waits, where it
    /// found nothing for the `u32`th time, and may look itself.
    pub fn work<R: Debug>(
        &self,
        look: impl Fn(&mut W) -> Poll<R>,
        wait: impl Fn(&mut W, u32) -> Poll<R>,
        serve: impl Fn(&R),
    ) {
        loop {
            let Ok(mut token) = self.token.lock() else {
                panic!("another serving thread has failed");
            };
            if token.missing == 0 {
                return;
            }
            let mut found = look(&mut token.poller);
            let mut attempt = 0;
            while found.is_empty() {
                found = wait(&mut token.poller, attempt);
                attempt += 1;
                if found.is_empty() {
                    found = look(&mut token.poller);
                }
            }
            let request = match found {
                Poll::Request(request) => request,
                other => panic!("{other:?}"),
            };
            token.missing -= 1;
            drop(token);
            serve(&request);
        }
    }

    /// [`work`](Self::work), waiting by [`pause`].
    pub fn spin<R: Debug>(&self, look: impl Fn(&mut W) -> Poll<R>, serve: impl Fn(&R)) {
        let wait = |_: &mut W, attempt| {
            pause(attempt);
            Poll::Empty
        };
        self.work(look, wait, serve);
    }
}
