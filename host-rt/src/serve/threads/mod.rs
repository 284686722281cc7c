//! The state machine of the serving threads: which one polls, which ones wait, which one is woken.
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
//! | Called | the system cannot create it | - | [`States::cancel_create`] | |
//! | Active | the token is taken, but free under the lock (rule 3) | Active | - | it polls |
//! | Active | the token is taken | Follower | [`States::wait`] | |
//! | Active | the token is taken, and there is no standby | Standby | [`States::wait`] | it sleeps until alerted |
//! | Follower | a thread is needed to poll | Called | [`States::call`] | it is woken |
//! | Standby | the same, and there is no follower | Called | [`States::call`] | it is woken, and no thread ticks |
//! | Standby | a function is entered, and no thread ticks | Standby | [`States::alert`] | it is woken, and ticks |
//! | Standby | other work that may block begins, without evidence (rule 4) | Standby | [`States::alert`] | it is woken, and ticks; also if it was ticking |
//! | Follower, Standby | other work that may block begins, with evidence | Called | [`States::call`] | as if a thread were needed to poll |
//! | Standby | a tick without a request, the token is taken | Standby | - | it sleeps until alerted |
//! | Standby | a tick without a request, the token is free | Active | [`States::take_over`] | the next row |
//! | Follower | the standby takes over | Standby | [`States::take_over`] | it sleeps until alerted |
//! | any | the server stops | ends | [`States::stop`] | all are woken |
//!
//! [`States::call`] and [`States::alert`] do nothing while a thread is Called: it is about to poll.
//!
//! Rules:
//!
//! 1. A thread enters a function only while the standby ticks or another thread is on its way to
//!    poll. So a function that never returns delays others by at most two ticks, unless the maximum
//!    number of threads are all in functions.
//! 2. The standby stops ticking only if no request was taken since its last tick. The next thread
//!    that takes one sees that no thread ticks.
//! 3. A thread that is about to wait tries the token once more under the lock. A thread that held
//!    the token without polling ([`Threads::with_token`]) calls one that waits, under the lock,
//!    after its release. One of the two notices the other.
//! 4. A thread is called to poll only before a slow function, and on *evidence* that more than one
//!    caller needs the host: a request was taken while another thread was in a slow function, or
//!    together with others, as those of the lanes of a warp are, or two in a row were waiting when a
//!    thread returned from a function. Evidence lasts for 64 requests. A serial caller gives none: its
//!    next request comes after the end of the last. The standby needs none: once it polls instead of
//!    a stuck thread, the requests that it takes are evidence.
//! 5. At most one thread is called at a time: it polls, and calls the next.
//! 6. A function that waits for a kernel calls a thread without evidence, and serves requests
//!    itself while all threads are active.

mod evidence;
mod progress;
mod states;

use std::io;
use std::time::Duration;

use self::evidence::Evidence;
use self::progress::Progress;
use self::states::{Action, State, States};
use crate::base::sync::{Condvar, Mutex, Token, TokenGuard, lock, try_lock, wait, wait_timeout};

/// Interval of the standby's checks while requests come in.
const TICK: Duration = Duration::from_millis(1);

/// The result of polling.
pub(super) enum Polled<R> {
    /// A request, or other work.
    Found(R),
    /// The server stops.
    Stop,
}

/// The threads. The poll token gives access to `T`; `H` is a thread's handle.
pub(super) struct Threads<T, H> {
    token: Token<T>,
    shared: Mutex<Shared<H>>,
    /// Wakes the threads, by number.
    wake: Box<[Condvar]>,
    progress: Progress,
    evidence: Evidence,
}

struct Shared<H> {
    states: States,
    handles: Vec<H>,
}

impl<T, H> Threads<T, H> {
    /// No threads yet; at most `limit` later.
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

    /// The number of threads.
    pub(super) fn count(&self) -> usize {
        lock(&self.shared).states.count()
    }

    /// The number of requests taken so far.
    pub(super) fn requests(&self) -> u64 {
        self.progress.requests()
    }

    /// Creates the first thread if there is none. `create` gets its number and is called with the
    /// lock held.
    ///
    /// # Errors
    /// If `create` fails.
    pub(super) fn start(&self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        if shared.states.count() > 0 || shared.states.is_stopping() {
            return Ok(());
        }
        shared.create(create)
    }

