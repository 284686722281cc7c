//! The kinds of calls.

use bench_calls::{EMPTY, LARGE, TOFROM, TYPED, WORK};

/// A kind of call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    /// The kernels' number for it.
    pub(super) what: u32,
    /// Bytes that are passed each way.
    pub(super) bytes: u32,
}

/// The kinds of calls.
pub(crate) const CALLS: [Call; 5] = [
    // A function that takes nothing and does nothing, as OpenMP's `target
    // device(ancestor:1)` without clauses calls it.
    Call::new("empty", EMPTY, 0),
    // The same by way of `host-fn`, which maps a result to tell whether the call was
    // served.
    Call::new("typed", TYPED, 0),
    // With bytes on the device thread's stack, both ways.
    Call::new("tofrom-64", TOFROM, 64),
    Call::new("tofrom-4096", LARGE, 4096),
    // A function that runs for 10 us.
    Call::new("work-10us", WORK, 0),
];

impl Call {
    /// Whether its function takes some of the host's time.
    pub(super) fn waits(&self) -> bool {
        self.what == WORK
    }

    const fn new(name: &'static str, what: u32, bytes: u32) -> Self {
        Self { name, what, bytes }
    }
}
