//! The copy of one range of host memory.

use host_fn::Argument;

use super::{DeviceBuffer, Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::{Fill, Queue};

/// Device memory for a range of host memory, freed when dropped.
pub(crate) struct OnDevice {
    range: AddrRange,
    /// Keeps the memory.
    _buffer: DeviceBuffer,
    /// Where the range begins.
    address: u64,
}

impl OnDevice {
    /// Allocates it for what follows in `queue`, which is waited for before it is dropped.
    pub(super) fn new(
        runtime: &Runtime,
        queue: &mut dyn Queue,
        range: AddrRange,
        fill: Fill,
    ) -> Result<Self> {
        // What is aligned on the host is aligned on the device, wherever in the range it
        // lies: the range begins as far from a boundary there as here. Devices allocate
        // at such boundaries.
        let skew = (range.start() % Argument::MAX_ALIGN) as u64;
        let bytes = skew + range.len() as u64;
        let buffer = runtime.buffer(queue.alloc(bytes, fill)?, bytes);
        Ok(OnDevice {
            range,
            address: buffer.address() + skew,
            _buffer: buffer,
        })
    }

    /// The device address of the byte whose host address is `host`, which lies in the
    /// range.
    pub(crate) fn address_of(&self, host: usize) -> u64 {
        self.address + (host - self.range.start()) as u64
    }
}