    /// The main loop of thread `me`. `poll` polls with the token until there is a request; its
    /// second parameter is whether the thread has just served one. `serve` serves the request
    /// without the token. `poll` does not panic.
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
                Polled::Found(request) => {
                    drop(token);
                    serve(request);
                    has_served = true;
                }
                Polled::Stop => return,
            }
        }
    }

    /// Counts a request that was taken with the token; `waited` if it was waiting when this thread
    /// returned from a function, `has_ready` if another one was ready when it was taken.
    pub(super) fn request_taken(&self, waited: bool, has_ready: bool) {
        self.progress.count();
        self.evidence.request(waited, has_ready);
    }

    /// Ensures that another thread polls, or will if this one is stuck, before this thread enters a
    /// function for a request that [was counted](Self::request_taken). Drop the returned value when
    /// the function has returned. `create` is as for [`start`](Self::start).
    ///
    /// # Errors
    /// If a thread could not be created. This one polls again once the function has returned.
    pub(super) fn enter_function(
        &self,
        is_slow: bool,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> (InFunction<'_>, io::Result<()>) {
        if is_slow {
            return self.enter_slow(self.progress.is_ticking(), create);
        }
        let ready = if self.progress.is_ticking() {
            Ok(())
        } else {
            self.wake_standby(create)
        };
        (InFunction { slow: None }, ready)
    }

    /// As [`enter_function`](Self::enter_function), before other work that may block. The standby
    /// does not notice such work, so it is woken although it ticks: under the lock, under which it
    /// stops ticking and tries the token.
    ///
    /// # Errors
    /// As for [`enter_function`](Self::enter_function).
    pub(super) fn enter_other_work(
        &self,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> (InFunction<'_>, io::Result<()>) {
        self.enter_slow(false, create)
    }

    fn enter_slow(
        &self,
        will_tick: bool,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> (InFunction<'_>, io::Result<()>) {
        let slow = &self.evidence;
        slow.enter();
        let ready = if slow.exists() {
            self.wake_follower(create)
        } else if will_tick {
            Ok(())
        } else {
            self.wake_standby(create)
        };
        (InFunction { slow: Some(slow) }, ready)
    }

    /// Calls a thread to poll.
    ///
    /// # Errors
    /// If it could not be created.
    pub(super) fn wake_follower(
        &self,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> io::Result<()> {
        if self.wake.len() == 1 {
            return Ok(());
        }
        let mut shared = lock(&self.shared);
        let action = shared.states.call();
        self.perform(&mut shared, action, create)
    }

    /// Wakes the standby to tick.
    fn wake_standby(&self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        if self.wake.len() == 1 {
            return Ok(());
        }
        let mut shared = lock(&self.shared);
        let action = shared.states.alert();
        if let Action::Wake(_) = action {
            self.progress.start_ticking();
        }
        self.perform(&mut shared, action, create)
    }

    fn perform(
        &self,
        shared: &mut Shared<H>,
        action: Action,
        create: impl FnOnce(usize) -> io::Result<H>,
    ) -> io::Result<()> {
        match action {
            Action::Wake(thread) => {
                if shared.states.state(thread) == State::Called && !shared.states.has_standby() {
                    self.progress.stop_ticking();
                }
                self.wake[thread].notify_one();
                Ok(())
            }
            Action::Create => shared.create(create),
            Action::None => Ok(()),
        }
    }

    /// The token, unless another thread holds it.
    fn try_token(&self) -> Option<TokenGuard<'_, T>> {
        try_lock(&self.token)
    }

    /// Runs `act`, which does not panic, with the token, on a thread that does not poll. Returns
    /// `false` if another thread holds the token.
    pub(super) fn with_token(&self, act: impl FnOnce(&mut T)) -> bool {
        let Some(mut token) = self.try_token() else {
            return false;
        };
        act(&mut token);
        drop(token);
        // Rule 3.
        let mut shared = lock(&self.shared);
        if shared.states.has_waiting() {
            let action = shared.states.call();
            let create = |_| unreachable!("a thread waits");
            let _: io::Result<()> = self.perform(&mut shared, action, create);
        }
        true
    }

    /// Like [`with_token`](Self::with_token), but only while the maximum number of threads are all
    /// active: for one of them that waits for an effect of another request.
    pub(super) fn with_token_if_all_are_busy(&self, act: impl FnOnce(&mut T)) -> bool {
        let all_are_busy = lock(&self.shared).states.all_are_active();
        all_are_busy && self.with_token(act)
    }

    /// Waits until this thread must poll; `false` when the server stops.
    fn wait_for_work(&self, me: usize) -> bool {
        let mut shared = lock(&self.shared);
        // Rule 3.
        if self.try_token().is_some() {
            return true;
        }
        shared.states.wait(me);
        // The number of requests at the last tick.
        let mut last_tick = None;
        loop {
            if shared.states.is_stopping() {
                return false;
            }
            match shared.states.state(me) {
                State::Called => {
                    shared.states.answer(me);
                    return true;
                }
                State::Standby if self.progress.is_ticking() => {
                    let before = last_tick.unwrap_or_else(|| self.progress.requests());
                    let (guard, is_over) = wait_timeout(&self.wake[me], shared, TICK);
                    shared = guard;
                    last_tick = Some(before);
                    if is_over && shared.states.state(me) == State::Standby {
                        last_tick = self.tick(before);
                        if last_tick.is_none() && self.try_token().is_some() {
                            shared.states.take_over(me);
                            return true;
                        }
                    }
                }
                State::Standby | State::Follower => {
                    shared = wait(&self.wake[me], shared);
                    last_tick = None;
                }
                State::Active => unreachable!("an active thread does not wait"),
            }
        }
    }

    /// The standby's tick. Returns the number of requests so far; `None` if it is still `before`,
    /// the number at the last tick. Then the standby no longer ticks (rule 2).
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

    /// Whether the standby ticks.
    #[cfg(test)]
    pub(super) fn is_ticking(&self) -> bool {
        self.progress.is_ticking()
    }

    /// Tells all threads to end; returns their handles.
    pub(super) fn stop(&self) -> Vec<H> {
        let mut shared = lock(&self.shared);
        shared.states.stop();
        self.wake.iter().for_each(Condvar::notify_one);
        std::mem::take(&mut shared.handles)
    }
}

impl<H> Shared<H> {
    fn create(&mut self, create: impl FnOnce(usize) -> io::Result<H>) -> io::Result<()> {
        // Under the lock, so that `stop` returns the handle of every thread.
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

/// Marks a thread as being in a function until it is dropped.
pub(super) struct InFunction<'a> {
    /// `Some` if the function is slow.
    slow: Option<&'a Evidence>,
}

impl Drop for InFunction<'_> {
    fn drop(&mut self) {
        self.slow.inspect(|evidence| evidence.leave());
    }
}
