//! Device images: reading what they say of themselves, without loading them.

use std::path::Path;
use std::sync::Arc;

use object::{Object, ObjectKind, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use shared_abi::image::{
    FUNCTION_PREFIX, FunctionInfo, IMAGE_INFO, IMAGE_MAGIC, ImageInfo, KERNEL_PREFIX, KernelInfo,
    RUNTIME,
};
use shared_abi::wire::WireKind;

use crate::error::ImageError;

/// What the bytes of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A shared object for the machine with this ELF number.
    SharedObject(u16),
    /// PTX text, for an NVIDIA GPU.
    Ptx,
    /// A cubin, for an NVIDIA GPU.
    Cubin,
    /// A code object, for an AMD GPU.
    CodeObject,
}

/// ELF's number for the machine that this code runs on.
pub(crate) const HOST_MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    object::elf::EM_X86_64.0
} else if cfg!(target_arch = "aarch64") {
    object::elf::EM_AARCH64.0
} else {
    object::elf::EM_NONE.0
};

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::SharedObject(machine) => match object::elf::Machine(machine) {
                object::elf::EM_X86_64 => f.write_str("a shared object for x86-64"),
                object::elf::EM_AARCH64 => f.write_str("a shared object for AArch64"),
                _ => write!(f, "a shared object for ELF machine {machine}"),
            },
            Self::Ptx => f.write_str("PTX for an NVIDIA GPU"),
            Self::Cubin => f.write_str("a cubin for an NVIDIA GPU"),
            Self::CodeObject => f.write_str("a code object for an AMD GPU"),
        }
    }
}

/// A symbol that an image exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address in the image, before loading.
    pub address: u64,
    /// Its size in bytes; 0 where the image does not tell.
    pub size: u64,
    /// Whether it is code.
    pub is_code: bool,
}

/// A part of an image that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its address in the image, before loading.
    pub address: u64,
    /// Its size in memory.
    pub size: u64,
    /// Whether the program may write it.
    pub writable: bool,
}

/// A kernel, as an image declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDeclaration {
    /// Its name.
    pub name: String,
    /// Its parameters; `None` where the image only exports a function.
    pub info: Option<KernelInfo>,
}

/// A host function, as an image declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// Its name.
    pub name: String,
    /// Hash of its signature; 0 where there is no declaration.
    pub signature: u64,
}

