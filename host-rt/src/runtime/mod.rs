//! The public face: a runtime on a device, programs, kernels, launches, memory.

mod buffer;
mod builder;
mod connect;
mod launch;
mod program;

use std::sync::Arc;

use shared_abi::image::FUNCTION_PREFIX;
use shared_abi::wire::WireKind;
use zerocopy::{Immutable, IntoBytes};

pub use self::buffer::DeviceBuffer;
pub use self::builder::Builder;
pub use self::launch::{Launch, Report};
use self::program::ProgramInner;
pub use self::program::{Kernel, KernelArg, Program};
use crate::device::{Device, MemoryInfo};
use crate::error::{Error, ImageError, Result};
use crate::functions::Functions;
use crate::image::Image;
use crate::map::PresentTable;
use crate::serve::{Server, Waiting};

/// The wire called `name`.
///
/// # Errors
/// There is none of that name.
pub fn wire_by_name(name: &str) -> Result<WireKind> {
    WireKind::ALL
        .into_iter()
        .find(|kind| kind.name() == Some(name))
        .ok_or_else(|| Error::NoWire {
            name: name.to_owned(),
        })
}

/// A device, with the threads and wires by which its kernels call the host.
///
/// Cheap to clone; all clones are the same runtime. It ends with the last clone,
/// program, launch or buffer.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    device: Arc<dyn Device>,
    server: Arc<Server>,
    wire: Option<WireKind>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.server.stop();
    }
}

/// What a runtime has allocated for calls to the host, in bytes; bounded however
/// many kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Mapped memory: wires, bounce area, bell.
    pub mapped: u64,
    /// Device memory: claims.
    pub device: u64,
    /// Most threads.
    pub threads: usize,
}

impl Runtime {
    /// A runtime on the device called `device`, as the environment has it.
    ///
    /// # Errors
    /// As for [`Builder::build`].
    pub fn open(device: &str) -> Result<Self> {
        Self::builder(device).build()
    }

    /// Begins to describe a runtime on the device called `device`.
    pub fn builder(device: &str) -> Builder {
        Builder {
            device: device.to_owned(),
            wire: None,
            threads: None,
            slots: None,
            bounce_bytes: None,
            waiting: Waiting::Adaptive,
            first_turn: 0,
        }
    }

    /// What the device is made of, in a few words.
    #[must_use]
    pub fn description(&self) -> String {
        self.inner.device.description()
    }

    /// The device's memory.
    #[must_use]
    pub fn memory(&self) -> MemoryInfo {
        self.inner.device.memory()
    }

    /// What calls to the host cost in memory and threads at most, with one wire.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.inner
            .server
            .cost(self.inner.wire.unwrap_or(WireKind::NATIVE))
    }

    /// Calls from kernels served so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.inner.server.requests()
    }

    /// Threads that serve calls, as many as there are now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.inner.server.threads()
    }

    /// Host data that has a copy on the device: arguments in that copy reach the
    /// host function as the original.
    #[must_use]
    pub fn present(&self) -> &PresentTable {
        &self.inner.server.present
    }

    /// Refuses all further calls of kernels with
    /// [`SHUTTING_DOWN`](shared_abi::status::Status::SHUTTING_DOWN).
    pub fn shut_down(&self) {
        self.inner.server.refuse();
    }

    /// Allocates zeroed device memory.
    ///
    /// # Errors
    /// There is not that much.
    pub fn alloc(&self, bytes: u64) -> Result<DeviceBuffer> {
        let address = self.inner.device.alloc(bytes)?;
        Ok(DeviceBuffer {
            inner: Arc::clone(&self.inner),
            address,
            bytes,
        })
    }

    /// Allocates device memory and copies `data` there.
    ///
    /// # Errors
    /// There is not that much.
    pub fn alloc_from<T: IntoBytes + Immutable>(&self, data: &[T]) -> Result<DeviceBuffer> {
        let buffer = self.alloc(size_of_val(data) as u64)?;
        buffer.write(0, data)?;
        Ok(buffer)
    }

    /// Loads `image`, whose kernels may call `functions`.
    ///
    /// # Errors
    /// The image is not for this device or this host, or disagrees with
    /// `functions` about a signature.
    pub fn load(&self, image: &Image, functions: &Functions) -> Result<Program> {
        let info = image.info()?;
        if let Some(info) = info
            && info.abi_version != shared_abi::ABI_VERSION
        {
            return Err(ImageError::OtherAbi {
                name: image.name().to_owned(),
                image: info.abi_version,
                host: shared_abi::ABI_VERSION,
            }
            .into());
        }
        let kind = self.choose_wire(image, info.map(|info| info.wires))?;
        let declared = image.functions()?;
        for entry in functions.iter() {
            let theirs = declared
                .iter()
                .find(|f| f.name == entry.name())
                .map_or(0, |f| f.signature);
            if theirs != 0 && entry.signature() != 0 && theirs != entry.signature() {
                return Err(ImageError::OtherSignature {
                    name: image.name().to_owned(),
                    function: entry.name().to_owned(),
                    image: theirs,
                    host: entry.signature(),
                }
                .into());
            }
        }
        let kernels = image.kernels()?;
        let module = self.inner.device.load(image)?;
        let server = &self.inner.server;
        if let Some(kind) = kind {
            connect::connect(&self.inner, image, &*module, kind)?;
        }
        let mut words = Vec::new();
        server.change_functions(|table| {
            let mut insert = |symbol: &str, name: &str, entry| {
                if let Some(global) = module.global(symbol) {
                    table.insert(global.address, name, entry);
                    words.push(global.address);
                }
            };
            for function in &declared {
                insert(
                    &format!("{FUNCTION_PREFIX}{}", function.name),
                    &function.name,
                    None,
                );
            }
            for entry in functions.iter() {
                let symbol = format!("{FUNCTION_PREFIX}{}", entry.name());
                insert(&symbol, entry.name(), Some(entry));
            }
        });
        Ok(Program {
            inner: Arc::new(ProgramInner {
                runtime: Arc::clone(&self.inner),
                module,
                image: image.clone(),
                kernels,
                words,
                calls_host: kind.is_some(),
            }),
        })
    }

    /// The wire for `image`, which can speak the set `wires` if it says so; `None`
    /// if it has no reverse offload.
    fn choose_wire(&self, image: &Image, wires: Option<u32>) -> Result<Option<WireKind>> {
        if !image.has_reverse_offload() {
            return Ok(None);
        }
        // An image that says nothing is one of GCC's; which of the two wires it
        // speaks cannot be seen. Mainline's is the first.
        let (wires, default) = match wires {
            Some(wires) => (wires, WireKind::NATIVE),
            None => (
                WireKind::GCC_SLOT.bit() | WireKind::GCC_RING.bit(),
                WireKind::GCC_SLOT,
            ),
        };
        let kind = self.inner.wire.unwrap_or(default);
        if wires & kind.bit() == 0 {
            return Err(ImageError::NoWire {
                name: image.name().to_owned(),
                wire: kind.name().unwrap_or("unknown").to_owned(),
                speaks: Image::wire_names(wires),
            }
            .into());
        }
        Ok(Some(kind))
    }
}
