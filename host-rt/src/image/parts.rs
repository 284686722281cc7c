//! Images that the device links to one: what C toolchains leave to the driver.

use targets::DeviceArch;

use super::contents::Contents;
use super::{Format, Image, ImageError};

impl Image {
    /// The image that the device links `parts` to, such as several PTX texts of which
    /// one defines what another declares; `name` stands for it in messages. What the
    /// parts say of themselves, this image says.
    ///
    /// # Errors
    /// There are no parts, or one has parts itself.
    pub fn link(name: impl Into<String>, parts: Vec<Self>) -> Result<Self, ImageError> {
        let name = name.into();
        let no_image = |reason: String| ImageError::NoImage {
            name: name.clone(),
            reason,
        };
        if parts.is_empty() {
            return Err(no_image("it has no parts".to_owned()));
        }
        if let Some(part) = parts.iter().find(|part| part.format == Format::Parts) {
            return Err(no_image(format!("its part {} has parts itself", part.name)));
        }
        let mut contents = Contents::default();
        for part in &parts {
            let Contents {
                symbols,
                segments: _,
                entries,
                params,
                values,
            } = &*part.contents;
            // What is weak may be in several parts; the linker takes one.
            for symbol in symbols {
                if !contents.symbols.iter().any(|s| s.name == symbol.name) {
                    contents.symbols.push(symbol.clone());
                }
            }
            for entry in entries {
                if !contents.entries.contains(entry) {
                    contents.entries.push(entry.clone());
                }
            }
            contents
                .params
                .extend(params.iter().map(|(k, v)| (k.clone(), v.clone())));
            contents
                .values
                .extend(values.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        Ok(Self {
            name: name.into(),
            bytes: [].into(),
            format: Format::Parts,
            contents: contents.into(),
            members: [].into(),
            parts: parts.into(),
        })
    }

    /// What the device links: the parts, or the image alone.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        match self.format {
            Format::Parts => &self.parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// Whether only the driver can say what is in the image, or in a part of it.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.parts()
            .iter()
            .any(|part| part.format == Format::Fatbin)
    }

    /// The parts that suit a device, of parts that are files of several.
    pub(super) fn parts_for_device(&self, arch: &DeviceArch) -> Result<Self, ImageError> {
        let parts: Result<_, _> = self
            .parts
            .iter()
            .map(|part| part.for_device(arch))
            .collect();
        Self::link(&*self.name, parts?)
    }
}
