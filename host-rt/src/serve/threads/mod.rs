//! The serving threads: which one polls, which ones wait, and which one is woken.
//!
//! Leader and followers. One thread holds the *poll token* and polls. When it has taken a request,
//! it releases the token, serves the request itself, and comes back for the token: on the fast path
//! no request changes threads. A thread that finds the token taken waits. The first that waits is
//! the *standby*: every tick it checks whether the thread that polled is stuck in a function.
//!
//! | from | event | to | function | also |
//! |---|---|---|---|---|
//! | - | a thread is needed, and none waits | Called | [`States::create`] | up to the limit |
//! | Called | it runs | Active | [`States::answer`] | |
//! | Active | the token is taken | Follower | [`States::wait`] | |
//! | Active | the token is taken, and there is no standby | Standby | [`States::wait`] | it sleeps until alerted |
//! | Follower | a thread is needed to poll | Called | [`States::call`] | it is woken |
//! | Standby | the same, and there is no follower | Called | [`States::call`] | it is woken, and nobody ticks |
//! | Standby | a request is entered, and nobody ticks | Standby | [`States::alert`] | it is woken, and ticks |
//! | Standby | a tick without a request, the token is taken | Standby | - | it sleeps until alerted |
//! | Standby | a tick without a request, the token is free | Active | [`States::take_over`] | a follower becomes the standby |
//! | any | the server stops | ends | [`States::stop`] | all are woken |
//!
//! Rules:
//!
//! 1. A thread enters a function only while the standby ticks or another thread is on its way to
//!    poll. So a function that never returns delays others by two ticks at most, until all threads
//!    there may be are in functions.
//! 2. The standby stops to tick only if no request was taken since its last tick. The next thread
//!    that takes one sees that nobody ticks.
//! 3. A thread that comes to wait tries the token once more under the lock; and a thread that held
//!    the token without polling ([`Threads::with_token`]) calls one that waits, under the lock, after
//!    its release. One of the two finds the other.
//! 4. To poll, a thread is called only before a slow function, and on *evidence* that more than one
//!    caller needs the host: a request was taken while another thread was in a slow function, or two
//!    in a row were there when a thread came back from a function. Evidence lasts for 64 requests.
//!    A serial caller gives none: its next request comes after the end of the last. The standby needs
//!    to gather none: once it polls instead of a stuck thread, what it takes is evidence.
//! 5. At most one thread is on its way at a time: it polls, and calls the next.
//! 6. A function that waits for a kernel calls a thread without evidence, and serves requests itself
//!    while all threads are active.

mod evidence;
mod progress;
mod states;

use std::io;
use std::time::Duration;

use self::evidence::Evidence;
use self::progress::Progress;
use self::states::{Next, State, States};
use super::sync::{Condvar, Mutex, Token, TokenGuard, lock, try_lock, wait, wait_timeout};

/// How often the standby checks while requests come in.
const TICK: Duration = Duration::from_millis(1);

/// What a thread that polls has found.
pub(super) enum Polled<R> {
    /// A request.
    Request(R),
    /// Nothing; it has to poll again.
    Nothing,
    /// The server stops.
    Stop,
}

/// The threads. `T` is what the poll token gives access to, `H` a thread's handle.
pub(super) struct Threads<T, H> {
    token: Token<T>,
    shared: Mutex<Shared<H>>,
    /// Wakes the thread of that number.
    wake: Box<[Condvar]>,
    progress: Progress,
    evidence: Evidence,
}

struct Shared<H> {
    states: States,
    handles: Vec<H>,
}

impl<T, H> Threads<T, H> {
    /// No thread yet, and at most `limit`.
    pub(super) fn new(limit: usize, token: T) -> Self {
        Self {
            token: Token::new(token),
            shared: Mutex::new(Shared {
                states: States::new(limit),
                handles: Vec::new(),
            }),
            wake: (0..limit).map(|_| Condvar::new()).collect(),
            progress: Progress::new(),
            evidence: Evidence::new(),
        }
    }

    /// Threads that exist.
    pub(super) fn count(&self) -> usize {
        lock(&self.shared).states.count()
    }

    /// Requests taken so far.
    pub(super) fn requests(&self) -> u64 {
        self.progress.requests()
    }

    /// Creates the first thread if there is none. `create` gets its number, with the lock held.
    pub(super) fn start(&self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        if shared.states.count() > 0 || shared.states.is_stopping() {
            return Ok(());
        }
        shared.create(create)
    }

    /// The life of thread `me`. `poll` polls with the token until there is a request, and is told
    /// whether the thread comes from another; `serve` serves it without the token.
    pub(super) fn run<R>(
        &self,
        me: usize,
        mut poll: impl FnMut(&mut T, bool) -> Polled<R>,
        mut serve: impl FnMut(R),
    ) {
        lock(&self.shared).states.answer(me);
        let mut has_served = false;
        loop {
            let Some(mut token) = self.try_token() else {
                has_served = false;
                if self.wait_for_work(me) {
                    continue;
                }
                return;
            };
            match poll(&mut token, has_served) {
                Polled::Request(request) => {
                    drop(token);
                    serve(request);
                    has_served = true;
                }
                Polled::Nothing => has_served = false,
                Polled::Stop => return,
            }
        }
    }

    /// Counts a request that was taken with the token; `waited` if it was there when this thread
    /// came back from a function.
    pub(super) fn request_taken(&self, waited: bool) {
        self.progress.count();
        self.evidence.request(waited);
    }

