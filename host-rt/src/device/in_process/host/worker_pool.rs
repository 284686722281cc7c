//! Workers: the OS threads that run device threads. They are kept for a while and reused, with
//! their stacks, because creating one takes longer than many kernels.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use corosensei::stack::DefaultStack;

use super::launch::{HostLaunch, Job};
use super::lock;
use super::module::RESIDENT;

/// Maximum workers of a device: enough for two of the largest launches, so that one of them does
/// not block others.
pub(super) const MAX_WORKERS: usize = 2 * RESIDENT as usize;

/// The stack of the worker itself, which only starts device threads and copies.
const WORKER_STACK: usize = 64 << 10;

/// How long an idle worker is kept.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// The workers of a device. Every job of a started launch has a worker, since jobs may wait for
/// each other. Launches for which there is no room start later, in order.
pub(super) struct WorkerPool(Arc<Shared>);

struct Shared {
    /// Size of a device thread's stack in bytes.
    stack: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Launches that have not started, in order.
    waiting: VecDeque<Arc<HostLaunch>>,
    /// Never more than idle workers, so that each job gets one at once.
    jobs: VecDeque<Job>,
    idle: usize,
    /// The number of workers, including ones about to be created.
    workers: usize,
    /// The number of workers created so far.
    made: usize,
    threads: HashMap<ThreadId, JoinHandle<()>>,
    closing: bool,
}

/// Whether this thread is a worker that can take a job at once, and that job.
enum WorkerState {
    /// It is no worker, or runs a kernel.
    Busy,
    /// It has run a kernel on the device with this address, and then takes its next job.
    Available(*const Shared),
    Taken(Job),
}

thread_local! {
    static WORKER: Cell<WorkerState> = const { Cell::new(WorkerState::Busy) };
}

/// Whether this thread is a worker of the device that can take a job at once.
fn is_available(shared: &Shared) -> bool {
    let next = WORKER.replace(WorkerState::Busy);
    let is_open = matches!(next, WorkerState::Available(of) if std::ptr::eq(of, shared));
    WORKER.set(next);
    is_open
}

impl WorkerPool {
    pub(super) fn new(stack: usize) -> Self {
        Self(Arc::new(Shared {
            stack,
            state: Mutex::default(),
            work: Condvar::new(),
        }))
    }

    /// Runs a launch, all its jobs at the same time: now, or when there is room for them.
    pub(super) fn run(&self, launch: Arc<HostLaunch>) {
        let shared = &self.0;
        let mut state = lock(&shared.state);
        state.waiting.push_back(launch);
        drop(shared.begin(state));
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.closing = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.0.work.notify_all();
        for (id, thread) in threads {
            // The last owner of a device may be a kernel that has ended on this thread.
            if id != std::thread::current().id() {
                // A worker does not panic: kernels trap, and its other code does not unwrap.
                let _ = thread.join();
            }
        }
    }
}

/// A worker.
fn run_worker(shared: &Arc<Shared>, first: Job) {
    crate::base::sleep::sharpen();
    let mut stack = None;
    let mut next = Some(first);
    while let Some(job) = next {
        run(shared, &job, &mut stack);
        WORKER.set(WorkerState::Available(Arc::as_ptr(shared)));
        job.launch.leave(1);
        drop(job);
        next = match WORKER.replace(WorkerState::Busy) {
            WorkerState::Taken(job) => Some(job),
            WorkerState::Busy | WorkerState::Available(_) => shared.next(),
        };
    }
}

fn run(shared: &Shared, job: &Job, kept: &mut Option<DefaultStack>) {
    let stack = match kept.take() {
        Some(stack) => Ok(stack),
        None => DefaultStack::new(shared.stack),
    };
    match stack {
        Ok(stack) => *kept = job.launch.run_teams(stack, job.place, job.thread),
        Err(error) => {
            let reason = format!("no memory for a device thread's stack: {error}");
            job.launch.fail(reason);
        }
    }
}

impl State {
    /// The next launch, if there is room for all its jobs beside the running ones, of which `own`
    /// end on the calling thread.
    fn next_launch(&mut self, own: usize) -> Option<Arc<HostLaunch>> {
        let free = self.idle - self.jobs.len();
        let busy = self.workers - free - own;
        let next = self.waiting.front()?;
        if busy + next.width() > MAX_WORKERS {
            return None;
        }
        self.waiting.pop_front()
    }
}

