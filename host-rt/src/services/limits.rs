//! [`ProgramLimits`].

use std::ops::RangeInclusive;

use std_calls::kernel;

use crate::runtime::{Builder, Runtime};

/// The resources of a program with `std`.
#[derive(Clone, Debug)]
pub struct ProgramLimits {
    /// The most threads that it has at a time, with that of `main`: one of
    /// [`THREAD_COUNTS`](Self::THREAD_COUNTS). Each is a team of its launch.
    pub threads: u32,
    /// The most device memory that its heap takes, in bytes. It grows as needed.
    pub heap: u64,
    /// The stack of each thread, in bytes: one of [`STACK_SIZES`](Self::STACK_SIZES).
    pub stack: u64,
    /// Whether the program counts what it allocates, and reports it when it ends.
    pub heap_statistics: bool,
}

impl Default for ProgramLimits {
    /// 8 threads, a heap of 256 MiB, stacks of 2 MiB, without statistics.
    fn default() -> Self {
        Self {
            threads: 8,
            heap: 256 << 20,
            stack: 2 << 20,
            heap_statistics: false,
        }
    }
}

impl ProgramLimits {
    /// The numbers of threads that a program can have.
    pub const THREAD_COUNTS: RangeInclusive<u32> = 1..=1 << 16;

    /// The sizes that a stack can have. The smallest has room for the report of an overflow.
    pub const STACK_SIZES: RangeInclusive<u64> = 2 * kernel::STACK_RESERVE..=1 << 30;

    /// A builder of a runtime for a program: all of its threads may wait in calls at the same time, and the
    /// device threads of `host` have its stacks. With another runtime, calls that wait may delay others, and
    /// stacks on `host` have the size that the runtime sets.
    pub fn runtime(&self, device: &str) -> Builder {
        let threads = self.threads.min(*Self::THREAD_COUNTS.end());
        Runtime::builder(device)
            .threads(threads as usize)
            .host_stack(self.stack_bytes())
    }

    /// The stack of each thread, as it is allocated.
    pub(super) fn stack_bytes(&self) -> u64 {
        let stack = self.stack.min(*Self::STACK_SIZES.end());
        stack.next_multiple_of(kernel::STACK_ALIGN)
    }
}
