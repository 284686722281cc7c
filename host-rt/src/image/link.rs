//! Images that the device links, as C toolchains leave to the driver.

use targets::DeviceArch;

use super::contents::Contents;
use super::{Format, Image, ImageError, NoImage};

impl Image {
    /// An image that the device links from `inputs`, such as several PTX texts of which one defines
    /// symbols that another declares. `name` is its name in messages. It has the descriptions of
    /// all inputs.
    ///
    /// # Errors
    /// There are no inputs, or one is such an image itself.
    pub fn link(name: impl Into<String>, inputs: Vec<Self>) -> Result<Self, ImageError> {
        let name = name.into();
        let no_image = |reason| ImageError::NoImage {
            name: name.clone(),
            reason,
        };
        if inputs.is_empty() {
            return Err(no_image(NoImage::NoParts));
        }
        if let Some(input) = inputs
            .iter()
            .find(|input| input.format == Format::LinkInputs)
        {
            return Err(no_image(NoImage::NestedParts(input.name.to_string())));
        }
        let mut contents = Contents::default();
        for input in &inputs {
            let Contents {
                symbols,
                segments: _,
                entries,
                params,
                values,
            } = &*input.contents;
            // Several inputs may define a weak symbol; the linker takes one.
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
            format: Format::LinkInputs,
            contents: contents.into(),
            members: [].into(),
            inputs: inputs.into(),
        })
    }

    /// The images that the device links: the inputs, or this image alone.
    #[must_use]
    pub fn link_inputs(&self) -> &[Self] {
        match self.format {
            Format::LinkInputs => &self.inputs,
            _ => std::slice::from_ref(self),
        }
    }

    /// Whether only the driver can read the image, or one of its inputs.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.link_inputs()
            .iter()
            .any(|input| input.format == Format::Fatbin)
    }

    /// The inputs for a device, chosen from bundles.
    pub(super) fn inputs_for_device(&self, arch: &DeviceArch) -> Result<Self, ImageError> {
        let inputs: Result<_, _> = self
            .inputs
            .iter()
            .map(|input| input.for_device(arch))
            .collect();
        Self::link(&*self.name, inputs?)
    }
}
