//! Loading PTX.

use std::sync::Arc;

use ptx_emu::{LoadError, Machine, Part};
use targets::DeviceArch;

use crate::device::in_process::MAX_THREADS;
use crate::device::{DeviceAddr, DeviceError, Global, KernelLimits, Module};
use crate::image::{Format, Image, ImageError};

/// Resident device threads of a multiprocessor, as on hardware.
const RESIDENT: u32 = 2048;

/// A loaded image.
pub(super) struct EmuModule {
    pub(super) loaded: Arc<ptx_emu::Module>,
    processors: u32,
}

impl EmuModule {
    /// Loads `image`, or links its parts, on the device of this architecture, which messages call
    /// `device`.
    pub(super) fn load(
        machine: &Machine,
        device: &str,
        arch: &DeviceArch,
        image: &Image,
    ) -> Result<Arc<dyn Module>, ImageError> {
        let other_machine = |name: &str, found: String, wanted: String| ImageError::OtherMachine {
            name: name.to_owned(),
            found,
            device: device.to_owned(),
            wanted,
            arch: Box::new(arch.clone()),
        };
        let images = image.link_inputs();
        let mut parts = Vec::new();
        for part in images {
            if part.format() != Format::Ptx {
                return Err(other_machine(
                    part.name(),
                    part.described(),
                    "PTX".to_owned(),
                ));
            }
            let text = std::str::from_utf8(part.bytes()).map_err(|error| ImageError::Load {
                name: part.name().to_owned(),
                reason: error.to_string(),
            })?;
            let name = part.name();
            parts.push(Part { name, text });
        }
        let loaded = machine.load(&parts).map_err(|error| match error {
            LoadError::Newer { part, wanted, .. } => {
                let found = format!("PTX for sm_{wanted}");
                other_machine(&part, found, format!("PTX for {arch} or older"))
            }
            error => ImageError::Load {
                name: image.name().to_owned(),
                reason: error.to_string(),
            },
        })?;
        let processors = machine.options().processors;
        Ok(Arc::new(Self { loaded, processors }))
    }
}

impl Module for EmuModule {
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        Ok(self.loaded.global(name).map(|global| Global {
            address: DeviceAddr(global.address),
            size: global.bytes,
        }))
    }

    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        let address = self.loaded.function(name);
        Ok(address.map(|address| Global {
            address: DeviceAddr(address),
            size: 0,
        }))
    }

    fn limits(&self, _kernel: Global) -> Result<KernelLimits, DeviceError> {
        // The emulator has no limit of registers; this many are common.
        Ok(KernelLimits {
            block: MAX_THREADS,
            processor: RESIDENT,
            processors: self.processors,
            shared_bytes: self.loaded.shared_bytes(),
        })
    }
}