    /// Makes sure that another thread polls, or will if this one is stuck, before this thread enters
    /// a function. It is in the function until the value is dropped. `create` is as for
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// A thread could not be created. This one polls again once the function has returned.
    pub(super) fn enter_function(
        &self,
        is_slow: bool,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> (InFunction<'_>, io::Result<()>) {
        let slow = is_slow.then_some(&self.evidence);
        slow.inspect(|evidence| evidence.enter());
        let has_company = is_slow && self.evidence.exists();
        let ready = if has_company {
            self.wake_follower(create)
        } else if !self.progress.is_ticking() {
            self.wake_standby(create)
        } else {
            Ok(())
        };
        (InFunction { slow }, ready)
    }

    /// Calls a thread to poll.
    ///
    /// # Errors
    /// It could not be created.
    pub(super) fn wake_follower(
        &self,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> io::Result<()> {
        if self.wake.len() == 1 {
            return Ok(());
        }
        let mut shared = lock(&self.shared);
        let next = shared.states.call();
        self.perform(&mut shared, next, create)
    }

    /// Has the standby tick.
    fn wake_standby(&self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        if self.wake.len() == 1 {
            return Ok(());
        }
        let mut shared = lock(&self.shared);
        let next = shared.states.alert();
        if let Next::Wake(_) = next {
            self.progress.start_ticking();
        }
        self.perform(&mut shared, next, create)
    }

    fn perform(
        &self,
        shared: &mut Shared<H>,
        next: Next,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> io::Result<()> {
        match next {
            Next::Wake(thread) => {
                if shared.states.of(thread) == State::Called && !shared.states.has_standby() {
                    self.progress.stop_ticking();
                }
                self.wake[thread].notify_one();
                Ok(())
            }
            Next::Create => shared.create(create),
            Next::Nobody => Ok(()),
        }
    }

    /// The token, if nobody has it.
    fn try_token(&self) -> Option<TokenGuard<'_, T>> {
        try_lock(&self.token)
    }

    /// Runs `act` with the token, on a thread that does not poll, unless another thread has it.
    pub(super) fn with_token(&self, act: impl FnOnce(&mut T)) -> bool {
        let Some(mut token) = self.try_token() else {
            return false;
        };
        act(&mut token);
        drop(token);
        // Rule 3.
        let mut shared = lock(&self.shared);
        if shared.states.has_waiting() {
            let next = shared.states.call();
            let none = |_| unreachable!("one waits");
            let _: io::Result<()> = self.perform(&mut shared, next, none);
        }
        true
    }

    /// As [`with_token`](Self::with_token), but only while all threads that there may be are active:
    /// for one of them that waits for what another request may bring.
    pub(super) fn with_token_if_all_are_busy(&self, act: impl FnOnce(&mut T)) -> bool {
        let all_are_busy = lock(&self.shared).states.all_are_active();
        all_are_busy && self.with_token(act)
    }

    /// Waits until this thread is to poll; `false` when the server stops.
    fn wait_for_work(&self, me: usize) -> bool {
        let mut shared = lock(&self.shared);
        // Rule 3.
        if self.try_token().is_some() {
            return true;
        }
        shared.states.wait(me);
        // Requests at the last tick.
        let mut seen = None;
        loop {
            if shared.states.is_stopping() {
                return false;
            }
            match shared.states.of(me) {
                State::Called => {
                    shared.states.answer(me);
                    return true;
                }
                State::Standby if self.progress.is_ticking() => {
                    let before = seen.unwrap_or_else(|| self.progress.requests());
                    let (guard, is_over) = wait_timeout(&self.wake[me], shared, TICK);
                    shared = guard;
                    seen = Some(before);
                    if is_over && shared.states.of(me) == State::Standby {
                        seen = self.tick(before);
                        if seen.is_none() && self.try_token().is_some() {
                            shared.states.take_over(me);
                            return true;
                        }
                    }
                }
                State::Standby | State::Follower => {
                    shared = wait(&self.wake[me], shared);
                    seen = None;
                }
                State::Active => unreachable!("an active thread does not wait"),
            }
        }
    }

    /// The standby's tick: the requests so far, or `None` if there were none since the last tick,
    /// `before`. Then it no longer ticks (rule 2).
    fn tick(&self, before: u64) -> Option<u64> {
        if self.progress.stop_ticking_at(before) {
            None
        } else {
            Some(self.progress.requests())
        }
    }

    /// Whether a thread waits.
    #[cfg(test)]
    pub(super) fn has_waiting(&self) -> bool {
        lock(&self.shared).states.has_waiting()
    }

    /// Ends all threads; their handles.
    pub(super) fn stop(&self) -> Vec<H> {
        let mut shared = lock(&self.shared);
        shared.states.stop();
        self.wake.iter().for_each(Condvar::notify_one);
        std::mem::take(&mut shared.handles)
    }
}

impl<H> Shared<H> {
    fn create(&mut self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        // Under the lock: no thread is created that `stop` does not find.
        match create(self.states.create()) {
            Ok(handle) => self.handles.push(handle),
            Err(error) => {
                self.states.cancel_create();
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A thread is in a function, as long as this lives.
pub(super) struct InFunction<'a> {
    /// If it is slow.
    slow: Option<&'a Evidence>,
}

impl Drop for InFunction<'_> {
    fn drop(&mut self) {
        self.slow.inspect(|evidence| evidence.leave());
    }
}
