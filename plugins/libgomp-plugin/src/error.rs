//! The errors that a plugin reports to libgomp. Reports have an error's [`Chain`].

use std::io;

use revoff_host::Chain;
use revoff_host::LaunchError;
use revoff_host::device::DeviceError;
use revoff_host::device::Global;
use revoff_host::targets::count::Count;

/// A request of libgomp, or a call of the host, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// See [`revoff_host::RuntimeError`].
    #[error(transparent)]
    Host(#[from] revoff_host::RuntimeError),
    /// See [`DeviceError`].
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// An error of one [kind](crate::Kind) of device: the plugin's own.
    #[error(transparent)]
    Kind(Box<dyn std::error::Error + Send + Sync>),
    /// libgomp names a device that the plugin does not have.
    #[error("no device {ord}: there are {count}")]
    NoDevice {
        /// The number of the device.
        ord: usize,
        /// The number of devices.
        count: usize,
    },
    /// libgomp uses a device that it has not initialised.
    #[error("device {0} is not initialised")]
    NotInitialised(i32),
    /// libgomp frees an address that it has not allocated.
    #[error("no device memory that libgomp has allocated starts at {0:#x}")]
    NotAllocated(usize),
    /// libgomp launches a function that it has not loaded.
    #[error("no image has a function at {0:#x}")]
    NoFunction(usize),
    /// libgomp launches a function that has no kernel.
    #[error("the target region {0} is one of the host's, and no kernel")]
    NoKernel(String),
    /// A target region does not start.
    #[error("the target region {name} does not start")]
    Start {
        /// The function's name in the program's source.
        name: String,
        /// The reason.
        source: Box<Self>,
    },
    /// A target region failed.
    #[error("{}", Chain(&**reason).to_string().replace(mangled.as_str(), name))]
    Region {
        /// The kernel's name in its image, which the reason may contain.
        mangled: String,
        /// The function's name in the program's source, which replaces it in the message.
        name: String,
        /// The reason, with its sources.
        reason: Box<Self>,
    },
    /// No thread can be started to wait for a region.
    #[error("cannot start a thread that waits for a target region")]
    Thread(#[source] io::Error),
    /// An image cannot be loaded. libgomp then ends the process, with a message that has only
    /// numbers.
    #[error(
        "{}; libgomp now ends the program (the 4294967295 in its next message is -1, for this \
         error); OMP_TARGET_OFFLOAD=disabled runs the target regions on the host",
        Chain(&**.0)
    )]
    NotLoaded(Box<Self>),
    /// The error of an image, which does not name it.
    #[error("{name}")]
    Image {
        /// The file that contains the image.
        name: String,
        /// The reason.
        source: Box<Self>,
    },
    /// The image was built by a GCC that this plugin does not know.
    #[error(
        "the image is of version {found} for {gpus}, this plugin knows {known}: the program was \
         built by {} GCC",
        if found > known { "a newer" } else { "an older" }
    )]
    Version {
        /// The version of the image.
        found: u32,
        /// The version that the plugin knows.
        known: u32,
        /// The plugin's devices.
        gpus: &'static str,
    },
    /// The image is for another device.
    #[error("{name} is {found}, but device `{device}` loads {wanted}: {remedy}")]
    OtherMachine {
        /// The image.
        name: String,
        /// The machine that it is for.
        found: String,
        /// The device.
        device: String,
        /// The images that the device loads.
        wanted: String,
        /// The way to build such an image.
        remedy: String,
    },
    /// A variable that the host knows has an impossible range.
    #[error("variable {at} of its table")]
    Variable {
        /// The number of the variable in the host's table.
        at: usize,
        /// The reason.
        source: PastEnd,
    },
    /// The image's control variables have an impossible range.
    #[error("`{symbol}`")]
    ControlVariables {
        /// The name of the control variables.
        symbol: &'static str,
        /// The reason.
        source: PastEnd,
    },
    /// libgomp has no table of functions that are called through pointers.
    #[error("libgomp has no table of functions that are called through pointers")]
    NoIndirectTable,
    /// The image lacks a symbol for functions that are called through pointers.
    #[error("functions that are called through pointers need `{0}`, which the image does not have")]
    NoIndirect(&'static str),
    /// A constructor or destructor calls a host region.
    #[error(
        "a constructor or destructor of the device calls the target region {0}, which needs \
         libgomp's lock of the device, and libgomp keeps that until the constructor or destructor \
         has ended: call it from a target region"
    )]
    InConstructor(&'static str),
    /// A host region is called from a device that no longer exists.
    #[error("the device that calls the target region {0} was closed")]
    NoLongerOpen(&'static str),
    /// A `firstprivate` argument of a host region cannot be copied.
    #[error(transparent)]
    Private(#[from] PrivateError),
}

/// The result of a request of libgomp.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A variable runs past the end of the address space.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} at {}: past the end of the address space",
    Count(.0.size, "byte"),
    .0.address
)]
pub struct PastEnd(pub Global);

/// A `firstprivate` argument of a host region cannot be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateError {
    /// No memory has such a layout.
    #[error("a firstprivate argument cannot have {} aligned to {align}", Count(*bytes as u64, "byte"))]
    Layout {
        /// The size.
        bytes: usize,
        /// The alignment.
        align: usize,
    },
    /// The host has not enough memory.
    #[error("the host cannot allocate {} for a firstprivate argument", Count(*.0 as u64, "byte"))]
    NoMemory(usize),
    /// The device's memory cannot be read.
    #[error("cannot read a firstprivate argument")]
    Read(#[source] DeviceError),
}

/// The value of an environment variable is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingError {
    #[error("expected {what}, {least} to {most}; it counts as unset")]
    Number {
        what: String,
        least: String,
        most: String,
    },
    #[error("expected `sync` or `async`; it counts as unset")]
    Nowait,
}

/// `REVOFF_DEVICE` names no device of this plugin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChoiceError {
    #[error("it names no device; expected {0}")]
    Empty(String),
    #[error("no `{name}` here; there are: {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("no devices of kind `{0}`")]
    NoKind(String),
    #[error(
        "no devices of kind `{0}`: their runtime is here, and lists none (CUDA_VISIBLE_DEVICES \
         and ROCR_VISIBLE_DEVICES hide devices)"
    )]
    NoneVisible(String),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

#[cfg(test)]
mod tests {
    use revoff_host::device::DeviceAddr;

    use super::*;

    #[test]
    fn a_report_has_each_message_once() {
        let variable = Error::Variable {
            at: 3,
            source: PastEnd(Global {
                address: DeviceAddr(16),
                size: 1,
            }),
        };
        let image = |source| Error::Image {
            name: "main".to_owned(),
            source: Box::new(source),
        };
        let text = "main: variable 3 of its table: 1 byte at 0x10: past the end";
        let region = |reason| Error::Region {
            mangled: "main$_omp_fn$0".to_owned(),
            name: "main._omp_fn.0".to_owned(),
            reason: Box::new(reason),
        };
        let start = Error::Start {
            name: "main$_omp_fn$0".to_owned(),
            source: Box::new(Error::NotInitialised(2)),
        };
        for (error, texts) in [
            (
                Error::NotLoaded(Box::new(image(variable))),
                [text, "libgomp now ends"],
            ),
            (
                region(start),
                ["region main._omp_fn.0 does not start: ", "device 2"],
            ),
        ] {
            let report = Chain(&error).to_string();
            for text in texts {
                assert_eq!(report.matches(text).count(), 1, "{text}: {report}");
            }
            assert!(!report.contains('$'), "{report}");
        }
    }
}
