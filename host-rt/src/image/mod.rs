//! Device images: reading their descriptions without loading them.

mod bundle;
mod contents;
mod elf;
mod error;
mod format;
mod link;
mod ptx;
mod target;

use std::path::Path;
use std::sync::Arc;

use shared_abi::gomp::REV_OFFLOAD_VAR;
use shared_abi::image::{
    FUNCTION_PREFIX, FunctionInfo, IMAGE_INFO, IMAGE_MAGIC, ImageInfo, KERNEL_PREFIX, KernelInfo,
    RUNTIME,
};
use shared_abi::print;
use shared_abi::wire::WireKind;
use targets::gcc::TARGET_EXT;

pub use self::bundle::Member;
use self::contents::Contents;
pub use self::contents::{Segment, Symbol};
pub use self::error::{ImageError, NoImage};
pub use self::format::Format;
pub(crate) use self::format::HOST_MACHINE;

/// A kernel, as an image declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDeclaration {
    /// Its name.
    pub name: String,
    /// Its parameters; `None` if the image only exports a function, or declares it in text of an
    /// unknown form.
    pub info: Option<KernelInfo>,
    /// The sizes of its parameters in bytes, from its code: in PTX, and in code objects that list
    /// them.
    pub sizes: Option<Vec<u64>>,
}

/// A host function, as an image declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// Its name.
    pub name: String,
    /// Hash of its signature; 0 if there is no declaration, or the image declares it in text of an
    /// unknown form.
    pub signature: u64,
}

/// A device image: its bytes and their contents. Cheap to clone.
///
/// A [bundle](Format::Bundle) only has [members](Self::members); a device loads [one of
/// them](Self::for_device).
#[derive(Clone, Debug)]
pub struct Image {
    name: Arc<str>,
    bytes: Arc<[u8]>,
    format: Format,
    contents: Arc<Contents>,
    members: Arc<[Member]>,
    /// The inputs of an image that the device links.
    inputs: Arc<[Self]>,
}

