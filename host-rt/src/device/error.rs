//! What a device refuses.

use targets::count::Count;

use crate::base::debug_as_display;

/// A device that cannot do what it is asked.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device of that name.
    #[error("no device `{name}`; available: {available}; names are {names}")]
    NoDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        available: String,
        /// How devices are called.
        names: String,
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
    DependencyFailed {
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

debug_as_display!(DeviceError);
