//! The host's record of each device thread's messages.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bench_calls::{Exchange, MAX_WORDS, message};
use revoff_host::Functions;
use serde::Serialize;

use super::fault::Fault;

/// Calls, and those with which something is wrong.
#[derive(Clone, Default, Serialize)]
pub(super) struct Totals {
    pub(super) calls: u64,
    /// Messages that the host has not got, though a later one came, or the device thread got an answer.
    pub(super) lost: u64,
    /// Messages that came again.
    pub(super) doubled: u64,
    /// Messages and answers that have changed on their way.
    pub(super) wrong: u64,
}

/// The messages of a launch's threads.
pub(super) struct Ledger {
    /// The number that each thread sends next.
    next: Vec<AtomicU64>,
    launch: Mutex<Launch>,
    lost: AtomicU64,
    doubled: AtomicU64,
    wrong: AtomicU64,
    calls: AtomicU64,
}

/// The current launch.
struct Launch {
    /// The number with which it begins.
    first: u64,
    fault: Fault,
    /// Whether a launch before it was aborted: a thread of the host may have a call of that.
    follows_abort: bool,
}

/// The counts that a device thread reports at its end.
pub(super) struct Ended {
    pub(super) answered: u64,
    pub(super) wrong: u64,
}

impl Ledger {
    pub(super) fn new(threads: u32) -> Self {
        Self {
            next: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            launch: Mutex::new(Launch {
                first: 0,
                fault: Fault::None,
                follows_abort: false,
            }),
            lost: AtomicU64::new(0),
            doubled: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }

    /// The host function.
    pub(super) fn functions(self: &Arc<Self>) -> anyhow::Result<Functions> {
        let ledger = Arc::clone(self);
        let mut functions = Functions::new();
        functions.add(Exchange::try_bind(
            move |thread, number, words: &mut [u64]| {
                ledger.take(thread, number, words).map(|()| number)
            },
        ))?;
        Ok(functions)
    }

    /// Checks a message, and makes its answer.
    fn take(&self, thread: u32, number: u64, words: &mut [u64]) -> io::Result<()> {
        let Some(next) = self.next.get(thread as usize) else {
            self.wrong.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let launch = self.launch();
        if number < launch.first && launch.follows_abort {
            return Ok(());
        }
        // Locked: a launch that begins after an abort does so before this or after it. Relaxed, everywhere here: a thread
        // sends a message after the answer to the last one, so calls order these accesses, and the launch has ended when
        // the counts are read.
        match next.swap(number + 1, Ordering::Relaxed) {
            expected if number > expected => {
                self.lost.fetch_add(number - expected, Ordering::Relaxed)
            }
            expected if number < expected => self.doubled.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let (first, fault) = (launch.first, launch.fault.clone());
        drop(launch);
        let mut expected = [0; MAX_WORDS];
        if *words != *message(thread, number, &mut expected) {
            self.wrong.fetch_add(1, Ordering::Relaxed);
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        words.iter_mut().for_each(|word| *word = !*word);
        fault.happen(thread, number.wrapping_sub(first))
    }

    /// Begins a launch, after one that may have made `messages` calls.
    pub(super) fn begin(&self, messages: u64, fault: Fault) {
        let mut launch = self.launch();
        launch.first += messages;
        launch.follows_abort |= matches!(launch.fault, Fault::Abort(_));
        launch.fault = fault;
        for next in &self.next {
            next.store(launch.first, Ordering::Relaxed);
        }
    }

    /// The first number of the launch.
    pub(super) fn first(&self) -> u64 {
        self.launch().first
    }

    /// Compares with what the device threads say after a launch that may make `messages` calls. Returns whether some
    /// made fewer.
    pub(super) fn end(&self, ended: impl Iterator<Item = Ended>, messages: u64) -> bool {
        let launch = self.launch();
        let mut is_short = false;
        for (thread, next) in ended.zip(&self.next) {
            let served = next.load(Ordering::Relaxed) - launch.first;
            let answered = thread.answered;
            self.wrong.fetch_add(thread.wrong, Ordering::Relaxed);
            // The call that failed was served, or not.
            let is_right = match launch.fault {
                Fault::None => served == messages && answered == messages,
                _ => served == answered || served == answered + 1,
            };
            if !is_right {
                self.lost
                    .fetch_add(served.abs_diff(answered).max(1), Ordering::Relaxed);
            }
            is_short |= answered < messages;
        }
        is_short
    }

    pub(super) fn totals(&self) -> Totals {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            calls: count(&self.calls),
            lost: count(&self.lost),
            doubled: count(&self.doubled),
            wrong: count(&self.wrong),
        }
    }

    fn launch(&self) -> std::sync::MutexGuard<'_, Launch> {
        self.launch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    /// Adds those of others.
    pub(super) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.wrong += other.wrong;
    }

    /// The calls with which something is wrong.
    pub(super) fn faults(&self) -> u64 {
        self.lost + self.doubled + self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ledger of a launch, whose only thread has sent messages of these numbers.
    fn after(numbers: &[u64]) -> Ledger {
        follow(Fault::None, numbers)
    }

    /// The same, after a launch with a fault.
    fn follow(fault: Fault, numbers: &[u64]) -> Ledger {
        let ledger = Ledger::new(1);
        ledger.begin(0, fault);
        ledger.begin(10, Fault::None);
        for &number in numbers {
            let mut words = [0; MAX_WORDS];
            let taken = ledger.take(0, number, message(0, number, &mut words));
            taken.expect("no fault");
        }
        ledger
    }

    fn faults(ledger: &Ledger) -> (u64, u64, u64) {
        let totals = ledger.totals();
        (totals.lost, totals.doubled, totals.wrong)
    }

    #[test]
    fn messages_that_are_missing_come_again_or_have_changed_are_counted() {
        assert_eq!(faults(&after(&[10, 11, 12])), (0, 0, 0));
        assert_eq!(faults(&after(&[10, 13])), (2, 0, 0));
        assert_eq!(faults(&after(&[10, 11, 10])), (0, 1, 0));
        let ledger = after(&[10]);
        let mut words = [0; MAX_WORDS];
        let words = message(0, 11, &mut words);
        words[0] += 1;
        ledger.take(0, 11, words).expect("no fault");
        assert_eq!(faults(&ledger), (0, 0, 1));
        // Of the launch before: it has ended, unless it was aborted.
        let ledger = follow(Fault::Abort(Arc::default()), &[9, 10]);
        assert_eq!((faults(&ledger), ledger.totals().calls), ((0, 0, 0), 1));
        assert_eq!(faults(&after(&[9, 10])), (0, 1, 0));
    }

    #[test]
    fn what_device_threads_have_seen_is_compared() {
        let ended = |answered, wrong| [Ended { answered, wrong }].into_iter();
        let ledger = after(&[10, 11]);
        assert!(!ledger.end(ended(2, 0), 2));
        assert_eq!(faults(&ledger), (0, 0, 0));
        assert!(ledger.end(ended(1, 0), 2), "it has made one call only");
        assert_eq!(faults(&ledger), (1, 0, 0));
        ledger.end(ended(2, 5), 2);
        assert_eq!(faults(&ledger), (1, 0, 5));
    }
}
