//! Bundles: files of several images, for different devices.

use std::sync::Arc;

use targets::DeviceArch;
use targets::choose::{Candidate, choose};
use targets::offload_binary::{self, Entry, ImageKind};

use super::{Format, Image, ImageError, NoImage};

/// An image in a bundle.
#[derive(Clone, Debug)]
pub struct Member {
    /// The target triple.
    pub triple: String,
    /// The architecture; may be empty for a machine.
    pub arch: String,
    /// The kind of image.
    pub kind: ImageKind,
    /// The name in messages, with file and target: `FILE (sm_70, ptx)`.
    name: String,
    bytes: Arc<[u8]>,
}

impl Member {
    fn new(file: &str, entry: &Entry<'_>) -> Self {
        let mut candidate = Candidate::from(entry);
        // LLVM's packer derives the kind from the name of the input file, and leaves it out for
        // unknown names.
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

    /// The image of this member.
    ///
    /// # Errors
    /// No device of this crate can load the bytes.
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

/// The members of the file called `name`.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Vec<Member>, NoImage> {
    let entries = offload_binary::read(bytes).map_err(NoImage::Bundle)?;
    Ok(entries
        .iter()
        .map(|entry| Member::new(name, entry))
        .collect())
}

impl Image {
    /// The images of a [bundle](Format::Bundle); empty for other images.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The image to load on a device of this architecture: a bundle's best match, otherwise this
    /// image, which the device may still reject.
    ///
    /// # Errors
    /// None of a bundle's images runs there, or the one that does is broken.
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
