//! Memory for launches, such as the stacks of GCC's device threads: blocks in device memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_rt::device::Fill;
use host_rt::{DeviceBuffer, Runtime};

/// Most blocks that are kept: as many kernels as commonly run at a time.
const MOST_SPARE: usize = 8;

/// Blocks that no launch uses, for the next ones.
#[derive(Default)]
pub struct Spare(Mutex<Vec<DeviceBuffer>>);

/// The block of a launch; goes back when dropped.
pub struct Lent {
    spare: Arc<Spare>,
    /// Taken by the drop.
    block: Option<DeviceBuffer>,
}

impl Spare {
    /// A list of blocks is whole whatever panics.
    fn lock(&self) -> MutexGuard<'_, Vec<DeviceBuffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `bytes` bytes, with whatever was in it.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn take(self: &Arc<Self>, runtime: &Runtime, bytes: u64) -> host_rt::Result<Lent> {
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
        Ok(Lent {
            spare: Arc::clone(self),
            block: Some(block),
        })
    }

    /// Frees what no launch uses.
    pub(crate) fn clear(&self) {
        let unused = std::mem::take(&mut *self.lock());
        drop(unused);
    }
}

impl Lent {
    /// Its device address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.block.as_ref().map_or(0, DeviceBuffer::address)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let mut spare = self.spare.lock();
            spare.push(block);
            if spare.len() > MOST_SPARE {
                let smallest = (0..spare.len()).min_by_key(|&at| spare[at].bytes());
                smallest.map(|at| spare.swap_remove(at));
            }
        }
    }
}
