//! The processor of an image.

use targets::code_object;
use targets::ptx::Tokens;

use super::{Format, Image};

impl Image {
    /// The processor of a code object or PTX: `gfx90a:xnack-`, with its fixed features; `sm_70`,
    /// the oldest GPU that runs the text. `None` if the image does not have it, and for images of
    /// other formats.
    #[must_use]
    pub fn processor(&self) -> Option<String> {
        match self.format {
            Format::CodeObject => Some(code_object::read(&self.bytes).ok()?.target?.to_string()),
            Format::Ptx => {
                let target = Tokens::of(&self.bytes)
                    .skip_while(|token| *token != b".target")
                    .nth(1)?;
                Some(str::from_utf8(target).ok()?.to_owned())
            }
            _ => None,
        }
    }

    /// A description of the image: its format, and its processor.
    pub(crate) fn described(&self) -> String {
        match (self.format, self.processor()) {
            (Format::Ptx, Some(processor)) => format!("PTX for {processor}"),
            (_, Some(processor)) => format!("a code object for {processor}"),
            (_, None) => self.format.to_string(),
        }
    }
}
