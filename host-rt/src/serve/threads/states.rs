//! The states of the threads, without the threads: each method is one row of the table in
//! `threads/mod.rs`.

/// What a thread does, as far as the others have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Polls, serves a request, or is between the two.
    Active,
    /// Waits until it is called.
    Follower,
    /// The follower that checks every tick, or sleeps until it has to.
    Standby,
    /// Was called, or created, to poll, and has not run since.
    Called,
}

/// The thread that has to act after a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Wake this one.
    Wake(usize),
    /// Create one.
    Create,
    /// None: one is on its way, or all there may be are active.
    Nobody,
}

/// The states of all threads, by their number.
#[derive(Debug)]
pub(super) struct States {
    threads: Vec<State>,
    /// Most threads.
    limit: usize,
    /// The threads are to end.
    is_stopping: bool,
}

impl States {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            threads: Vec::new(),
            limit,
            is_stopping: false,
        }
    }

    /// Adds a thread that is to poll; its number.
    pub(super) fn create(&mut self) -> usize {
        self.threads.push(State::Called);
        self.check();
        self.threads.len() - 1
    }

    /// Removes the thread that was just added: the system refused to create it.
    pub(super) fn cancel_create(&mut self) {
        self.threads.pop();
    }

    /// A thread that was called begins to run.
    pub(super) fn answer(&mut self, me: usize) {
        self.change(me, &[State::Called], State::Active);
    }

    /// An active thread finds that another one polls.
    pub(super) fn wait(&mut self, me: usize) {
        let state = match self.standby() {
            Some(_) => State::Follower,
            None => State::Standby,
        };
        self.change(me, &[State::Active], state);
        self.check();
    }

    /// A thread is needed to poll.
    pub(super) fn call(&mut self) -> Next {
        // The standby last: it would have to be replaced.
        match self.find(State::Follower).or(self.standby()) {
            _ if self.find(State::Called).is_some() => Next::Nobody,
            Some(thread) => {
                self.change(thread, &[State::Follower, State::Standby], State::Called);
                self.check();
                Next::Wake(thread)
            }
            None => self.another(),
        }
    }

    /// A standby is needed. One that exists stays what it is, and is woken.
    pub(super) fn alert(&mut self) -> Next {
        match self.standby() {
            _ if self.find(State::Called).is_some() => Next::Nobody,
            Some(standby) => Next::Wake(standby),
            None => self.another(),
        }
    }

    /// The standby takes over. Another follower replaces it, and sleeps on until it is alerted.
    pub(super) fn take_over(&mut self, me: usize) {
        self.change(me, &[State::Standby], State::Active);
        if let Some(follower) = self.find(State::Follower) {
            self.change(follower, &[State::Follower], State::Standby);
        }
        self.check();
    }

    /// All threads are to end.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The state of a thread.
    pub(super) fn of(&self, thread: usize) -> State {
        self.threads[thread]
    }

    /// Threads that exist.
    pub(super) fn count(&self) -> usize {
        self.threads.len()
    }

    /// Whether there is a standby.
    pub(super) fn has_standby(&self) -> bool {
        self.standby().is_some()
    }

    /// Whether a thread waits.
    pub(super) fn has_waiting(&self) -> bool {
        self.find(State::Follower).is_some() || self.has_standby()
    }

    /// Whether all threads that there may be exist and are active.
    pub(super) fn all_are_active(&self) -> bool {
        self.threads.len() >= self.limit && self.threads.iter().all(|&s| s == State::Active)
    }

    fn another(&self) -> Next {
        if self.threads.len() < self.limit && !self.is_stopping {
            Next::Create
        } else {
            Next::Nobody
        }
    }

    fn standby(&self) -> Option<usize> {
        self.find(State::Standby)
    }

    fn find(&self, state: State) -> Option<usize> {
        self.threads.iter().position(|&other| other == state)
    }

    /// One thread at most is on its way, and followers have a standby.
    fn check(&self) {
        let called = self.threads.iter().filter(|&&s| s == State::Called);
        debug_assert!(called.count() <= 1, "{self:?}");
        debug_assert!(
            self.find(State::Follower).is_none() || self.has_standby(),
            "{self:?}"
        );
    }

    fn change(&mut self, thread: usize, from: &[State], to: State) {
        let state = &mut self.threads[thread];
        debug_assert!(from.contains(state), "thread {thread}: {state:?} to {to:?}");
        *state = to;
    }
}