/// A device image: bytes, and what stands in them.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    bytes: Arc<[u8]>,
    format: Format,
    symbols: Vec<Symbol>,
    segments: Vec<Segment>,
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

    /// The image in `bytes`; `name` stands for it in messages.
    ///
    /// # Errors
    /// The bytes are no image.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Result<Self, ImageError> {
        let (name, bytes) = (name.into(), bytes.into());
        let no_image = |reason: String| ImageError::NoImage {
            name: name.clone(),
            reason,
        };
        if bytes.is_empty() {
            return Err(no_image(
                "it is empty (as build scripts leave it where REVOFF_IMAGE_BUILD_SKIP is set)"
                    .to_owned(),
            ));
        }
        if is_ptx(&bytes) {
            return Ok(Self {
                name,
                bytes,
                format: Format::Ptx,
                symbols: vec![],
                segments: vec![],
            });
        }
        if !bytes.starts_with(b"\x7fELF") {
            return Err(no_image("neither ELF nor PTX".to_owned()));
        }
        let file =
            object::File::parse(&*bytes).map_err(|e| no_image(format!("broken ELF: {e}")))?;
        if !file.is_64() || !file.is_little_endian() {
            return Err(no_image("not a 64-bit little-endian ELF file".to_owned()));
        }
        let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
        let format = match object::elf::Machine(machine) {
            object::elf::EM_CUDA => Format::Cubin,
            object::elf::EM_AMDGPU => Format::CodeObject,
            _ if file.kind() == ObjectKind::Dynamic => Format::SharedObject(machine),
            _ => {
                return Err(no_image(format!(
                    "ELF, but not a shared object ({:?}, machine {machine})",
                    file.kind()
                )));
            }
        };
        let symbols = file
            .dynamic_symbols()
            .filter(|symbol| symbol.is_definition())
            .filter_map(|symbol| {
                Some(Symbol {
                    name: symbol.name().ok()?.to_owned(),
                    address: symbol.address(),
                    size: symbol.size(),
                    is_code: symbol.kind() == SymbolKind::Text,
                })
            })
            .collect();
        let segments = file
            .segments()
            .map(|segment| Segment {
                address: segment.address(),
                size: segment.size(),
                writable: matches!(
                    segment.flags(),
                    SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_W.0 != 0
                ),
            })
            .collect();
        Ok(Self {
            name,
            bytes,
            format,
            symbols,
            segments,
        })
    }

    /// The file, or what the bytes were called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the bytes are.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The exported symbols.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The exported symbol `name`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// The loaded parts.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// What the image says of itself; `None` for an image without `device-rt`.
    ///
    /// # Errors
    /// The symbol is there but holds something else.
    pub fn info(&self) -> Result<Option<ImageInfo>, ImageError> {
        let Some(words) = self.read_symbol::<{ size_of::<ImageInfo>() }>(IMAGE_INFO)? else {
            return Ok(None);
        };
        let info = ImageInfo {
            magic: u64_at(&words, 0),
            abi_version: u32_at(&words, 8),
            wires: u32_at(&words, 12),
        };
        if info.magic != IMAGE_MAGIC {
            return Err(self.bad_symbol(
                IMAGE_INFO,
                format!("starts with {:#018x}, not {IMAGE_MAGIC:#018x}", info.magic),
            ));
        }
        Ok(Some(info))
    }

    /// Whether kernels of this image can call the host.
    #[must_use]
    pub fn has_reverse_offload(&self) -> bool {
        self.symbol(RUNTIME).is_some() || self.symbol(shared_abi::gomp::REV_OFFLOAD_VAR).is_some()
    }

    /// The kernels: the declared ones, or where nothing is declared, the exported
    /// functions that are not the runtime's.
    ///
    /// # Errors
    /// A declaration is not what it should be.
    pub fn kernels(&self) -> Result<Vec<KernelDeclaration>, ImageError> {
        let mut kernels = Vec::new();
        for symbol in &self.symbols {
            let Some(name) = symbol.name.strip_prefix(KERNEL_PREFIX) else {
                continue;
            };
            let info = self
                .read_symbol::<{ size_of::<KernelInfo>() }>(&symbol.name)?
                .map(|words| KernelInfo {
                    params: u32_at(&words, 0),
                    bytes: u32_at(&words, 4),
                    signature: u64_at(&words, 8),
                });
            kernels.push(KernelDeclaration {
                name: name.to_owned(),
                info,
            });
        }
        if kernels.is_empty() {
            kernels.extend(
                self.symbols
                    .iter()
                    .filter(|s| s.is_code && !is_runtime_symbol(&s.name))
                    .map(|s| KernelDeclaration {
                        name: s.name.clone(),
                        info: None,
                    }),
            );
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kernels)
    }

    /// The host functions that the image may call.
    ///
    /// # Errors
    /// A declaration is not what it should be.
    pub fn functions(&self) -> Result<Vec<FunctionDeclaration>, ImageError> {
        let mut functions = Vec::new();
        for symbol in &self.symbols {
            let Some(name) = symbol.name.strip_prefix(FUNCTION_PREFIX) else {
                continue;
            };
            let signature = self
                .read_symbol::<{ size_of::<FunctionInfo>() }>(&symbol.name)?
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
        let file = object::File::parse(&*self.bytes)
            .map_err(|e| self.bad_symbol(name, format!("cannot be read: {e}")))?;
        let data = file
            .segments()
            .find_map(|segment| segment.data_range(symbol.address, N as u64).ok().flatten())
            .and_then(|data| data.try_into().ok());
        data.map(Some)
            .ok_or_else(|| self.bad_symbol(name, "has no bytes in the file".to_owned()))
    }

    fn bad_symbol(&self, symbol: &str, reason: String) -> ImageError {
        ImageError::BadSymbol {
            name: self.name.clone(),
            symbol: symbol.to_owned(),
            reason,
        }
    }
}

fn is_ptx(bytes: &[u8]) -> bool {
    // Comments and blank lines may come first; `.version` is the first directive.
    let head = &bytes[..bytes.len().min(4096)];
    head.split(|&b| b == b'\n')
        .map(|line| line.trim_ascii())
        .find(|line| !line.is_empty() && !line.starts_with(b"//"))
        .is_some_and(|line| line.starts_with(b".version"))
}

fn is_runtime_symbol(name: &str) -> bool {
    name.starts_with('_')
        || name.starts_with("revoff_")
        || name.starts_with("GOMP_")
        || name.starts_with("rust_")
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | (u64::from(u32_at(bytes, at + 4)) << 32)
}
