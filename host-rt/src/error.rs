//! What can go wrong, by layer: [`ImageError`] (a file is no usable image),
//! [`DeviceError`] (a device refuses), [`LaunchError`] (a kernel or a call it
//! made failed), and [`Error`] over all of them.

use std::path::PathBuf;

use targets::DeviceArch;
use targets::choose::WayOut;
use targets::count::Count;

use crate::data::{HostRange, RangeError};
use crate::task::TaskError;

/// An image that cannot be used, and why.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be read.
    #[error("cannot read image {path}: {reason}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words, which the message has too.
        reason: std::io::Error,
    },
    /// The bytes are not in a format that any device loads.
    #[error("{name} is no device image: {reason}")]
    NoImage {
        /// The file, or where the bytes came from.
        name: String,
        /// What was found.
        reason: String,
    },
    /// The image is for another device.
    #[error(
        "{name} is {found}, but device `{device}` loads {wanted} ({})",
        WayOut(arch)
    )]
    OtherMachine {
        /// The file, or where the bytes came from.
        name: String,
        /// What the image is.
        found: String,
        /// The device that was to load it.
        device: String,
        /// What the device loads.
        wanted: String,
        /// What the device is.
        arch: Box<DeviceArch>,
    },
    /// A file of several images has none for the device.
    #[error("{name}: {reason}")]
    NoMember {
        /// The file, or where the bytes came from.
        name: String,
        /// What the device is, and what the file has.
        reason: targets::choose::NoMatch,
    },
    /// The image was built with another version of the ABI.
    #[error(
        "{name} was built for ABI version {image}, this host speaks version {host}: rebuild the \
         image with the device-rt of this version, or use the matching host"
    )]
    OtherAbi {
        /// The file, or where the bytes came from.
        name: String,
        /// Version of the image.
        image: u32,
        /// Version of the host.
        host: u32,
    },
    /// A symbol has an unexpected size or content.
    #[error("{name}: symbol `{symbol}` {reason}")]
    BadSymbol {
        /// The file, or where the bytes came from.
        name: String,
        /// The symbol.
        symbol: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The image cannot speak the wire that was asked for.
    #[error("{name} does not speak wire `{wire}`; it speaks {speaks}")]
    NoWire {
        /// The file, or where the bytes came from.
        name: String,
        /// The wire that was asked for.
        wire: String,
        /// The wires of the image.
        speaks: String,
    },
    /// The image has no such kernel.
    #[error("{name} has no kernel `{kernel}`; it has {has}")]
    NoKernel {
        /// The file, or where the bytes came from.
        name: String,
        /// The kernel that was asked for.
        kernel: String,
        /// The kernels of the image.
        has: String,
    },
    /// The image and the host declare a host function differently.
    #[error(
        "{name} and this host declare `{function}` differently (signature {image:#018x} in the \
         image, {host:#018x} here): build both from the same declaration"
    )]
    OtherSignature {
        /// The file, or where the bytes came from.
        name: String,
        /// The function.
        function: String,
        /// Hash in the image.
        image: u64,
        /// Hash of the host's registration.
        host: u64,
    },
    /// The image and the host declare a kernel differently, or the image has no
    /// declaration of it.
    #[error(
        "{name} and this host declare kernel `{kernel}` differently (signature {} in the image, \
         {host:#018x} here): build both from the same declaration, which the kernel's definition \
         names, `#[device_rt::kernel(..)]`",
        image.map_or("none".to_owned(), |image| format!("{image:#018x}"))
    )]
    OtherKernel {
        /// The file, or where the bytes came from.
        name: String,
        /// The kernel.
        kernel: String,
        /// Hash in the image, if it says one.
        image: Option<u64>,
        /// Hash of the host's declaration.
        host: u64,
    },
    /// The system's loader refused the image.
    #[error("cannot load {name}: {reason}")]
    Load {
        /// The file, or where the bytes came from.
        name: String,
        /// The loader's words.
        reason: String,
    },
}

