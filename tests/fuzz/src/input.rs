//! Calls as bytes: records of one size, so that seeds can be written down, and a mutation changes one call and not all
//! that follow it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a call: its number, and operands.
pub(crate) const RECORD: usize = 10;

/// The operands of a call, each a byte.
pub(crate) struct Operands<'a>(std::slice::Iter<'a, u8>);

impl Operands<'_> {
    /// The next one; 0 after the last.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    /// One of these values.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// One of the first values, and rarely one of the others.
    pub(crate) fn mostly<T: Copy>(&mut self, usual: &[T], others: &[T]) -> T {
        let number = usize::from(self.byte());
        match number {
            0..240 => usual[number % usual.len()],
            _ => others[number % others.len()],
        }
    }

    /// Whether the next one is among the `count` largest: a rare choice.
    pub(crate) fn is_rare(&mut self, count: u8) -> bool {
        self.byte() > u8::MAX - count
    }
}

/// The first `most` calls: the number of each, and its operands.
pub(crate) fn calls(bytes: &[u8], most: usize) -> impl Iterator<Item = (u8, Operands<'_>)> {
    let records = bytes.chunks(RECORD).take(most);
    records.map(|record| (record[0], Operands(record[1..].iter())))
}

/// The bytes of a call.
pub(crate) fn record(number: u8, operands: &[u8]) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[0] = number;
    bytes[1..=operands.len()].copy_from_slice(operands);
    bytes
}

/// The bytes of a sequence of calls, to be mutated.
pub(crate) fn seed<Call: Copy + Into<u8>>(calls: &[(Call, &[u8])]) -> Vec<u8> {
    let records = calls
        .iter()
        .map(|&(call, operands)| record(call.into(), operands));
    records.flatten().collect()
}

/// Defines the enumeration `Call` of calls, whose operands choose their arguments.
macro_rules! calls_of {
    ($($call:ident)*) => {
        /// A call, whose operands choose what it is made with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Call { $($call),* }

        impl Call {
            /// All calls.
            pub(super) const ALL: [Self; [$(Self::$call),*].len()] = [$(Self::$call),*];
        }

        impl From<Call> for u8 {
            fn from(call: Call) -> Self {
                call as Self
            }
        }
    };
}
pub(crate) use calls_of;

/// Attempts in this process, and successes among them.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    tried: AtomicU64,
    succeeded: AtomicU64,
}

/// The numbers of a target: a fuzzer whose input is always rejected tests little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Attempts.
    pub tried: u64,
    /// Successful attempts.
    pub succeeded: u64,
}

impl Counter {
    pub(crate) const fn new() -> Self {
        Self {
            tried: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
        }
    }

    /// Counts something. Returns whether it has succeeded.
    pub(crate) fn count(&self, has_succeeded: bool) -> bool {
        // Relaxed, both: read when nothing is counted any more.
        self.tried.fetch_add(1, Ordering::Relaxed);
        self.succeeded
            .fetch_add(has_succeeded.into(), Ordering::Relaxed);
        has_succeeded
    }

    /// The numbers so far.
    pub(crate) fn tally(&self) -> Tally {
        Tally {
            tried: self.tried.load(Ordering::Relaxed),
            succeeded: self.succeeded.load(Ordering::Relaxed),
        }
    }
}
