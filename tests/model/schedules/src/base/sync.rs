//! Shuttle's primitives instead of the standard library's, as `base/sync.rs` of host-rt. Waits may
//! end early, and may time out at any time; threads may not be created.

use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub use shuttle::sync::Condvar;
pub use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub use shuttle::thread::{JoinHandle, yield_now};
pub(crate) use shuttle::thread::{Scope, ScopedJoinHandle, scope};
pub(crate) use shuttle::thread_local;

use crate::base::random::{chance, pause};

std::thread_local! {
    /// Whether creating a thread may fail. Shuttle runs all threads of a model on one.
    static SPAWNS_FAIL: Cell<bool> = const { Cell::new(false) };
    /// Whether no wait times out.
    static NO_TIMEOUT: Cell<bool> = const { Cell::new(false) };
}

/// Makes half of the attempts to create a thread fail, in the rest of this run.
pub fn fail_spawns(fail: bool) {
    SPAWNS_FAIL.set(fail);
}

/// Lets no wait time out, in the rest of this run.
pub fn without_timeouts(without: bool) {
    NO_TIMEOUT.set(without);
}

/// A mutex whose guard can release it temporarily.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(shuttle::sync::Mutex<T>);

/// Keeps a mutex locked.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a shuttle::sync::Mutex<T>,
    /// `None` while it waits.
    guard: Option<shuttle::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }
}

const LOCKED: &str = "a guard is locked except while it waits";

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_deref().expect(LOCKED)
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_deref_mut().expect(LOCKED)
    }
}

fn relock<T: ?Sized>(mutex: &shuttle::sync::Mutex<T>) -> MutexGuard<'_, T> {
    MutexGuard {
        mutex,
        guard: Some(mutex.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// Locks a mutex, even after a panic of its owner.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    relock(&mutex.0)
}

/// Waits for `condvar`, or for nothing.
pub fn wait<'a, T>(condvar: &Condvar, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let locked = guard.guard.take().expect(LOCKED);
    if chance(16) {
        drop(locked);
        yield_now();
        return relock(guard.mutex);
    }
    let waited = condvar.wait(locked).unwrap_or_else(PoisonError::into_inner);
    guard.guard = Some(waited);
    guard
}

/// Times out as soon as other threads have run, or ends before that.
pub(crate) fn wait_timeout<'a, T>(
    condvar: &Condvar,
    mut guard: MutexGuard<'a, T>,
    _: Duration,
) -> (MutexGuard<'a, T>, bool) {
    if NO_TIMEOUT.get() {
        return (wait(condvar, guard), false);
    }
    drop(guard.guard.take());
    yield_now();
    (relock(guard.mutex), chance(2))
}

pub(crate) type Token<T> = Mutex<T>;
pub(crate) type TokenGuard<'a, T> = MutexGuard<'a, T>;

pub(crate) fn try_lock<T>(token: &Token<T>) -> Option<TokenGuard<'_, T>> {
    let guard = match token.0.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    Some(MutexGuard {
        mutex: &token.0,
        guard: Some(guard),
    })
}

/// Creates threads.
pub(crate) struct Builder;

impl Builder {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn name(self, _: String) -> Self {
        self
    }

    /// All threads of a model have stacks of one size.
    pub(crate) fn stack_size(self, _: usize) -> Self {
        self
    }

    fn check(self) -> io::Result<()> {
        match SPAWNS_FAIL.get() && chance(2) {
            true => Err(io::Error::other("the model creates no thread")),
            false => Ok(()),
        }
    }

    pub(crate) fn spawn<T: Send + 'static>(
        self,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.check()?;
        Ok(spawn(run))
    }

    pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        run: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        self.check()?;
        Ok(scope.spawn(run))
    }
}

/// Runs `act` on a new thread.
pub fn spawn<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let handle = shuttle::thread::spawn(act);
    // The new thread may run first.
    pause();
    handle
}
