//! Where the kernels of an image have panicked, if they leave that for the host.

use shared_abi::image::PanicRecord as Layout;
use shared_abi::words::Coherent;

use crate::device::{Fault, MappedMemory};
use crate::wire::panic::place;

/// The record of a loaded image, which the host can read on a device that is lost.
pub(super) struct PanicRecord(MappedMemory);

impl PanicRecord {
    /// Bytes of mapped memory that one takes.
    pub(super) const BYTES: usize = size_of::<Layout>();

    /// The record in `memory`, which is zeroed and has [`BYTES`](Self::BYTES).
    pub(super) fn new(memory: MappedMemory) -> Self {
        Self(memory)
    }

    /// Its device address.
    pub(super) fn address(&self) -> u64 {
        self.0.device.0
    }

    /// The words about a fault, with the place of the panic before them if there was one.
    pub(super) fn explain(&self, fault: Fault) -> Fault {
        match self.place() {
            Some(place) => format!("panicked at {place}: {fault}").into(),
            None => fault,
        }
    }

    /// File, line and column of the first panic.
    fn place(&self) -> Option<String> {
        // SAFETY: the memory has the layout of a record and lives as long as `self`; the device
        // and others on the host use it as words, too.
        place(&unsafe { Coherent::new(self.0.host.as_ptr()) })
    }
}
