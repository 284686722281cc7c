//! The states of the threads, without the threads. Each transition is one method, and one row of
//! the table in `threads/mod.rs`.

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It polls, serves a request, or is between the two.
    Active,
    /// It waits until it is called.
    Follower,
    /// It waits, and checks at every tick whether the poller is stuck, or sleeps until alerted.
    Standby,
    /// It was called, or created, to poll, and has not run since.
    Called,
}

/// The action that a transition requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Wake this thread.
    Wake(usize),
    /// Create a thread.
    Create,
    /// None: a thread is called already, or the maximum number of threads are all active.
    None,
}

/// The states of all threads, by thread number.
#[derive(Debug)]
pub(super) struct States {
    threads: Vec<State>,
    /// Maximum number of threads.
    limit: usize,
    /// Whether the threads must end.
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

    /// Adds a thread, called to poll; returns its number.
    pub(super) fn create(&mut self) -> usize {
        self.threads.push(State::Called);
        self.check();
        self.threads.len() - 1
    }

    /// Removes the thread that was just added, after the system failed to create it.
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
    pub(super) fn call(&mut self) -> Action {
        if self.is_called() {
            return Action::None;
        }
        // The standby last, since it would need a replacement.
        match self.find(State::Follower).or(self.standby()) {
            Some(thread) => {
                self.change(thread, &[State::Follower, State::Standby], State::Called);
                self.check();
                Action::Wake(thread)
            }
            None => self.create_within_limit(),
        }
    }

    /// A standby is needed. An existing one keeps its state, and is woken.
    pub(super) fn alert(&mut self) -> Action {
        if self.is_called() {
            return Action::None;
        }
        match self.standby() {
            Some(standby) => Action::Wake(standby),
            None => self.create_within_limit(),
        }
    }

    /// The standby takes over. A follower replaces it, and sleeps until alerted.
    pub(super) fn take_over(&mut self, me: usize) {
        self.change(me, &[State::Standby], State::Active);
        if let Some(follower) = self.find(State::Follower) {
            self.change(follower, &[State::Follower], State::Standby);
        }
        self.check();
    }

    /// All threads must end.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The state of a thread.
    pub(super) fn state(&self, thread: usize) -> State {
        self.threads[thread]
    }

    /// The number of threads.
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

    /// Whether the maximum number of threads exist and are all active.
    pub(super) fn all_are_active(&self) -> bool {
        self.threads.len() >= self.limit && self.threads.iter().all(|&s| s == State::Active)
    }

    fn create_within_limit(&self) -> Action {
        if self.threads.len() < self.limit && !self.is_stopping {
            Action::Create
        } else {
            Action::None
        }
    }

    /// Whether a thread was called to poll and has not run since.
    fn is_called(&self) -> bool {
        self.find(State::Called).is_some()
    }

    fn standby(&self) -> Option<usize> {
        self.find(State::Standby)
    }

    fn find(&self, state: State) -> Option<usize> {
        self.threads.iter().position(|&other| other == state)
    }

    /// Checks that at most one thread is called, and that followers have a standby.
    fn check(&self) {
        let called = self.threads.iter().filter(|&&s| s == State::Called);
        debug_assert!(called.count() <= 1, "{self:?}");
        debug_assert!(
            self.find(State::Follower).is_none() || self.has_standby(),
            "{self:?}"
        );
    }

    /// Performs a transition of `thread`, which is in one of the states `from`.
    fn change(&mut self, thread: usize, from: &[State], to: State) {
        let state = &mut self.threads[thread];
        debug_assert!(from.contains(state), "thread {thread}: {state:?} to {to:?}");
        *state = to;
    }
}