/// A device that cannot do what it is asked.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device of that name.
    #[error("no device `{name}`; available: {available}; names are {names}", names = crate::device::names())]
    NoDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        available: String,
    },
    /// The device has no memory of that size left.
    #[error(
        "device `{device}` cannot allocate {}: {free} of {total} are free{}",
        Count(*bytes, "byte"),
        match device.as_str() {
            "host" => " (REVOFF_HOST_MEMORY sets its size)",
            emu if emu.starts_with("emu") => " (REVOFF_EMU_MEMORY sets its size)",
            _ => "",
        }
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// What was asked for.
        bytes: u64,
        /// What is free.
        free: u64,
        /// What there is in all.
        total: u64,
    },
    /// There is no memory of that size that host and device both reach.
    #[error(
        "device `{device}` cannot map {bytes} bytes of host memory (REVOFF_SLOTS and \
         REVOFF_BOUNCE say how much calls take; `ulimit -l` may limit it)"
    )]
    NoMappedMemory {
        /// The device.
        device: String,
        /// What was asked for.
        bytes: u64,
    },
    /// Devices of this kind need a driver.
    #[error("{device}: {reason}")]
    NoDriver {
        /// The kind of device.
        device: &'static str,
        /// What is missing.
        reason: String,
    },
    /// The device lacks what calls to the host need.
    #[error("cannot use device `{device}`: {reason}")]
    NotSuitable {
        /// The device.
        device: String,
        /// What it lacks.
        reason: String,
    },
    /// The driver refused something.
    #[error("device `{device}`: {reason}")]
    Driver {
        /// The device.
        device: String,
        /// The driver's function, and its words.
        reason: String,
    },
    /// The device, or what this process had on it, has gone: a kernel faulted, or the
    /// hardware did.
    #[error(
        "device `{device}` is lost: {reason}; drop everything on it and open it again (in a new \
         process where that is refused), or use another one"
    )]
    Lost {
        /// The device.
        device: String,
        /// The driver's function, and its words.
        reason: String,
    },
    /// A copy names device memory that the host does not reach.
    #[error(
        "the host does not reach {len} bytes at device address {address:#x}: {what} (a range \
         there must travel with its request)"
    )]
    Unreachable {
        /// Start of the range.
        address: u64,
        /// Length of the range.
        len: u64,
        /// What lies there, as far as the device knows.
        what: &'static str,
    },
    /// A copy leaves its buffer.
    #[error(
        "cannot copy {} at byte {at}: the buffer has {}",
        Count(*len, "byte"),
        Count(*bytes, "byte")
    )]
    OutOfBuffer {
        /// Where in the buffer the range begins.
        at: u64,
        /// Length of the range.
        len: u64,
        /// Size of the buffer.
        bytes: u64,
    },
    /// Something that was queued before this failed, or what the queue waits for did.
    #[error("what was queued before has failed: {reason}")]
    Before {
        /// The device's words.
        reason: String,
    },
    /// A launch with an impossible shape.
    #[error(
        "cannot launch {} of {}: {reason}",
        Count((*teams).into(), "team"),
        Count((*threads).into(), "thread")
    )]
    BadGrid {
        /// Number of teams.
        teams: u32,
        /// Threads of a team.
        threads: u32,
        /// Why not.
        reason: String,
    },
    /// A kernel was launched with other parameters than its image says that it takes.
    #[error(
        "kernel `{kernel}` takes {expected}, but got {found}: launch it with what its definition \
         declares (a slice is two parameters, address and length)"
    )]
    BadParameters {
        /// The kernel.
        kernel: String,
        /// What it takes.
        expected: String,
        /// What there was.
        found: String,
    },
    /// A kernel that is a C function has more parameters than can be passed.
    #[error(
        "device `{device}` passes at most {most} words to a kernel, not {words}: put them in device \
         memory and pass its address"
    )]
    TooManyWords {
        /// The device.
        device: &'static str,
        /// Number of words.
        words: usize,
        /// Most of them.
        most: usize,
    },
    /// The operating system refused something.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: String,
        /// The system's words, which the message has too.
        reason: std::io::Error,
    },
}

/// A value in the environment that makes no sense.
#[derive(thiserror::Error)]
#[error("environment variable {name}={value:?}: {expected} expected")]
pub struct EnvError {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is allowed.
    pub expected: String,
}

/// Why a call from a kernel was not carried out.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The function word is not that of a registered function.
    #[error(
        "function {word:#x}{} was called and is not registered: add it to the functions that the \
         image is loaded with",
        name.as_ref().map(|n| format!(" (`{n}`)")).unwrap_or_default()
    )]
    NoSuchFunction {
        /// The function word.
        word: u64,
        /// The image's name for it, if it has one.
        name: Option<String>,
    },
    /// An argument could not be mapped.
    #[error("call of `{function}`: {reason}")]
    Refused {
        /// The function.
        function: String,
        /// Which argument, and why.
        reason: String,
    },
    /// The function returned an error.
    #[error("host function `{function}` failed: {message}")]
    Failed {
        /// The function.
        function: String,
        /// Its error.
        message: String,
    },
    /// The function panicked.
    #[error("host function `{function}` panicked: {message}")]
    Panicked {
        /// The function.
        function: String,
        /// The panic's message.
        message: String,
    },
    /// What stood on the wire cannot be a request.
    #[error("wire `{wire}`: {reason}")]
    Protocol {
        /// The wire.
        wire: &'static str,
        /// What was found.
        reason: String,
    },
    /// The runtime was shut down before the call was served.
    #[error("call of function {word:#x} refused: the runtime is shutting down")]
    ShuttingDown {
        /// The function word.
        word: u64,
    },
}