impl Shared {
    /// Starts the launches for which there is room.
    fn begin<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        loop {
            let is_open = is_available(self);
            let Some(launch) = state.next_launch(usize::from(is_open)) else {
                return state;
            };
            // Before another worker gets one of its jobs.
            launch.enter();
            let mut jobs = launch.jobs();
            if is_open && let Some(job) = jobs.next() {
                WORKER.set(WorkerState::Taken(job));
            }
            let woken = jobs.len().min(state.idle - state.jobs.len());
            state.jobs.extend(jobs.by_ref().take(woken));
            state.workers += jobs.len();
            drop(state);
            for _ in 0..woken {
                self.work.notify_one();
            }
            if let Err((missing, error)) = self.carry_out(jobs) {
                lock(&self.state).workers -= missing;
                launch.is_short_of(missing, &error);
            }
            state = lock(&self.state);
        }
    }

    /// Gives jobs to new workers.
    fn carry_out(
        self: &Arc<Self>,
        mut jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<(), (usize, std::io::Error)> {
        while let Some(job) = jobs.next() {
            // The thread owns the pool's shared state, but not the device, whose drop ends it.
            let worker = Arc::clone(self);
            let number = {
                let mut state = lock(&self.state);
                state.made += 1;
                state.made
            };
            let thread = std::thread::Builder::new()
                .name(format!("device {number}"))
                .stack_size(WORKER_STACK)
                .spawn(move || run_worker(&worker, job))
                .map_err(|error| (jobs.len() + 1, error))?;
            let id = thread.thread().id();
            lock(&self.state).threads.insert(id, thread);
        }
        Ok(())
    }

    /// The next job of an idle worker; `None` if the worker is to end.
    fn next(self: &Arc<Self>) -> Option<Job> {
        let mut state = lock(&self.state);
        state.idle += 1;
        let mut is_late = false;
        loop {
            // The last worker that leaves room starts the launch, since only idle workers leave
            // room.
            state = self.begin(state);
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            if is_late || state.closing {
                state.idle -= 1;
                state.workers -= 1;
                // No one has to join it any more.
                state.threads.remove(&std::thread::current().id());
                return None;
            }
            let waited = self.work.wait_timeout(state, IDLE_TIME);
            let (back, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = back;
            is_late = timeout.timed_out();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;
    use crate::device::Grid;

    /// Keeps kernels waiting until they are released.
    #[derive(Default)]
    struct Gate {
        state: Mutex<Inside>,
        /// A kernel has arrived, or a launch has ended.
        changed: Condvar,
        opened: Condvar,
    }

    #[derive(Default)]
    struct Inside {
        now: usize,
        most: usize,
        ended: usize,
        is_open: bool,
    }

    impl Gate {
        fn wait(&self, until: impl Fn(&Inside) -> bool) -> MutexGuard<'_, Inside> {
            let state = lock(&self.state);
            let waited = self.changed.wait_while(state, |inside| !until(inside));
            waited.unwrap_or_else(PoisonError::into_inner)
        }

        fn stay(&self) {
            let mut inside = lock(&self.state);
            inside.now += 1;
            inside.most = inside.most.max(inside.now);
            self.changed.notify_one();
            let waited = self.opened.wait_while(inside, |inside| !inside.is_open);
            waited.unwrap_or_else(PoisonError::into_inner).now -= 1;
        }

        fn open(&self) {
            lock(&self.state).is_open = true;
            self.opened.notify_all();
        }
    }

    /// Its parameter is the address of a [`Gate`].
    unsafe extern "C" fn stay(params: *const *const c_void) {
        // SAFETY: each launch here has this parameter, and its gate outlives it.
        let gate = unsafe { &**(*params).cast::<*const Gate>() };
        gate.stay();
    }

    fn launch(gate: &Arc<Gate>, teams: u32, threads: u32) -> Arc<HostLaunch> {
        let params = [(Arc::as_ptr(gate) as u64).to_ne_bytes()].iter().collect();
        let at_end = Arc::clone(gate);
        HostLaunch::of_code(stay, params, Grid { teams, threads }, move || {
            lock(&at_end.state).ended += 1;
            at_end.changed.notify_one();
        })
    }

    /// One test at a time: a process has a limited number of threads.
    static TURN: Mutex<()> = Mutex::new(());

    /// Small stacks: there are many.
    fn workers() -> WorkerPool {
        WorkerPool::new(16 << 10)
    }

    /// The numbers of threads and of waiting launches.
    fn counts(workers: &WorkerPool) -> (usize, usize) {
        let state = lock(&workers.0.state);
        (state.made, state.waiting.len())
    }

    #[test]
    fn many_launches_have_few_threads() {
        const LAUNCHES: usize = 10_000;
        let _turn = lock(&TURN);
        let (gate, workers) = (Arc::<Gate>::default(), workers());
        for _ in 0..LAUNCHES {
            workers.run(launch(&gate, 1, 1));
        }
        drop(gate.wait(|inside| inside.now >= MAX_WORKERS));
        let found = counts(&workers);
        gate.open();
        let inside = gate.wait(|inside| inside.ended == LAUNCHES);
        assert_eq!(found, (MAX_WORKERS, LAUNCHES - MAX_WORKERS));
        assert_eq!(inside.most, MAX_WORKERS);
    }

    #[test]
    fn two_of_the_largest_run_at_the_same_time() {
        let _turn = lock(&TURN);
        let (gate, workers) = (Arc::<Gate>::default(), workers());
        for _ in 0..3 {
            // More teams than places.
            workers.run(launch(&gate, 3 * RESIDENT / 1024, 1024));
        }
        workers.run(launch(&gate, 1, 1));
        drop(gate.wait(|inside| inside.now >= MAX_WORKERS));
        let found = counts(&workers);
        gate.open();
        let inside = gate.wait(|inside| inside.ended == 4);
        // The last launch is small, but still starts after the third.
        assert_eq!(found, (MAX_WORKERS, 2));
        assert_eq!((inside.now, inside.most), (0, MAX_WORKERS));
    }
}
