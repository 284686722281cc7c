//! The thread of a copy engine.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use emu_driver::process::lock;

use super::Work;
use crate::clock;
use crate::memory::Memory;
use crate::signal::{Waker, Wakers, wait_until};
use crate::status::Status;

/// Whether copies are held, and the wakers of engines that wait.
static ARE_HELD: AtomicBool = AtomicBool::new(false);
static HELD: Mutex<Vec<Arc<Waker>>> = Mutex::new(Vec::new());

/// Number of unfinished copies.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Holds copies that have not begun.
pub(crate) fn hold_copies() {
    // Release: edge *held copies*; an engine that finds copies held also finds what was done before.
    ARE_HELD.store(true, Ordering::Release);
}

/// Releases held copies.
pub(crate) fn release_copies() {
    // Release: edge *held copies*. Engines that wait are woken below; the lock orders the others.
    ARE_HELD.store(false, Ordering::Release);
    lock(&HELD).drain(..).for_each(|waker| waker.wake());
}

/// Number of unfinished copies.
pub(crate) fn copies() -> u64 {
    // Acquire: edge *copy count*; what copies have written is visible when they are no longer counted.
    COUNT.load(Ordering::Acquire)
}

/// Running kernels of a GPU.
#[derive(Debug, Default)]
pub(crate) struct RunningKernels {
    count: AtomicUsize,
    wakers: Wakers,
}

impl RunningKernels {
    pub(crate) fn begin(&self) {
        // AcqRel: continues edge *running kernels* of kernels that have ended.
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end(&self) {
        // Release: edge *running kernels*; the kernel's writes come before.
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.wakers.wake();
    }

    fn are_none(&self) -> bool {
        // Acquire: edge *running kernels*; a copy that is a kernel sees what the others have written.
        self.count.load(Ordering::Acquire) == 0
    }
}

/// A copy engine. Dropping it ends its thread after the queued copies.
pub(crate) struct Engine(Sender<Work>);

impl Engine {
    /// Starts an engine. Copies that are kernels wait until none of `kernels` runs.
    pub(crate) fn start(memory: &Arc<Memory>, kernels: &Arc<RunningKernels>) -> io::Result<Self> {
        let (sender, work) = channel();
        let (memory, running) = (Arc::clone(memory), Arc::clone(kernels));
        let thread = std::thread::Builder::new().name("engine".to_owned());
        let spawned = thread.spawn(move || run(&memory, &running, &work));
        spawned.map_err(|error| {
            io::Error::new(error.kind(), format!("a thread for copies: {error}"))
        })?;
        Ok(Self(sender))
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// The requirements of [`Memory::copy`] hold until the copy is done.
    pub(crate) unsafe fn queue(&self, work: Work) {
        // AcqRel: continues edge *copy count* of copies that have ended.
        COUNT.fetch_add(1, Ordering::AcqRel);
        if self.0.send(work).is_err() {
            unreachable!("the engine's thread runs as long as it has a sender");
        }
    }
}

fn run(memory: &Memory, kernels: &RunningKernels, work: &Receiver<Work>) {
    let waker = Arc::new(Waker::default());
    for work in work {
        wait(&waker, kernels, &work);
        let Work {
            operation,
            after,
            done,
            ..
        } = work;
        // One that is there has been 0, and the program may have given it another value since.
        let mut after_signals = after.iter().map(|signal| signal.signal());
        let is_lost = after_signals.any(|signal| signal.is_destroyed() && signal.get() != 0);
        // Before the copy is reported as done: the program may then destroy these signals.
        drop(after);
        let start = clock::now();
        let copied = if is_lost {
            // A signal was destroyed before it was 0.
            Err(Status::INVALID_SIGNAL)
        } else {
            // SAFETY: the promise of `Engine::queue`'s caller.
            unsafe { operation.run(memory) }
        };
        // Release: edge *copy count*; the copy's writes come before.
        COUNT.fetch_sub(1, Ordering::AcqRel);
        let Some(done) = done else { continue };
        done.signal().set_times(start, clock::now());
        match copied {
            Ok(()) => done.count_down(),
            Err(status) => {
                tracing::warn!(?operation, status = status.0, "a copy failed");
                // Release: edge *signal value*, as for a copy that is done.
                done.finish(|value| value.store(-1, Ordering::Release));
            }
        }
    }
}

/// Waits until a copy may begin.
fn wait(waker: &Arc<Waker>, kernels: &RunningKernels, work: &Work) {
    let is_ready = || {
        let has_room = !work.is_kernel || kernels.are_none();
        // Acquire: edge *held copies*.
        let is_held = ARE_HELD.load(Ordering::Acquire);
        let mut after = work.after.iter();
        !is_held
            && has_room
            && after.all(|signal| signal.signal().get() == 0 || signal.signal().is_destroyed())
    };
    if is_ready() {
        return;
    }
    lock(&HELD).push(Arc::clone(waker));
    kernels.wakers.add(waker);
    let after = || work.after.iter().map(|signal| signal.signal());
    after().for_each(|signal| signal.add_waker(waker));
    let unseen = after().any(|signal| signal.may_change_unseen());
    wait_until(waker, None, unseen, is_ready);
    after().for_each(|signal| signal.remove_waker(waker));
    kernels.wakers.remove(waker);
    lock(&HELD).retain(|held| !Arc::ptr_eq(held, waker));
}
