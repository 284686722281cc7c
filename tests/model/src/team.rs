//! The host's threads in a model.

use std::fmt::Debug;

use loom::sync::Mutex;
use revoff_host::model::Poll;

/// Unsuccessful polls of a wait after which its run is not branched any more. Another poll gives no
/// new result: in some other run, the last poll came later. Without this limit, two threads that
/// poll for each other would be explored forever.
const MAX_POLLS: u32 = 1;

/// Lets other threads run. Each loop that waits for them calls it, with the number of unsuccessful
/// polls so far.
pub fn pause(attempt: u32) {
    if attempt >= MAX_POLLS {
        // The run continues to its end, without further branches.
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// Serving threads that take turns at polling, like those of `revoff_host::serve`: the holder of the
/// token polls until it has taken a request, and serves the request without the token.
pub struct Team<W> {
    token: Mutex<PollToken<W>>,
}

struct PollToken<W> {
    poller: W,
    /// The number of requests not taken yet.
    missing: u32,
}

impl<W> Team<W> {
    /// A team that ends after taking `requests` requests.
    pub fn new(poller: W, requests: u32) -> Self {
        Self {
            token: Mutex::new(PollToken {
                poller,
                missing: requests,
            }),
        }
    }

    /// The main loop of a thread. `poll` polls once. `wait` waits after an unsuccessful poll, and
    /// may poll itself; its `u32` counts its earlier calls for the same request.
    ///
    /// # Panics
    /// If a poll finds anything but a request, or another thread has panicked.
    pub fn work<R: Debug>(
        &self,
        poll: impl Fn(&mut W) -> Poll<R>,
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
            let mut found = poll(&mut token.poller);
            let mut attempt = 0;
            while found.is_empty() {
                found = wait(&mut token.poller, attempt);
                attempt += 1;
                if found.is_empty() {
                    found = poll(&mut token.poller);
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

    /// Runs [`work`](Self::work) with [`pause`] for waiting.
    pub fn spin<R: Debug>(&self, poll: impl Fn(&mut W) -> Poll<R>, serve: impl Fn(&R)) {
        let wait = |_: &mut W, attempt| {
            pause(attempt);
            Poll::Empty
        };
        self.work(poll, wait, serve);
    }
}
