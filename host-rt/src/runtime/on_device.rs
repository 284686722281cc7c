//! The device copy of one range of host memory.

use revoff_fn::Argument;

use super::{DeviceBuffer, Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::{DeviceAddr, Fill, Queue};

/// Device memory for a range of host memory, freed when dropped.
pub(crate) struct OnDevice {
    range: AddrRange,
    /// Frees the memory when dropped.
    _buffer: DeviceBuffer,
    /// The device address of the first byte of `range`.
    address: DeviceAddr,
}

impl OnDevice {
    /// Allocates the memory for later operations in `queue`. The caller synchronizes `queue` before
    /// it drops the result.
    pub(super) fn new(
        runtime: &Runtime,
        queue: &mut dyn Queue,
        range: AddrRange,
        fill: Fill,
    ) -> Result<Self> {
        // The copy starts at the same offset from a boundary of `MAX_ALIGN` as the range does on
        // the host, so every part of it has the same alignment on both sides. Devices allocate at
        // such boundaries.
        let skew = (range.start() % Argument::MAX_ALIGN) as u64;
        let bytes = skew + range.len() as u64;
        let buffer = runtime.buffer(queue.alloc(bytes, fill)?, bytes);
        Ok(OnDevice {
            range,
            address: buffer.address() + skew,
            _buffer: buffer,
        })
    }

    /// The device address of the byte at host address `host`, which lies in the range.
    pub(crate) fn address_of(&self, host: usize) -> DeviceAddr {
        self.address + (host - self.range.start()) as u64
    }
}
