//! A launch, as libgomp requests it and as a plugin runs it.

use std::ffi::c_void;
use std::fmt;

use crate::error::Error;

/// The requested grid; 0 means the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedGrid {
    /// Teams.
    pub teams: u32,
    /// Threads of a team.
    pub threads: u32,
}

impl RequestedGrid {
    /// Reads libgomp's list of arguments.
    ///
    /// # Safety
    /// The list ends with a null, as libgomp's do.
    pub(crate) unsafe fn read(mut args: *const *const c_void) -> Self {
        /// The position of a value in the argument itself.
        const VALUE_SHIFT: u32 = 16;
        const SUBSEQUENT: usize = 0x80;
        const DEVICE_MASK: usize = 0x7f;
        const ID_MASK: usize = 0xff00;
        const NUM_TEAMS: usize = 0x100;
        const THREAD_LIMIT: usize = 0x200;
        let mut requested = Self::default();
        if args.is_null() {
            return requested;
        }
        // SAFETY: the caller vouches for the list.
        let mut next = || unsafe {
            let word = (*args).addr();
            args = args.add(1);
            word
        };
        loop {
            let id = next();
            if id == 0 {
                return requested;
            }
            let value = if id & SUBSEQUENT == 0 {
                (id.cast_signed() >> VALUE_SHIFT) as i64
            } else {
                next().cast_signed() as i64
            };
            let value = value.clamp(0, i64::from(i32::MAX)) as u32;
            // Arguments for other devices are ignored.
            match (id & DEVICE_MASK, id & ID_MASK) {
                (0, NUM_TEAMS) => requested.teams = value,
                (0, THREAD_LIMIT) => requested.threads = value,
                _ => {}
            }
        }
    }
}

/// The failure of a kernel.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An error.
    #[error(transparent)]
    Failed(#[from] Error),
    /// Device code called `exit` with this status: the process ends.
    #[error("device code has called `exit` with {0}")]
    Exited(i32),
    /// Device code called `abort` or similar: the process ends.
    #[error("kernel `{kernel}`: {how}")]
    Aborted {
        /// The kernel.
        kernel: String,
        /// The way in which it ended.
        how: Abort,
    },
}

/// The way in which device code ended the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// It has called `abort`.
    Called,
    /// It has ended by this signal.
    Signal(u32),
    /// It has left this word, which no function does.
    Overwritten(u32),
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Called => f.write_str("it has called `abort` on the device"),
            Self::Signal(signal) => write!(f, "it has ended by signal {signal} on the device"),
            Self::Overwritten(word) => write!(
                f,
                "it has left {word:#x} as its return value, which is neither that of `exit` nor \
                 that of `abort`: something has written over its queue"
            ),
        }
    }
}

/// A running kernel. Dropping it waits for its end.
pub trait Running: Send {
    /// Waits for its end.
    ///
    /// # Errors
    /// It failed.
    fn wait(&self) -> Result<(), Fault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[usize]) -> RequestedGrid {
        let words: Vec<*const c_void> = words
            .iter()
            .map(|&word| std::ptr::without_provenance(word))
            .collect();
        // SAFETY: the tests' lists end with 0.
        unsafe { RequestedGrid::read(words.as_ptr()) }
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(read(&[0]), RequestedGrid::default());
        let requested = |teams, threads| RequestedGrid { teams, threads };
        assert_eq!(read(&[0x200, 0x1_0100, 0]), requested(1, 0));
        assert_eq!(read(&[0x180, 70_000, 0x4_0200, 0]), requested(70_000, 4));
        // The word of another device, and a negative number.
        assert_eq!(read(&[0x7_0105, 0x280, usize::MAX, 0]), requested(0, 0));
    }
}
