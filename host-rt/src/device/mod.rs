//! Devices: where kernels run.
//!
//! [`Device`] is the interface to the rest of this crate. Each kind is one folder, here or in
//! `in_process`, and one line in [`KINDS`].

mod auto;
mod bounds;
mod cuda;
mod error;
mod gpu;
mod grid;
mod hsa;
mod in_process;
mod inline;
mod loader;
mod memory;
mod module;
mod options;
mod params;
mod queue;
mod traced;
mod traits;

use std::sync::Arc;

use self::auto::AUTO;
pub use self::auto::resolve;
pub use self::error::{DeviceError, DriverFailure, Fault, LossReason, Outcome};
pub use self::grid::{Axis, BlockShape, Grid};
use self::in_process::host;
pub use self::inline::{Caller, InlineCall, InlineLaunch};
pub use self::memory::{Fill, MappedMemory, MemoryInfo, MemoryKind};
pub use self::module::{Global, KernelLimits, Module};
pub(crate) use self::options::OpenOptions;
pub use self::options::Trace;
pub use self::params::Params;
pub use self::queue::{Event, EventState, LaunchContext, Queue, Running};
pub use self::traits::Device;
pub use crate::base::addr::DeviceAddr;
use crate::base::env::Env;

/// A kind of device: its names, a description, and how to open it.
pub struct Kind {
    /// The name, or its part before a colon and a number.
    pub name: &'static str,
    /// One line for `revoff devices`.
    pub about: &'static str,
    /// Whether its threads can be observed: traced, and their accesses counted.
    observes: bool,
    found: Found,
}

/// How to find the devices of a kind.
enum Found {
    /// There is one, with the kind's name.
    One(Open),
    /// There is one of any architecture, whose name may follow a colon.
    OfArch(OpenOfArch),
    /// The first function counts the devices; the second opens one of them.
    Numbered(Count, OpenNumbered),
}

type Open = fn(&OpenOptions<'_>) -> Result<Arc<dyn Device>, DeviceError>;
type OpenOfArch = fn(Option<&str>, &OpenOptions<'_>) -> Result<Arc<dyn Device>, DeviceError>;
type Count = fn() -> Result<u32, DeviceError>;
type OpenNumbered = fn(u32, &OpenOptions<'_>) -> Result<Arc<dyn Device>, DeviceError>;

/// The kinds of devices in this build.
pub const KINDS: [Kind; 4] = [
    Kind {
        name: "host",
        about: "threads of this process, always there",
        observes: false,
        found: Found::One(host::open),
    },
    Kind {
        name: "emu",
        about: "GPUs emulated, always there: `emu:sm_60` is an NVIDIA `sm_60`, `emu:gfx90a` an AMD `gfx90a`",
        observes: true,
        found: Found::OfArch(open_emulated),
    },
    Kind {
        name: "cuda",
        about: "NVIDIA GPUs, by NVIDIA's driver",
        observes: false,
        found: Found::Numbered(cuda::count, cuda::open),
    },
    Kind {
        name: "hsa",
        about: "AMD GPUs, by ROCr",
        observes: false,
        found: Found::Numbered(hsa::count, hsa::open),
    },
];

/// Opens an emulated GPU: of AMD if the architecture is one of theirs, or else of NVIDIA.
fn open_emulated(
    arch: Option<&str>,
    options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    match arch.map(str::parse) {
        Some(Ok(arch)) => hsa::open_emulated(arch, options),
        _ => cuda::open_emulated(arch, options),
    }
}

impl Kind {
    /// The names of this machine's devices of this kind.
    ///
    /// # Errors
    /// There cannot be any, because something that they need is missing.
    pub fn devices(&self) -> Result<Vec<String>, DeviceError> {
        match self.found {
            Found::One(_) | Found::OfArch(_) => Ok(vec![self.name.to_owned()]),
            Found::Numbered(count, _) => {
                let names = (0..count()?).map(|number| format!("{}:{number}", self.name));
                Ok(names.collect())
            }
        }
    }
}

/// The forms of device names, for help texts: `host, emu[:sm_NN|:gfxNNN], .., auto`.
#[must_use]
pub fn names() -> String {
    let names = KINDS.iter().map(|kind| match kind.found {
        Found::One(_) => kind.name.to_owned(),
        Found::OfArch(_) => format!("{}[:sm_NN|:gfxNNN]", kind.name),
        Found::Numbered(..) => format!("{}[:N]", kind.name),
    });
    names
        .chain([AUTO.to_owned()])
        .collect::<Vec<_>>()
        .join(", ")
}

/// The number in a device's name; rejects forms such as `+1` and `01`.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Opens the device called `name`, such as `host`, `emu:sm_60`, or `cuda:1`. A numbered kind
/// without a number means number 0, and `auto` what [`resolve`] returns.
///
/// # Errors
/// There is no device of that name, or it cannot be opened.
pub fn open(name: &str, env: &Env) -> Result<Arc<dyn Device>, DeviceError> {
    open_as(
        name,
        &OpenOptions {
            env,
            host_stack: None,
            trace: None,
            costs: None,
        },
    )
}

/// Like [`open`], with all options.
pub(crate) fn open_as(
    name: &str,
    options: &OpenOptions<'_>,
) -> Result<Arc<dyn Device>, DeviceError> {
    let name = &*resolve(name)?;
    let (kind, rest) = match name.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (name, None),
    };
    let no_device = || {
        let here = KINDS.iter().filter_map(|kind| kind.devices().ok());
        DeviceError::NoDevice {
            name: name.to_owned(),
            available: here.flatten().collect::<Vec<_>>().join(", "),
            names: names(),
        }
    };
    let known = KINDS.iter().find(|known| known.name == kind);
    let known = known.ok_or_else(no_device)?;
    let observed = match options {
        OpenOptions { trace: Some(_), .. } => Some("traced"),
        OpenOptions { costs: Some(_), .. } => Some("counted"),
        _ => None,
    };
    if let Some(observed) = observed.filter(|_| !known.observes) {
        return Err(DeviceError::NotSuitable {
            device: name.to_owned(),
            reason: format!("its threads cannot be {observed}; those of `emu` can"),
        });
    }
    match (&known.found, rest) {
        (Found::One(open), None) => open(options),
        (Found::One(_), Some(_)) => Err(no_device()),
        (Found::OfArch(open), arch) => open(arch, options),
        (Found::Numbered(count, open), text) => {
            // Checked before the driver is loaded, so that an invalid number is always reported as
            // such.
            let number = text.map_or(Some(0), number).ok_or_else(no_device)?;
            if number >= count()? {
                return Err(no_device());
            }
            open(number, options)
        }
    }
}