impl Image {
    /// Reads the image in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is no image.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImageError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|reason| ImageError::Unreadable {
            path: path.to_owned(),
            reason,
        })?;
        Self::from_bytes(path.display().to_string(), bytes)
    }

    /// The image in `bytes`; `name` is its name in messages.
    ///
    /// # Errors
    /// The bytes are not an image.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Result<Self, ImageError> {
        let (name, bytes) = (name.into(), bytes.into());
        let no_image = |reason| ImageError::NoImage {
            name: name.clone(),
            reason,
        };
        if bytes.is_empty() {
            return Err(no_image(NoImage::Empty));
        }
        let format = Format::of(&bytes).ok_or_else(|| no_image(NoImage::UnknownFormat))?;
        let (mut contents, mut members) = (Contents::default(), Vec::new());
        match format {
            Format::Ptx => contents = ptx::read(&bytes).map_err(no_image)?,
            Format::Bundle => members = bundle::read(&name, &bytes).map_err(no_image)?,
            Format::Fatbin => {}
            _ => contents = elf::read(&bytes, format).map_err(no_image)?,
        }
        Ok(Self {
            name: name.into(),
            bytes,
            format,
            contents: contents.into(),
            members: members.into(),
            inputs: [].into(),
        })
    }

    /// The file, or the name of the bytes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The format of the bytes.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The exported symbols.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.contents.symbols
    }

    /// The exported symbol `name`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.contents
            .symbols
            .iter()
            .find(|symbol| symbol.name == name)
    }

    /// The loaded parts.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.contents.segments
    }

    /// The image's description of itself; `None` for an image without `device-rt`.
    ///
    /// # Errors
    /// The symbol exists but has other contents.
    pub fn info(&self) -> Result<Option<ImageInfo>, ImageError> {
        let words = self.read_symbol(IMAGE_INFO)?;
        words.map(|words| self.info_from(&words)).transpose()
    }

    /// Parses the bytes of [`IMAGE_INFO`].
    pub(crate) fn info_from(
        &self,
        words: &[u8; size_of::<ImageInfo>()],
    ) -> Result<ImageInfo, ImageError> {
        let info = ImageInfo {
            magic: u64_at(words, 0),
            abi_version: u32_at(words, 8),
            wires: u32_at(words, 12),
        };
        if info.magic != IMAGE_MAGIC {
            return Err(self.bad_symbol(
                IMAGE_INFO,
                format!("starts with {:#018x}, not {IMAGE_MAGIC:#018x}", info.magic),
            ));
        }
        Ok(info)
    }

    /// Whether kernels of this image can call the host.
    #[must_use]
    pub fn has_reverse_offload(&self) -> bool {
        self.needs_wire() || self.has_launch_wires()
    }

    /// Whether its calls use the wire whose address the host writes into a variable of the image.
    pub(crate) fn needs_wire(&self) -> bool {
        self.symbol(RUNTIME).is_some() || self.symbol(REV_OFFLOAD_VAR).is_some()
    }

    /// Whether its calls use the queue in the arguments of each launch, as in GCC's code for AMD
    /// GPUs.
    fn has_launch_wires(&self) -> bool {
        self.format == Format::CodeObject && self.symbol(TARGET_EXT).is_some()
    }

    /// Which of GCC's wires an image that GCC linked supports; `None` if that cannot be determined:
    /// see [`targets::gcc::wire`].
    pub(crate) fn gcc_wire(&self) -> Option<WireKind> {
        let parts = self.link_inputs().iter();
        let texts = parts.filter(|part| part.format == Format::Ptx);
        targets::gcc::wire(texts.map(Self::bytes))
    }

    /// The kernels: the declared ones, or if there are no declarations the functions that a device
    /// can launch: the entries of PTX, cubins and code objects, and the exported functions of
    /// shared objects, without the runtime's.
    ///
    /// # Errors
    /// A declaration is invalid.
    pub fn kernels(&self) -> Result<Vec<KernelDeclaration>, ImageError> {
        let mut kernels = Vec::new();
        for symbol in &self.contents.symbols {
            let Some(name) = symbol.name.strip_prefix(KERNEL_PREFIX) else {
                continue;
            };
            let info = self
                .read_declaration::<{ size_of::<KernelInfo>() }>(&symbol.name)?
                .map(|words| Self::kernel_info(&words));
            kernels.push(KernelDeclaration {
                name: name.to_owned(),
                info,
                sizes: self.contents.params.get(name).cloned(),
            });
        }
        if kernels.is_empty() {
            kernels.extend(self.contents.entries.iter().map(|name| KernelDeclaration {
                name: name.clone(),
                info: None,
                sizes: self.contents.params.get(name).cloned(),
            }));
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kernels)
    }

    /// The bytes of a [`KernelInfo`].
    pub(crate) fn kernel_info(words: &[u8; size_of::<KernelInfo>()]) -> KernelInfo {
        KernelInfo {
            params: u32_at(words, 0),
            bytes: u32_at(words, 4),
            signature: u64_at(words, 8),
        }
    }

    /// The host functions that the image may call, besides those that every host provides.
    ///
    /// # Errors
    /// A declaration is invalid.
    pub fn functions(&self) -> Result<Vec<FunctionDeclaration>, ImageError> {
        let mut functions = Vec::new();
        for symbol in &self.contents.symbols {
            let Some(name) = symbol.name.strip_prefix(FUNCTION_PREFIX) else {
                continue;
            };
            if name == print::FUNCTION || log_calls::FUNCTIONS.contains(&name) {
                continue;
            }
            let signature = self
                .read_declaration::<{ size_of::<FunctionInfo>() }>(&symbol.name)?
                .map_or(0, |words| u64_at(&words, 0));
            functions.push(FunctionDeclaration {
                name: name.to_owned(),
                signature,
            });
        }
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(functions)
    }

    /// The names in a set of wires, as in [`ImageInfo::wires`].
    pub(crate) fn wire_names(wires: u32) -> String {
        let names: Vec<_> = WireKind::ALL
            .iter()
            .filter(|kind| wires & kind.bit() != 0)
            .filter_map(|kind| kind.name())
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// The first `N` bytes of the data symbol `name`.
    fn read_symbol<const N: usize>(&self, name: &str) -> Result<Option<[u8; N]>, ImageError> {
        let Some(symbol) = self.symbol(name) else {
            return Ok(None);
        };
        if symbol.size != N as u64 {
            return Err(self.bad_symbol(name, format!("has {} bytes, expected {N}", symbol.size)));
        }
        let value = self.contents.values.get(name);
        value
            .and_then(|value| value.as_slice().try_into().ok())
            .map(Some)
            .ok_or_else(|| self.bad_symbol(name, "has no plain bytes in the file".to_owned()))
    }

    /// Like [`read_symbol`](Self::read_symbol), for optional declarations: text may contain them in
    /// unknown forms.
    fn read_declaration<const N: usize>(&self, name: &str) -> Result<Option<[u8; N]>, ImageError> {
        let is_text = self
            .link_inputs()
            .iter()
            .any(|part| part.format == Format::Ptx);
        if is_text && !self.contents.values.contains_key(name) {
            return Ok(None);
        }
        self.read_symbol(name)
    }

    pub(crate) fn bad_symbol(&self, symbol: &str, reason: String) -> ImageError {
        ImageError::BadSymbol {
            name: self.name.to_string(),
            symbol: symbol.to_owned(),
            reason,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | (u64::from(u32_at(bytes, at + 4)) << 32)
}
