//! An image on its device.

use std::sync::{Arc, Mutex};

use super::Inner;
use super::panic_record::PanicRecord;
use crate::base::lock::lock;
use crate::device::Module;
use crate::image::{Image, KernelDeclaration};
use crate::wire::Reservation;

/// An image on its device, which its programs, kernels and launches share.
pub(super) struct LoadedProgram {
    pub(super) runtime: Arc<Inner>,
    /// The image's variables that only the host writes. Declared before `module`, so that they are
    /// dropped first: another module may later be loaded at the same addresses.
    pub(super) _variables: Vec<Reservation>,
    pub(super) module: Arc<dyn Module>,
    pub(super) image: Image,
    pub(super) kernels: Vec<KernelDeclaration>,
    /// The function words of this image.
    pub(super) words: Mutex<Vec<u64>>,
    pub(super) panic_record: Option<PanicRecord>,
    pub(super) calls_host: bool,
}

impl Drop for LoadedProgram {
    fn drop(&mut self) {
        self.runtime.server.change_functions(|table| {
            for &word in &*lock(&self.words) {
                table.remove(word);
            }
        });
    }
}
