//! Processors: OS threads that run blocks.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::launch::{Launch, TurnResult};

/// Resident threads and blocks of a processor, as on hardware. Source: the CUDA C++ programming guide,
/// table "Technical Specifications per Compute Capability"; AMD's compute units have as many of both.
const RESIDENT_THREADS: u32 = 2048;
const RESIDENT_BLOCKS: usize = 32;

/// Shorter sleeps cost more than they save.
const MIN_SLEEP: Duration = Duration::from_micros(50);

/// Rounds without progress before a processor sleeps.
const IDLE_ROUNDS: u32 = 200;

/// The time for which the blocks of a launch are distributed evenly: other processors may need
/// as long to wake up. Then any processor with room takes the rest.
const WAKING: Duration = Duration::from_millis(10);

/// The processors of a device, which start with the first launch.
pub struct Processors<L: Launch> {
    shared: Arc<Shared<L>>,
    count: u32,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<L: Launch> {
    state: Mutex<State<L>>,
    work: Condvar,
}

struct State<L> {
    /// Launches with blocks that have not begun.
    waiting: VecDeque<Arc<L>>,
    /// Launches that may not be over.
    all: Vec<Weak<L>>,
    closing: bool,
}

impl<L: Launch> std::fmt::Debug for Processors<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processors")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<L: Launch> Shared<L> {
    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Launch> Processors<L> {
    /// So many processors.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    waiting: VecDeque::new(),
                    all: Vec::new(),
                    closing: false,
                }),
                work: Condvar::new(),
            }),
            count,
            threads: Mutex::default(),
        }
    }

    /// Their number.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Runs a launch as soon as there is room for its blocks.
    ///
    /// # Errors
    /// The system has no threads.
    pub fn submit(&self, launch: Arc<L>) -> std::io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while threads.len() < self.count as usize {
            let number = threads.len() as u32;
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name(format!("emu {number}"))
                .spawn(move || work(&shared, number));
            match thread {
                Ok(thread) => threads.push(thread),
                // Fewer threads suffice.
                Err(_) if !threads.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        drop(threads);
        let mut state = self.shared.state();
        state.all.retain(|launch| launch.strong_count() > 0);
        state.all.push(Arc::downgrade(&launch));
        state.waiting.push_back(launch);
        drop(state);
        self.shared.work.notify_all();
        Ok(())
    }
}

impl<L: Launch> Drop for Processors<L> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closing = true;
        for launch in state.all.iter().filter_map(Weak::upgrade) {
            launch.progress().stop();
        }
        drop(state);
        self.shared.work.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // The callback at the end of a launch may be the last owner.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// A processor.
fn work<L: Launch>(shared: &Shared<L>, number: u32) {
    let mut blocks: Vec<(Arc<L>, L::Block)> = Vec::new();
    let mut spare = L::Spare::default();
    let mut idle = 0;
    loop {
        take_blocks(shared, number, &mut blocks, &mut spare);
        if blocks.is_empty() {
            let state = shared.state();
            if state.closing {
                return;
            }
            if state.waiting.is_empty() {
                // Memory is not kept for launches that may never come.
                spare = L::Spare::default();
                drop(shared.work.wait(state));
            }
            continue;
        }
        let mut busy = false;
        let mut wakes = None;
        let mut all_sleep = true;
        let mut at = 0;
        while at < blocks.len() {
            let (launch, block) = &mut blocks[at];
            let over = launch.progress().is_stopped()
                || match guarded_turn(&**launch, block) {
                    TurnResult::Done => true,
                    TurnResult::Busy => {
                        busy = true;
                        false
                    }
                    TurnResult::Idle(until) => {
                        all_sleep &= until.is_some();
                        wakes = earlier(wakes, until);
                        false
                    }
                };
            if over {
                busy = true;
                let (launch, block) = blocks.swap_remove(at);
                let is_complete = launch.dismantle(block, &mut spare);
                launch.progress().end_block(!is_complete);
                end_if_over(&*launch);
            } else {
                at += 1;
            }
        }
        idle = if busy { 0 } else { idle + 1 };
        rest(idle, wakes.filter(|_| all_sleep));
    }
}

/// A turn, which ends the block if it panics: a thread waits for the launch, and other blocks need
/// this thread.
fn guarded_turn<L: Launch>(launch: &L, block: &mut L::Block) -> TurnResult {
    let turn = panic::catch_unwind(AssertUnwindSafe(|| launch.turn(block)));
    turn.unwrap_or_else(|payload| {
        let words = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(payload.downcast_ref::<&str>().copied())
            .unwrap_or("without a word");
        launch.fail_by_panic(block, words.to_owned());
        TurnResult::Done
    })
}

fn end_if_over<L: Launch>(launch: &L) {
    let progress = launch.progress();
    progress.end_if_over(|| launch.finish(), || launch.stopped());
}

fn earlier(one: Option<Instant>, two: Option<Instant>) -> Option<Instant> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

/// Yields the core while all threads wait.
fn rest(idle: u32, wakes: Option<Instant>) {
    if idle == 0 {
        return;
    }
    let sleep = wakes.map(|until| until.saturating_duration_since(Instant::now()));
    match sleep {
        Some(time) if time >= MIN_SLEEP => std::thread::sleep(time),
        _ if idle > IDLE_ROUNDS => std::thread::sleep(MIN_SLEEP),
        _ => std::thread::yield_now(),
    }
}

/// Takes as many blocks as fit, one of each launch in turn.
fn take_blocks<L: Launch>(
    shared: &Shared<L>,
    number: u32,
    blocks: &mut Vec<(Arc<L>, L::Block)>,
    spare: &mut L::Spare,
) {
    loop {
        let threads: u32 = blocks.iter().map(|(launch, _)| launch.threads()).sum();
        let mut state = shared.state();
        let is_for_others = |launch: &Arc<L>| {
            let is_its = |(of, _): &&(Arc<L>, L::Block)| Arc::ptr_eq(of, launch);
            let has = blocks.iter().filter(is_its).count() as u64;
            let progress = launch.progress();
            has >= progress.share() && progress.age() < WAKING && progress.begins_blocks()
        };
        let next = state.waiting.iter().position(|it| !is_for_others(it));
        let Some(launch) = next.and_then(|at| state.waiting.remove(at)) else {
            return;
        };
        let progress = launch.progress();
        if !progress.begins_blocks() {
            drop(state);
            end_if_over(&*launch);
            continue;
        }
        let fits = threads + launch.threads() <= RESIDENT_THREADS && blocks.len() < RESIDENT_BLOCKS;
        if !fits && !blocks.is_empty() {
            state.waiting.push_front(launch);
            return;
        }
        let Some(block) = progress.take_block() else {
            // It was stopped meanwhile.
            drop(state);
            end_if_over(&*launch);
            continue;
        };
        if progress.begins_blocks() {
            state.waiting.push_back(Arc::clone(&launch));
        }
        drop(state);
        let block = launch.block(block, number, spare);
        blocks.push((launch, block));
    }
}
