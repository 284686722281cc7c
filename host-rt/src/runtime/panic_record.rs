//! The record in which kernels of an image leave the source location of a panic.

use shared_abi::image::PanicRecord as Layout;
use shared_abi::words::Coherent;

use crate::device::{Fault, MappedMemory};
use crate::wire::panic::place;

/// The record of a loaded image. It lies in mapped memory, so that the host can read it even if the
/// device is lost.
pub(super) struct PanicRecord(MappedMemory);

impl PanicRecord {
    /// The size of a record.
    pub(super) const BYTES: usize = size_of::<Layout>();

    /// The record in `memory`, which is zeroed and [`BYTES`](Self::BYTES) long.
    pub(super) fn new(memory: MappedMemory) -> Self {
        Self(memory)
    }

    /// Its device address.
    pub(super) fn address(&self) -> u64 {
        self.0.device.0
    }

    /// The message of a fault, with the location of the panic before it if there was one.
    pub(super) fn explain(&self, fault: Fault) -> Fault {
        match self.place() {
            Some(place) => fault.in_context(&format!("panicked at {place}")),
            None => fault,
        }
    }

    /// File, line and column of the first panic.
    fn place(&self) -> Option<String> {
        // SAFETY: the memory has the size and alignment of a record and lives as long as `self`.
        // The device and other host threads access it only as words, too.
        place(&unsafe { Coherent::new(self.0.host.as_ptr()) })
    }
}
