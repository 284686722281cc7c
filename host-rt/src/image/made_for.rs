//! What a code object says that it is for.

use targets::code_object;
use targets::device_arch::AmdTarget;

use super::{Format, Image};

impl Image {
    /// The processor that a code object is for, with what is fixed of its features, such as
    /// `gfx90a:xnack-`; `None` where it does not say, and of images of other formats.
    #[must_use]
    pub fn processor(&self) -> Option<AmdTarget> {
        match self.format {
            Format::CodeObject => code_object::read(&self.bytes).ok()?.target,
            _ => None,
        }
    }

    /// What the image is, in words: its format, and the processor that it is for.
    pub(crate) fn described(&self) -> String {
        match self.processor() {
            Some(processor) => format!("a code object for {processor}"),
            None => self.format.to_string(),
        }
    }
}
