//! Loaded code: a code object that represents a shared object, or a compiler's own.

use std::sync::Arc;

use host_rt::Image;
use host_rt::device::{Device, Global, Module};
use targets::code_object::{self, Kernel};

use crate::image;
use crate::placed::{Placed, Refused};
use crate::simulated;

/// Loaded code.
pub(crate) enum Content {
    /// A shared object of the `host` device.
    Host {
        module: Arc<dyn Module>,
        image: Image,
        /// The exports of the code object, besides kernels.
        data: Vec<String>,
    },
    /// A compiler's code object.
    Placed(Arc<Placed>),
}

/// The target of a kernel's object. Sizes are in bytes.
pub(crate) struct KernelObject {
    /// The symbol of its descriptor.
    pub(crate) symbol: String,
    pub(crate) kernarg: u32,
    pub(crate) private: u32,
    pub(crate) group: u32,
    pub(crate) code: Code,
}

/// The code of a kernel.
pub(crate) enum Code {
    Host(HostCode),
    Simulated(simulated::Kernel),
}

/// A kernel of a shared object.
pub(crate) struct HostCode {
    pub(crate) module: Arc<dyn Module>,
    pub(crate) kernel: Global,
    pub(crate) layout: Kernel,
}

/// Bytes of arguments that GCC's device code reads, which its descriptor does not declare:
/// libgomp's `struct kernargs_abi`.
const GCC_ARGUMENTS: usize = 56;

impl KernelObject {
    /// The number of bytes of arguments that it reads.
    pub(crate) fn reads(&self) -> usize {
        match self.code {
            Code::Host(_) => self.kernarg as usize,
            Code::Simulated(_) => GCC_ARGUMENTS,
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.symbol.strip_suffix(".kd").unwrap_or(&self.symbol)
    }
}

impl Content {
    /// Loads a code object, and returns its kernels.
    pub(crate) fn load(
        device: &Arc<dyn Device>,
        bytes: &[u8],
    ) -> Result<(Self, Vec<KernelObject>), Refused> {
        match image::path(bytes) {
            Some(path) => {
                let image = Image::open(path).map_err(|error| error.to_string());
                let loaded = image.and_then(|image| Self::host(device, bytes, image));
                loaded.map_err(Refused::Broken)
            }
            None => Ok(Self::placed(Placed::new(device, bytes)?)),
        }
    }

    fn host(
        device: &Arc<dyn Device>,
        bytes: &[u8],
        image: Image,
    ) -> Result<(Self, Vec<KernelObject>), String> {
        let said = code_object::read(bytes).map_err(|error| error.to_string())?;
        let exports = Image::from_bytes("it", bytes).map_err(|e| e.to_string())?;
        let module = device.load(&image).map_err(|e| e.to_string())?;
        let kernels = said.kernels.into_iter().map(|layout| {
            let kernel = module.kernel(&layout.name).ok().flatten();
            Ok(KernelObject {
                symbol: layout.symbol.clone(),
                kernarg: layout.kernarg_size,
                private: 0,
                group: 0,
                code: Code::Host(HostCode {
                    kernel: kernel.ok_or_else(|| format!("no code `{}`", layout.name))?,
                    module: Arc::clone(&module),
                    layout,
                }),
            })
        });
        let kernels = kernels.collect::<Result<_, String>>()?;
        let data = exports.symbols().iter().map(|symbol| symbol.name.clone());
        let content = Self::Host {
            data: data.collect(),
            module,
            image,
        };
        Ok((content, kernels))
    }

    fn placed(placed: Placed) -> (Self, Vec<KernelObject>) {
        let placed = Arc::new(placed);
        let kernels = placed.kernels.iter().map(|descriptor| KernelObject {
            symbol: format!("{}.kd", descriptor.name),
            kernarg: descriptor.kernarg,
            private: descriptor.private,
            group: descriptor.group,
            code: Code::Simulated(simulated::Kernel {
                image: Arc::clone(&placed),
                descriptor: descriptor.clone(),
            }),
        });
        let kernels = kernels.collect();
        (Self::Placed(placed), kernels)
    }

    /// Starts and sizes of its parts in the GPU's memory.
    pub(crate) fn segments(&self) -> Vec<(u64, u64)> {
        let (module, image) = match self {
            Self::Placed(placed) => return placed.segments.clone(),
            Self::Host { module, image, .. } => (module, image),
        };
        // The offset of addresses in the image.
        let base = image.symbols().iter().find_map(|symbol| {
            let global = module.global(&symbol.name).ok()??;
            Some(global.address.0.wrapping_sub(symbol.address))
        });
        let segments = image.segments().iter();
        segments
            .filter(|segment| segment.writable)
            .filter_map(|segment| Some((base?.wrapping_add(segment.address), segment.size)))
            .collect()
    }

    /// An exported variable.
    pub(crate) fn variable(&self, name: &str) -> Option<Global> {
        match self {
            Self::Placed(placed) => placed.variable(name),
            Self::Host { module, data, .. } => {
                let is_there = data.iter().any(|known| known == name);
                is_there.then(|| module.global(name).ok().flatten())?
            }
        }
    }
}
