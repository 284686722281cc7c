//! Memory for the stacks of GCC's device threads: one for each warp, in device memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_rt::device::Fill;
use host_rt::{DeviceBuffer, Runtime};

/// Bytes of a thread's stack: as much as GCC's plugin gives.
pub(crate) const STACK: u64 = 128 << 10;

/// Most blocks that are kept: as many kernels as commonly run at a time.
const MOST_SPARE: usize = 8;

/// Blocks of stacks that no launch uses, for the next ones.
#[derive(Default)]
pub(crate) struct Stacks(Mutex<Vec<DeviceBuffer>>);

/// The stacks of a launch; go back when dropped.
pub(crate) struct LaunchStacks {
    stacks: Arc<Stacks>,
    /// Taken by the drop.
    block: Option<DeviceBuffer>,
}

impl Stacks {
    /// A list of blocks is whole whatever panics.
    fn lock(&self) -> MutexGuard<'_, Vec<DeviceBuffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stacks for `threads` threads.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn take(
        self: &Arc<Self>,
        runtime: &Runtime,
        threads: u64,
    ) -> host_rt::Result<LaunchStacks> {
        let bytes = threads * STACK;
        let spare = {
            let mut spare = self.lock();
            let fits = spare.iter().position(|block| block.bytes() >= bytes);
            fits.map(|at| spare.swap_remove(at))
        };
        let block = match spare {
            Some(block) => block,
            None => match runtime.alloc_filled(bytes, Fill::Any) {
                Ok(block) => block,
                // There may be room where the others were.
                Err(_) => {
                    self.clear();
                    runtime.alloc_filled(bytes, Fill::Any)?
                }
            },
        };
        Ok(LaunchStacks {
            stacks: Arc::clone(self),
            block: Some(block),
        })
    }

    /// Frees what no launch uses.
    pub(crate) fn clear(&self) {
        let unused = std::mem::take(&mut *self.lock());
        drop(unused);
    }
}

impl LaunchStacks {
    /// Device address of the first.
    pub(crate) fn address(&self) -> u64 {
        self.block.as_ref().map_or(0, DeviceBuffer::address)
    }
}

impl Drop for LaunchStacks {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let mut spare = self.stacks.lock();
            spare.push(block);
            if spare.len() > MOST_SPARE {
                let smallest = (0..spare.len()).min_by_key(|&at| spare[at].bytes());
                smallest.map(|at| spare.swap_remove(at));
            }
        }
    }
}
