//! Carriers: the OS threads that device threads run on. They are kept for a while and used
//! again, with their stacks, since making one takes longer than many a kernel.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use corosensei::stack::DefaultStack;

use super::launch::HostLaunch;
use super::lock;

/// Stack of a carrier itself, which only starts device threads and copies.
const CARRIER_STACK: usize = 64 << 10;

/// How long a carrier without work is kept.
const KEPT: Duration = Duration::from_secs(1);

/// A device thread of each of some teams, to be run on a carrier.
pub(super) struct Job {
    pub(super) launch: Arc<HostLaunch>,
    /// The first of the teams.
    pub(super) place: u32,
    /// Its number in each.
    pub(super) thread: u32,
}

/// The carriers of a device. As many as there are jobs, since those may wait for each other.
pub(super) struct Carriers(Arc<Shared>);

struct Shared {
    /// Size of a device thread's stack in bytes.
    stack: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Never more than there are idle carriers: each is sure of one.
    jobs: VecDeque<Job>,
    idle: usize,
    /// How many there have been.
    made: usize,
    threads: HashMap<ThreadId, JoinHandle<()>>,
    closing: bool,
}

/// Whether a carrier takes a job right away, which then changes no thread.
enum Next {
    /// It is not one, or runs a kernel.
    Busy,
    /// It has run a kernel on the device with this address, and does what comes next.
    Open(*const Shared),
    Taken(Job),
}

thread_local! {
    static NEXT: Cell<Next> = const { Cell::new(Next::Busy) };
}

impl Carriers {
    pub(super) fn new(stack: usize) -> Self {
        Self(Arc::new(Shared {
            stack,
            state: Mutex::default(),
            work: Condvar::new(),
        }))
    }

    /// Runs jobs, all of them at the same time.
    ///
    /// # Errors
    /// The system gives no thread for the last ones: how many, and its words.
    pub(super) fn run(
        &self,
        mut jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<(), (usize, std::io::Error)> {
        let shared = &self.0;
        match NEXT.replace(Next::Busy) {
            Next::Open(of) if of == Arc::as_ptr(shared) => {
                NEXT.set(jobs.next().map_or(Next::Open(of), Next::Taken));
            }
            next => NEXT.set(next),
        }
        let mut state = lock(&shared.state);
        let free = state.idle.saturating_sub(state.jobs.len());
        let woken = free.min(jobs.len());
        state.jobs.extend(jobs.by_ref().take(woken));
        drop(state);
        for _ in 0..woken {
            shared.work.notify_one();
        }
        while let Some(job) = jobs.next() {
            // The thread knows the others, but not this device, which ends them.
            let carrier = Arc::clone(shared);
            let number = {
                let mut state = lock(&shared.state);
                state.made += 1;
                state.made
            };
            let thread = std::thread::Builder::new()
                .name(format!("device {number}"))
                .stack_size(CARRIER_STACK)
                .spawn(move || carry(&carrier, job))
                .map_err(|error| (jobs.len() + 1, error))?;
            let id = thread.thread().id();
            lock(&shared.state).threads.insert(id, thread);
        }
        Ok(())
    }
}

impl Drop for Carriers {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.closing = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.0.work.notify_all();
        for (id, thread) in threads {
            // The last owner of a device may be a kernel that has ended here.
            if id != std::thread::current().id() {
                // A carrier does not panic: kernels trap, and the rest of it does not unwrap.
                let _ = thread.join();
            }
        }
    }
}

/// A carrier.
fn carry(shared: &Arc<Shared>, first: Job) {
    crate::sleep::sharpen();
    let mut stack = None;
    let mut next = Some(first);
    while let Some(job) = next {
        run(shared, &job, &mut stack);
        NEXT.set(Next::Open(Arc::as_ptr(shared)));
        job.launch.leave(1);
        drop(job);
        next = match NEXT.replace(Next::Busy) {
            Next::Taken(job) => Some(job),
            Next::Busy | Next::Open(_) => shared.next(),
        };
    }
}

fn run(shared: &Shared, job: &Job, kept: &mut Option<DefaultStack>) {
    let stack = match kept.take() {
        Some(stack) => Ok(stack),
        None => DefaultStack::new(shared.stack),
    };
    match stack {
        Ok(stack) => *kept = Some(job.launch.run_teams(stack, job.place, job.thread)),
        Err(error) => {
            let reason = format!("no memory for a device thread's stack: {error}");
            job.launch.fail(reason);
        }
    }
}

impl Shared {
    /// A job for a carrier that has none; `None` if it is to end.
    fn next(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        let mut is_late = false;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if is_late || state.closing {
                // Nobody is to wait for it any more.
                state.threads.remove(&std::thread::current().id());
                return None;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, KEPT);
            let (back, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.idle -= 1;
            is_late = timeout.timed_out();
        }
    }
}
