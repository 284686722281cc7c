//! Multiprocessors: OS threads that run blocks.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::block::{Block, TurnResult};
use super::launch::Launch;
use super::private_memory::Spare;
use crate::error::FaultKind;

/// Resident threads and blocks of a multiprocessor, as on hardware. Source:
/// the CUDA C++ programming guide, table "Technical Specifications per Compute
/// Capability".
const RESIDENT_THREADS: u32 = 2048;
const RESIDENT_BLOCKS: usize = 32;

/// Shorter sleeps cost more than they save.
const MIN_SLEEP: Duration = Duration::from_micros(50);

/// Rounds without progress before a multiprocessor sleeps.
const IDLE_ROUNDS: u32 = 200;

/// The time for which the blocks of a launch are distributed evenly: other multiprocessors may need
/// as long to wake up. Then any multiprocessor with room takes the rest.
const WAKING: Duration = Duration::from_millis(10);

/// The multiprocessors of a device, which start with the first launch.
pub(crate) struct Processors {
    shared: Arc<Shared>,
    count: u32,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Launches with blocks that have not begun.
    waiting: VecDeque<Arc<Launch>>,
    /// Launches that may not be over.
    all: Vec<Weak<Launch>>,
    closing: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Processors {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                work: Condvar::new(),
            }),
            count,
            threads: Mutex::default(),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Runs a launch as soon as there is room for its blocks.
    ///
    /// # Errors
    /// The system has no threads.
    pub(crate) fn submit(&self, launch: Arc<Launch>) -> std::io::Result<()> {
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

impl Drop for Processors {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closing = true;
        for launch in state.all.iter().filter_map(Weak::upgrade) {
            launch.stop();
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

/// A multiprocessor.
fn work(shared: &Shared, number: u32) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut spare = Spare::default();
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
                spare = Spare::default();
                drop(shared.work.wait(state));
            }
            continue;
        }
        let mut busy = false;
        let mut wakes = None;
        let mut all_sleep = true;
        let mut at = 0;
        while at < blocks.len() {
            let block = &mut blocks[at];
            let over = block.state.launch.is_stopped()
                || match guarded_turn(block) {
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
                let block = blocks.swap_remove(at);
                let launch = Arc::clone(&block.state.launch);
                let block_is_over = block.is_over();
                block.dismantle(&mut spare);
                launch.end_block(!block_is_over);
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
fn guarded_turn(block: &mut Block) -> TurnResult {
    let turn = panic::catch_unwind(AssertUnwindSafe(|| block.turn()));
    turn.unwrap_or_else(|payload| {
        let words = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(payload.downcast_ref::<&str>().copied())
            .unwrap_or("without a word");
        let what = FaultKind::Interpreter(words.to_owned());
        let state = &block.state;
        let start = (state.launch.kernel.index, 0);
        state.launch.fail(state.index, [0; 3], start, what);
        TurnResult::Done
    })
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
fn take_blocks(shared: &Shared, number: u32, blocks: &mut Vec<Block>, spare: &mut Spare) {
    loop {
        let threads: u32 = blocks
            .iter()
            .map(|block| block.state.launch.threads())
            .sum();
        let mut state = shared.state();
        let is_for_others = |launch: &Arc<Launch>| {
            let is_its = |block: &&Block| Arc::ptr_eq(&block.state.launch, launch);
            let has = blocks.iter().filter(is_its).count() as u64;
            has >= launch.share() && launch.age() < WAKING && launch.begins_blocks()
        };
        let next = state.waiting.iter().position(|it| !is_for_others(it));
        let Some(launch) = next.and_then(|at| state.waiting.remove(at)) else {
            return;
        };
        if !launch.begins_blocks() {
            drop(state);
            launch.end_if_over();
            continue;
        }
        let fits = threads + launch.threads() <= RESIDENT_THREADS && blocks.len() < RESIDENT_BLOCKS;
        if !fits && !blocks.is_empty() {
            state.waiting.push_front(launch);
            return;
        }
        let Some(block) = launch.take_block() else {
            continue;
        };
        if launch.begins_blocks() {
            state.waiting.push_back(Arc::clone(&launch));
        }
        drop(state);
        blocks.push(Block::new(&launch, block, number, spare));
    }
}
