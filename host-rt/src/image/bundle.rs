//! Bundles: files of several images, for different devices.

use std::sync::Arc;

use targets::DeviceArch;
use targets::choose::{Candidate, choose};
use targets::offload_binary::{self, Entry, ImageKind};

use super::{Format, Image, ImageError};

/// An image in a bundle.
#[derive(Clone, Debug)]
pub struct Member {
    /// Triple of what it is for.
    pub triple: String,
    /// Architecture that it is for; may be empty for a machine.
    pub arch: String,
    /// What it is.
    pub kind: ImageKind,
    /// The file and what it is there, as messages name it: `FILE (sm_70, ptx)`.
    name: String,
    bytes: Arc<[u8]>,
}

impl Member {
    fn new(file: &str, entry: &Entry<'_>) -> Self {
        let mut candidate = Candidate::from(entry);
        // LLVM's packer goes by the name of what it packs, and says nothing where
        // it does not know that.
        if candidate.kind == ImageKind::NONE {
            candidate.kind = Format::of(entry.image).map_or(ImageKind::NONE, Format::kind);
        }
        Self {
            triple: entry.triple.to_owned(),
            arch: entry.arch.to_owned(),
            kind: candidate.kind,
            name: format!("{file} ({candidate})"),
            bytes: entry.image.into(),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The image by itself.
    ///
    /// # Errors
    /// The bytes are no image that any device here loads.
    pub fn image(&self) -> Result<Image, ImageError> {
        Image::from_bytes(&*self.name, Arc::clone(&self.bytes))
    }

    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            triple: &self.triple,
            arch: &self.arch,
            kind: self.kind,
        }
    }
}

/// The members of the file called `name`, or why it is none.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Vec<Member>, String> {
    let entries =
        offload_binary::read(bytes).map_err(|e| format!("a broken file of several images: {e}"))?;
    Ok(entries
        .iter()
        .map(|entry| Member::new(name, entry))
        .collect())
}

impl Image {
    /// The images in here; none but in a [bundle](Format::Bundle).
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What a device of this architecture loads: of a bundle the image that
    /// suits it best, otherwise this one, which the device may still refuse.
    ///
    /// # Errors
    /// None of a bundle runs there, or the one that does is broken.
    pub fn for_device(&self, arch: &DeviceArch) -> Result<Self, ImageError> {
        match self.format {
            Format::Bundle => {}
            Format::LinkInputs => return self.inputs_for_device(arch),
            _ => return Ok(self.clone()),
        }
        let candidates: Vec<_> = self.members.iter().map(Member::candidate).collect();
        match choose(arch, &candidates) {
            Ok(index) => self.members[index].image(),
            Err(reason) => Err(ImageError::NoMember {
                name: self.name.to_string(),
                reason,
            }),
        }
    }
}
