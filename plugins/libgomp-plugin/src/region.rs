//! Launching a target region, as libgomp asks for it.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use host_rt::{Grid, Kernel};

use crate::device::Device;
use crate::image::readable;
use crate::libgomp;
use crate::load::{self, TargetFunction};

/// What a region asks for; 0 where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Teams.
    pub teams: u32,
    /// Threads of a team.
    pub threads: u32,
}

impl Asked {
    /// Reads libgomp's list of arguments.
    ///
    /// # Safety
    /// The list has an end as libgomp's have, a null.
    unsafe fn read(mut args: *const *const c_void) -> Self {
        /// Where the value is in the argument itself.
        const VALUE_SHIFT: u32 = 16;
        const SUBSEQUENT: usize = 0x80;
        const DEVICE_MASK: usize = 0x7f;
        const ID_MASK: usize = 0xff00;
        const NUM_TEAMS: usize = 0x100;
        const THREAD_LIMIT: usize = 0x200;
        let mut asked = Self::default();
        if args.is_null() {
            return asked;
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
                return asked;
            }
            let value = if id & SUBSEQUENT == 0 {
                (id.cast_signed() >> VALUE_SHIFT) as i64
            } else {
                next().cast_signed() as i64
            };
            let value = value.clamp(0, i64::from(i32::MAX)) as u32;
            // Other devices have arguments of their own.
            match (id & DEVICE_MASK, id & ID_MASK) {
                (0, NUM_TEAMS) => asked.teams = value,
                (0, THREAD_LIMIT) => asked.threads = value,
                _ => {}
            }
        }
    }
}

/// How a kernel ends that does not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// For a reason, in words.
    Failed(String),
    /// Device code has called `exit`, with this: so the process ends.
    Exited(i32),
    /// Device code has called `abort`, or the like, in words: so the process ends.
    Aborted(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) | Self::Aborted(reason) => f.write_str(reason),
            Self::Exited(status) => write!(f, "device code has called `exit` with {status}"),
        }
    }
}

/// Says of a launch to those who ask what it is made of; a thread has that many lanes.
pub fn announce(device: &Device, kernel: &Kernel, grid: Grid, lanes: u32) {
    let Grid { teams, threads } = grid;
    libgomp::debug(&format!(
        "device {}: {}: {teams} teams of {threads} threads of {lanes} lanes",
        device.ord,
        readable(&kernel.declaration().name),
    ));
}

/// A kernel under way. Dropping it waits for its end.
pub trait Running: Send {
    /// Waits for its end.
    ///
    /// # Errors
    /// It did not end well.
    fn wait(&self) -> Result<(), Fault>;
}

/// A region under way.
pub(crate) struct Region {
    running: Box<dyn Running>,
    /// The kernel's names: in its image, and in the words of the source.
    names: [String; 2],
    /// The last to go.
    counted: Counted,
}

/// A region that its device counts.
struct Counted(Arc<Device>);

impl Counted {
    fn new(device: &Arc<Device>) -> Self {
        device.regions.begin();
        Self(Arc::clone(device))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.regions.end();
    }
}

impl Region {
    /// Starts the region `function` with its variables at `vars`.
    ///
    /// # Safety
    /// All three are what `GOMP_OFFLOAD_run` was called with.
    ///
    /// # Errors
    /// The device cannot run it.
    pub(crate) unsafe fn start(
        device: &Arc<Device>,
        function: *const c_void,
        vars: *const c_void,
        args: *const *const c_void,
    ) -> Result<Self, String> {
        // SAFETY: the caller vouches for the list.
        let asked = unsafe { Asked::read(args) };
        let vars = vars.addr() as u64;
        load::with_function(device, function, |kernels, function| {
            let TargetFunction { name, mangled, .. } = function;
            let Some(kernel) = &function.kernel else {
                return Err(format!(
                    "the target region {name} is one of the host's, and no kernel"
                ));
            };
            let counted = Counted::new(device);
            // SAFETY: the image's own kernel; what the variables name, libgomp keeps until it
            // is told that the region has ended.
            let running = unsafe { kernels.start(device, kernel, vars, asked) };
            Ok(Self {
                running: running.map_err(|error| format!("the target region {name}: {error}"))?,
                names: [mangled.clone(), name.clone()],
                counted,
            })
        })?
    }

    /// Waits until the region has ended.
    ///
    /// # Errors
    /// It did not end well.
    pub(crate) fn wait(self) -> Result<(), Fault> {
        let [mangled, name] = &self.names;
        let named = |reason: String| reason.replace(mangled, name);
        self.running.wait().map_err(|fault| match fault {
            Fault::Failed(reason) => {
                self.counted.0.regions.note_failed();
                Fault::Failed(named(reason))
            }
            Fault::Aborted(reason) => Fault::Aborted(named(reason)),
            Fault::Exited(status) => Fault::Exited(status),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[usize]) -> Asked {
        let words: Vec<*const c_void> = words
            .iter()
            .map(|&word| std::ptr::without_provenance(word))
            .collect();
        // SAFETY: the tests' lists end with 0.
        unsafe { Asked::read(words.as_ptr()) }
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(read(&[0]), Asked::default());
        let asked = |teams, threads| Asked { teams, threads };
        assert_eq!(read(&[0x200, 0x1_0100, 0]), asked(1, 0));
        assert_eq!(read(&[0x180, 70_000, 0x4_0200, 0]), asked(70_000, 4));
        // Of another device, and less than nothing.
        assert_eq!(read(&[0x7_0105, 0x280, usize::MAX, 0]), asked(0, 0));
    }
}