/// A launch that did not end well.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The kernel ended itself, or the device ended it.
    #[error(
        "kernel `{kernel}`: {message}{}",
        failed_call.as_ref().map(|call| format!("; before that, {call}")).unwrap_or_default()
    )]
    Fault {
        /// The kernel.
        kernel: String,
        /// The device's words.
        message: String,
        /// The first call of the kernel that failed, on which it may have ended itself.
        failed_call: Option<CallError>,
    },
    /// The kernel has not ended in time. It still runs, and what it uses stays
    /// allocated for the life of the process.
    #[error(
        "kernel `{kernel}` has not ended after {after:?}, its deadline (REVOFF_DEADLINE, or that of \
         the builder); {}",
        if pending.is_empty() {
            "no host function is under way on the device".to_owned()
        } else {
            format!("under way on the host: {}", pending.join(", "))
        }
    )]
    Deadline {
        /// The kernel.
        kernel: String,
        /// The time that it was given.
        after: std::time::Duration,
        /// The host functions that have not returned, of all kernels on the device, the standard
        /// output if what they print is being written there, and the limits that calls have reached.
        pending: Vec<String>,
    },
    /// The kernel has ended, but what it has printed could not be written by the deadline.
    #[error(
        "kernel `{kernel}` has ended, but the standard output has not accepted what it printed \
         within {after:?}, its deadline (REVOFF_DEADLINE, or that of the builder): read that output \
         to its end"
    )]
    Output {
        /// The kernel.
        kernel: String,
        /// The time that it was given.
        after: std::time::Duration,
    },
    /// Calls that the kernel made failed; the kernel itself ran to its end.
    #[error(
        "kernel `{kernel}`: {first}{}",
        match failed.saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {more} more failed {})", if more == 1 { "call" } else { "calls" }),
        }
    )]
    Call {
        /// The kernel.
        kernel: String,
        /// The first failed call.
        first: CallError,
        /// Number of failed calls.
        failed: u64,
    },
}

/// Anything that this crate reports.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// See [`ImageError`].
    #[error(transparent)]
    Image(#[from] ImageError),
    /// See [`DeviceError`].
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// See [`TaskError`].
    #[error(transparent)]
    Task(#[from] TaskError),
    /// See [`EnvError`].
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The arguments of a launch do not fit the kernel.
    #[error("kernel `{kernel}` takes {wants}, but got {given}")]
    BadArguments {
        /// The kernel.
        kernel: String,
        /// What it takes.
        wants: String,
        /// What was given.
        given: String,
    },
    /// Host data lies only in part in data that is on the device.
    #[error(
        "{what}: host data {range} shares only some bytes with {present}, which is on the device: \
         end that mapping first, or map all that is used together at once"
    )]
    Straddles {
        /// What it is.
        what: String,
        /// The data.
        range: HostRange,
        /// The data on the device.
        present: HostRange,
    },
    /// See [`RangeError`].
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A host function is registered twice.
    #[error("host function `{name}` is registered twice")]
    TwiceRegistered {
        /// The function.
        name: String,
    },
    /// A wire that does not exist.
    #[error("no wire `{name}`; there are native, gcc-ring, gcn-queue and gcc-slot")]
    NoWire {
        /// What was asked for.
        name: String,
    },
}

/// Implements `Debug` as `Display`: `fn main() -> Result` and `unwrap` print `Debug`, and their
/// readers need the remedy too.
macro_rules! debug_as_display {
    ($($error:ty)*) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

debug_as_display!(ImageError DeviceError EnvError CallError LaunchError TaskError RangeError Error);

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error's message and those of its sources, with colons between.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| {
        format!("{text}: {source}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_returns_is_printed_with_its_remedy() {
        let arch = Box::new(DeviceArch::this_machine());
        let image = ImageError::OtherMachine {
            name: "k.ptx".to_owned(),
            found: "PTX for sm_70".to_owned(),
            device: "host".to_owned(),
            wanted: "a shared object".to_owned(),
            arch,
        };
        let error = Error::from(image);
        assert!(
            format!("{error:?}").contains("cargo xtask images --kernel-crate DIR --target host")
        );
        let launch = LaunchError::Deadline {
            kernel: "slow".to_owned(),
            after: std::time::Duration::from_secs(1),
            pending: vec![],
        };
        for (debug, display) in [
            (format!("{error:?}"), error.to_string()),
            (format!("{launch:?}"), launch.to_string()),
        ] {
            assert_eq!(debug, display);
        }
    }

    #[test]
    fn one_of_a_thing_is_singular() {
        let grid = DeviceError::BadGrid {
            teams: 1,
            threads: 2,
            reason: "no".to_owned(),
        };
        assert_eq!(grid.to_string(), "cannot launch 1 team of 2 threads: no");
        let call = |failed| LaunchError::Call {
            kernel: "k".to_owned(),
            first: CallError::ShuttingDown { word: 1 },
            failed,
        };
        assert!(call(1).to_string().ends_with("shutting down"));
        assert!(call(2).to_string().ends_with("(and 1 more failed call)"));
        assert!(call(3).to_string().ends_with("(and 2 more failed calls)"));
    }
}
