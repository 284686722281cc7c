//! Workers: the OS threads that device threads run on. They are kept for a while and used
//! again, with their stacks, since making one takes longer than many a kernel.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use corosensei::stack::DefaultStack;

use super::launch::{HostLaunch, RESIDENT};
use super::lock;

/// Most workers of a device: as many as two launches of the largest kind run on, so that
/// one that fills its places does not keep others from running beside it.
pub(super) const MOST: usize = 2 * RESIDENT as usize;

/// Stack of a worker itself, which only starts device threads and copies.
const WORKER_STACK: usize = 64 << 10;

/// How long a worker without work is kept.
const KEPT: Duration = Duration::from_secs(1);

/// A device thread of each of some teams, to be run on a worker.
pub(super) struct Job {
    pub(super) launch: Arc<HostLaunch>,
    /// The first of the teams.
    pub(super) place: u32,
    /// Its number in each.
    pub(super) thread: u32,
}

/// The workers of a device. As many as there are jobs of launches that have begun, since
/// those may wait for each other. Launches for which there is no room begin later, in the
/// order in which they came.
pub(super) struct WorkerPool(Arc<Shared>);

struct Shared {
    /// Size of a device thread's stack in bytes.
    stack: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Launches that have not begun, in the order in which they came.
    waiting: VecDeque<Arc<HostLaunch>>,
    /// Never more than there are idle workers: each is sure of one.
    jobs: VecDeque<Job>,
    idle: usize,
    /// How many there are, or are about to be.
    workers: usize,
    /// How many there have been.
    made: usize,
    threads: HashMap<ThreadId, JoinHandle<()>>,
    closing: bool,
}

/// Whether a worker takes a job right away, which then changes no thread.
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

/// Whether this thread is a worker of the device that takes a job right away.
fn is_open(shared: &Shared) -> bool {
    let next = NEXT.replace(Next::Busy);
    let is_open = matches!(next, Next::Open(of) if std::ptr::eq(of, shared));
    NEXT.set(next);
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
            // The last owner of a device may be a kernel that has ended here.
            if id != std::thread::current().id() {
                // A worker does not panic: kernels trap, and the rest of it does not unwrap.
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

impl State {
    /// The next launch, if there is room for all its jobs beside those under way, of which
    /// `own` ends on the thread that asks.
    fn next_launch(&mut self, own: usize) -> Option<Arc<HostLaunch>> {
        let free = self.idle - self.jobs.len();
        let busy = self.workers - free - own;
        let next = self.waiting.front()?;
        if busy + next.width() > MOST {
            return None;
        }
        self.waiting.pop_front()
    }
}

impl Shared {
    /// Begins the launches for which there is room.
    fn begin<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        loop {
            let is_open = is_open(self);
            let Some(launch) = state.next_launch(usize::from(is_open)) else {
                return state;
            };
            // Before another worker gets one of its jobs.
            launch.enter();
            let mut jobs = launch.jobs();
            if is_open && let Some(job) = jobs.next() {
                NEXT.set(Next::Taken(job));
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

    /// Has new workers do jobs.
    fn carry_out(
        self: &Arc<Self>,
        mut jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<(), (usize, std::io::Error)> {
        while let Some(job) = jobs.next() {
            // The thread knows the others, but not this device, which ends them.
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

    /// A job for a worker that has none; `None` if it is to end.
    fn next(self: &Arc<Self>) -> Option<Job> {
        let mut state = lock(&self.state);
        state.idle += 1;
        let mut is_late = false;
        loop {
            // By the last of those that leave room: only who is idle does.
            state = self.begin(state);
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            if is_late || state.closing {
                state.idle -= 1;
                state.workers -= 1;
                // Nobody is to wait for it any more.
                state.threads.remove(&std::thread::current().id());
                return None;
            }
            let waited = self.work.wait_timeout(state, KEPT);
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

    /// What kernels do that wait until they are let go.
    #[derive(Default)]
    struct Hall {
        state: Mutex<Inside>,
        /// Somebody has come, or a launch has ended.
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

    impl Hall {
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

    /// Its parameter is the address of a [`Hall`].
    unsafe extern "C" fn stay(params: *const *const c_void) {
        // SAFETY: each launch here has this parameter, and its hall outlives it.
        let hall = unsafe { &**(*params).cast::<*const Hall>() };
        hall.stay();
    }

    fn launch(hall: &Arc<Hall>, teams: u32, threads: u32) -> Arc<HostLaunch> {
        let param = (Arc::as_ptr(hall) as u64).to_ne_bytes().to_vec();
        let told = Arc::clone(hall);
        HostLaunch::of_code(stay, vec![param], Grid { teams, threads }, move || {
            lock(&told.state).ended += 1;
            told.changed.notify_one();
        })
    }

    /// One test at a time: a process may have only so many threads.
    static TURN: Mutex<()> = Mutex::new(());

    /// Small stacks: there are many.
    fn workers() -> WorkerPool {
        WorkerPool::new(16 << 10)
    }

    /// Threads, and launches that wait.
    fn counts(workers: &WorkerPool) -> (usize, usize) {
        let state = lock(&workers.0.state);
        (state.made, state.waiting.len())
    }

    #[test]
    fn many_launches_have_few_threads() {
        const LAUNCHES: usize = 10_000;
        let _turn = lock(&TURN);
        let (hall, workers) = (Arc::<Hall>::default(), workers());
        for _ in 0..LAUNCHES {
            workers.run(launch(&hall, 1, 1));
        }
        drop(hall.wait(|inside| inside.now >= MOST));
        let found = counts(&workers);
        hall.open();
        let inside = hall.wait(|inside| inside.ended == LAUNCHES);
        assert_eq!(found, (MOST, LAUNCHES - MOST));
        assert_eq!(inside.most, MOST);
    }

    #[test]
    fn two_of_the_largest_run_at_the_same_time() {
        let _turn = lock(&TURN);
        let (hall, workers) = (Arc::<Hall>::default(), workers());
        for _ in 0..3 {
            // More teams than there are places for.
            workers.run(launch(&hall, 3 * RESIDENT / 1024, 1024));
        }
        workers.run(launch(&hall, 1, 1));
        drop(hall.wait(|inside| inside.now >= MOST));
        let found = counts(&workers);
        hall.open();
        let inside = hall.wait(|inside| inside.ended == 4);
        // The last one is small, and comes after the third all the same.
        assert_eq!(found, (MOST, 2));
        assert_eq!((inside.now, inside.most), (0, MOST));
    }
}
