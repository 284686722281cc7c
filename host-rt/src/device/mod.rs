//! Devices: where kernels run.
//!
//! [`Device`] is everything that the rest of this crate asks of one. Each kind is
//! one folder beside this file and one line in [`KINDS`].

mod bytes;
mod cuda;
mod emu;
mod ends;
mod host;
mod hsa;
mod landing;
mod loader;
mod near;
mod pool;
mod reach;
mod survive;

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

pub use device_arena::Fill;
use targets::DeviceArch;

use crate::env::Env;
use crate::error::{DeviceError, Error, ImageError};
use crate::image::Image;

/// A kind of device: how its devices are named, what they are, how they are opened.
pub struct Kind {
    /// The name, or its part before a colon and a number.
    pub name: &'static str,
    /// One line for `revoff devices`.
    pub about: &'static str,
    /// Whether its device threads can be followed.
    traces: bool,
    found: Found,
}

/// What a device is to be, as far as its name does not say.
pub(crate) struct Wanted<'a> {
    /// What the environment says.
    pub(crate) env: &'a Env,
    /// The device thread to follow.
    pub(crate) trace: Option<&'a Trace>,
}

/// A device thread, each instruction of which is told.
#[derive(Clone)]
pub struct Trace {
    /// The team's number.
    pub team: u32,
    /// The thread's number in the team.
    pub thread: u32,
    /// Takes a line for each instruction, from any thread.
    pub sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace(team {}, thread {})", self.team, self.thread)
    }
}

/// How devices of a kind are found.
enum Found {
    /// There is one, whose name is that of the kind.
    One(Open),
    /// There is one of any architecture, whose name may follow a colon.
    OfArch(OpenOfArch),
    /// As many as the first function counts; the second opens one of them.
    Numbered(Count, OpenNumbered),
}

type Open = fn(&Wanted<'_>) -> Result<Arc<dyn Device>, Error>;
type OpenOfArch = fn(Option<&str>, &Wanted<'_>) -> Result<Arc<dyn Device>, Error>;
type Count = fn() -> Result<u32, Error>;
type OpenNumbered = fn(u32, &Wanted<'_>) -> Result<Arc<dyn Device>, Error>;

/// The kinds of devices that this build knows.
pub const KINDS: [Kind; 4] = [
    Kind {
        name: "host",
        about: "threads of this process, always there",
        traces: false,
        found: Found::One(host::open),
    },
    Kind {
        name: "emu",
        about: "NVIDIA GPUs emulated, always there: `emu:sm_60` is an `sm_60`",
        traces: true,
        found: Found::OfArch(emu::open),
    },
    Kind {
        name: "cuda",
        about: "NVIDIA GPUs, by NVIDIA's driver",
        traces: false,
        found: Found::Numbered(cuda::count, cuda::open),
    },
    Kind {
        name: "hsa",
        about: "AMD GPUs, by ROCr",
        traces: false,
        found: Found::Numbered(hsa::count, hsa::open),
    },
];

impl Kind {
    /// The names of the devices of this kind that are here.
    ///
    /// # Errors
    /// There cannot be any: what they need is missing.
    pub fn devices(&self) -> Result<Vec<String>, Error> {
        match self.found {
            Found::One(_) | Found::OfArch(_) => Ok(vec![self.name.to_owned()]),
            Found::Numbered(count, _) => {
                let names = (0..count()?).map(|number| format!("{}:{number}", self.name));
                Ok(names.collect())
            }
        }
    }
}

/// How devices are called, for help texts: `host, emu[:sm_NN], ..`.
#[must_use]
pub fn names() -> String {
    let names = KINDS.iter().map(|kind| match kind.found {
        Found::One(_) => kind.name.to_owned(),
        Found::OfArch(_) => format!("{}[:sm_NN]", kind.name),
        Found::Numbered(..) => format!("{}[:N]", kind.name),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The number that `text` is, written as the device's name has it: not `+1`, nor `01`.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Opens the device called `name`: `host`, `emu:sm_60`, or `cuda:1`; of those that are
/// numbered, the kind alone stands for number 0.
///
/// # Errors
/// There is none of that name, or it cannot be opened.
pub fn open(name: &str, env: &Env) -> Result<Arc<dyn Device>, Error> {
    open_as(name, &Wanted { env, trace: None })
}

/// As [`open`], with all that may be wanted of it.
pub(crate) fn open_as(name: &str, wanted: &Wanted<'_>) -> Result<Arc<dyn Device>, Error> {
    let (kind, rest) = match name.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (name, None),
    };
    let no_device = || {
        let here = KINDS.iter().filter_map(|kind| kind.devices().ok());
        Error::from(DeviceError::NoDevice {
            name: name.to_owned(),
            available: here.flatten().collect::<Vec<_>>().join(", "),
        })
    };
    let known = KINDS.iter().find(|known| known.name == kind);
    let known = known.ok_or_else(no_device)?;
    if wanted.trace.is_some() && !known.traces {
        return Err(DeviceError::NotSuitable {
            device: name.to_owned(),
            reason: "its threads cannot be traced; those of `emu` can".to_owned(),
        }
        .into());
    }
    match (&known.found, rest) {
        (Found::One(open), None) => open(wanted),
        (Found::One(_), Some(_)) => Err(no_device()),
        (Found::OfArch(open), arch) => open(arch, wanted),
        (Found::Numbered(count, open), text) => {
            // Before the driver is asked: where there is none, nonsense is still nonsense.
            let number = text.map_or(Some(0), number).ok_or_else(no_device)?;
            if number >= count()? {
                return Err(no_device());
            }
            open(number, wanted)
        }
    }
}

/// Device memory, addresses and sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// What there is in all.
    pub total: u64,
    /// What is allocated.
    pub used: u64,
}

/// Mapped memory: the host and the device see the same bytes.
///
/// Zeroed when allocated, aligned to 128 bytes, freed with the last owner.
pub struct MappedMemory {
    /// Where the host sees it.
    pub host: NonNull<u8>,
    /// Where the device sees it.
    pub device: u64,
    /// Its size.
    pub bytes: usize,
    /// Frees it; taken by the drop.
    free: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl std::fmt::Debug for MappedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MappedMemory({} bytes at {:?})", self.bytes, self.host)
    }
}

// SAFETY: it is an allocation; whoever accesses it does so with the care that
// memory shared with a device asks for, from any thread.
unsafe impl Send for MappedMemory {}
// SAFETY: as above.
unsafe impl Sync for MappedMemory {}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            free();
        }
    }
}

impl MappedMemory {
    /// An allocation, which `free` frees.
    fn new(
        host: NonNull<u8>,
        device: u64,
        bytes: usize,
        free: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            host,
            device,
            bytes,
            free: Some(Box::new(free)),
        }
    }

    /// Whether the device range lies in here.
    #[must_use]
    pub fn contains(&self, address: u64, len: u64) -> bool {
        address
            .checked_sub(self.device)
            .and_then(|offset| offset.checked_add(len))
            .is_some_and(|end| end <= self.bytes as u64)
    }
}

/// A symbol of a loaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its device address.
    pub address: u64,
    /// Its size in bytes; 0 where the image does not tell.
    pub size: u64,
}

/// Teams and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of teams (blocks).
    pub teams: u32,
    /// Threads of a team.
    pub threads: u32,
}

impl Grid {
    /// Device threads of a team where each thread is so many lanes.
    ///
    /// # Errors
    /// There is nothing to launch.
    fn threads_of_team(self, lanes: u32) -> Result<u32, DeviceError> {
        if self.teams == 0 || self.threads == 0 {
            return Err(self.bad("both must be at least 1"));
        }
        if lanes == 0 {
            return Err(self.bad("threads of 0 lanes: each must have at least 1"));
        }
        Ok(self.threads.saturating_mul(lanes))
    }

    /// Why a device does not run it.
    fn bad(self, reason: impl Into<String>) -> DeviceError {
        DeviceError::BadGrid {
            teams: self.teams,
            threads: self.threads,
            reason: reason.into(),
        }
    }
}

/// A dimension of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    #[default]
    X,
    /// The second: what GCC's code for AMD GPUs expects. `hsa:N` alone has it.
    Y,
}

/// What a block is made of, beyond the grid's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Device threads that make one of the grid's threads: 1, or a warp where a compiler
    /// gives each thread one, as GCC does. Blocks then are `lanes` by `threads`.
    pub lanes: u32,
    /// The dimension of a block that the lanes are in; the threads are in the one behind it.
    pub lane_axis: Axis,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl BlockShape {
    /// The block of so many threads, in each dimension.
    fn of(self, threads: u32) -> [u32; 3] {
        match (self.lane_axis, self.lanes) {
            (Axis::X, 1) => [threads, 1, 1],
            (Axis::X, lanes) => [lanes, threads, 1],
            (Axis::Y, lanes) => [1, lanes, threads],
        }
    }

    /// As [`of`](Self::of), for devices whose lanes are in the first dimension.
    ///
    /// # Errors
    /// They are to be in another one.
    fn of_x(self, grid: Grid) -> Result<[u32; 3], DeviceError> {
        match self.lane_axis {
            Axis::X => Ok(self.of(grid.threads)),
            Axis::Y => Err(grid.bad("lanes in the second dimension are for AMD GPUs alone")),
        }
    }
}

impl Default for BlockShape {
    fn default() -> Self {
        Self {
            lanes: 1,
            lane_axis: Axis::X,
            shared_bytes: 0,
        }
    }
}

/// How much of a kernel a device takes, in device threads, and what a block of it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Most of a block.
    pub block: u32,
    /// As many as a multiprocessor has registers for.
    pub processor: u32,
    /// Multiprocessors.
    pub processors: u32,
    /// Bytes of shared memory of a block, whatever a launch asks for.
    pub shared_bytes: u32,
}

/// What a device needs to know of a launch beyond kernel, grid and parameters.
#[derive(Clone)]
pub struct LaunchContext {
    /// What blocks are made of.
    pub block: BlockShape,
    /// The launch's key on the wires; not 0. Devices whose threads can be told have
    /// it in every request; on others requests carry 0.
    pub key: u32,
    /// Whether the kernel's image has reverse offload.
    pub calls_host: bool,
    /// Wakes the threads that serve calls; for devices with a bell.
    pub ring: Arc<dyn Fn() + Send + Sync>,
    /// To be called once when the kernel has ended, before anybody who waits for
    /// it learns so. Not if it could not be started.
    pub ended: Arc<dyn Fn() + Send + Sync>,
}

/// A kernel that is run on the thread that asks for it.
pub struct DirectRun<'a> {
    /// The kernel's name, for messages.
    pub name: &'a str,
    /// The kernel, of a module that stays loaded meanwhile.
    pub kernel: Global,
    /// Must be one thread of one team.
    pub grid: Grid,
    /// What blocks are made of.
    pub block: BlockShape,
    /// Its arguments.
    pub words: &'a [u64],
    /// None if its image has no reverse offload.
    pub caller: Option<Caller>,
}

/// What a device needs to know of a kernel that can call the host and is run on the thread
/// that asks for it.
pub struct Caller {
    /// As [`LaunchContext::key`].
    pub key: u32,
    /// As [`LaunchContext::ring`].
    pub ring: Arc<dyn Fn() + Send + Sync>,
}

/// Runs kernels that are plain C functions of this process: each parameter is an integer
/// of 64 bits, passed as C passes one.
pub trait Direct: Sync {
    /// Runs a kernel on the calling thread to its end: well, or with words about its fault.
    ///
    /// # Safety
    /// The kernel is such a function of as many parameters, which does not unwind, and
    /// may be called with these. Its frames can be abandoned where it traps.
    ///
    /// # Errors
    /// It cannot be run so: the grid, or the number of words.
    unsafe fn run(&self, run: DirectRun<'_>) -> Result<Result<(), String>, DeviceError>;
}

/// How far an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventState {
    /// Something before it is not done.
    Pending,
    /// It is reached: everything before it is done.
    Done,
    /// Something before it failed, which the device says this about, or was not done for
    /// something that failed before that.
    Failed(String),
}

/// A place in a queue, which is reached when everything queued before is done.
///
/// Failure travels: what fails in a queue, and what waits for an event that fails, makes
/// the events behind it fail, and what waits for those is not done. A queue that has failed
/// is as good as new once [`Queue::synchronize`] has told of it.
pub trait Event: Send + Sync {
    /// How far it is; returns at once.
    fn check(&self) -> EventState;
    /// Waits until it is reached or has failed.
    ///
    /// # Errors
    /// What [`EventState::Failed`] says.
    fn sync(&self) -> Result<(), String>;
    /// Takes back the operation that the event was recorded behind, if it has not begun and
    /// the device can: it fails then, as does what comes after it.
    fn take_back(&self) {}
    /// For the device's own use.
    fn as_any(&self) -> &dyn std::any::Any;
    /// For the device's own use.
    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync>;
}

/// A kernel under way, or on its way.
pub trait Running: Send + Sync {
    /// Whether it has ended.
    fn is_done(&self) -> bool;
    /// Waits until it has ended, well or with the device's words about its fault;
    /// `None` if it has not ended at `until`.
    fn wait(&self, until: Option<Instant>) -> Option<Result<(), String>>;
}

/// A queue: its operations happen in order; those of different queues need not.
pub trait Queue: Send {
    /// Copies `len` bytes to device memory.
    ///
    /// # Safety
    /// `from` stays readable, and unwritten, until [`synchronize`](Self::synchronize)
    /// returns, or an event that was recorded behind the copy is found done or failed.
    ///
    /// # Errors
    /// The host does not reach the range. What is refused so is not queued.
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory.
    ///
    /// # Safety
    /// `to` stays writable, and untouched by others, until
    /// [`synchronize`](Self::synchronize) returns, or an event that was recorded behind the
    /// copy is found done or failed. The bytes are there then.
    ///
    /// # Errors
    /// The host does not reach the range. What is refused so is not queued.
    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError>;

    /// Copies `len` bytes from device memory to device memory; by itself through the
    /// host. What ranges that overlap then hold is unspecified.
    ///
    /// # Errors
    /// The host does not reach one of the ranges.
    fn copy_on_device(&mut self, to: u64, from: u64, len: usize) -> Result<(), DeviceError> {
        let mut bytes = vec![0; len];
        // SAFETY: `bytes` is left alone until the copy has been waited for.
        unsafe { self.copy_from_device(bytes.as_mut_ptr(), from, len)? };
        self.synchronize()?;
        // SAFETY: as above.
        unsafe { self.copy_to_device(to, bytes.as_ptr(), len)? };
        self.synchronize()
    }

    /// Stores a `u32` in device memory after everything queued so far, in one piece
    /// and with release at system scope: a device thread that acquires it sees what
    /// was copied before.
    ///
    /// # Errors
    /// The host does not reach the word, or it is misaligned.
    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError>;

    /// Starts a kernel of `module` when the queue gets there.
    ///
    /// # Safety
    /// The parameters are what the kernel's code expects, and the device memory
    /// that they name stays allocated until the kernel has ended. Its frames can be
    /// abandoned where it traps.
    ///
    /// # Errors
    /// The device cannot run the grid.
    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError>;

    /// Marks the place after everything queued so far, and after all events that the queue
    /// waits for.
    fn record_event(&mut self) -> Arc<dyn Event>;

    /// Makes what is queued from now on wait for `event`, which may be another queue's.
    /// Returns at once, unless `event` is one that the device
    /// [cannot wait for](Self::can_wait_for): that is waited for here.
    fn wait_event(&mut self, event: &Arc<dyn Event>);

    /// Whether the device waits for `event` by itself: it is one of a device of the same
    /// kind.
    fn can_wait_for(&self, event: &dyn Event) -> bool;

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// Some of it failed. What is queued from now on does not fail for that.
    fn synchronize(&mut self) -> Result<(), DeviceError>;
}

/// An image on a device; unloaded with the last owner.
pub trait Module: Send + Sync {
    /// The data symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot say.
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// The code symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot say.
    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// How much of `kernel`, which is one of this module, the device takes.
    ///
    /// # Errors
    /// The device cannot say.
    fn limits(&self, kernel: Global) -> Result<KernelLimits, DeviceError>;
    /// For the device's own use.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A device.
///
/// # Implementation
/// A copy names its device range by address; a range that the host does not reach
/// on this device (a device thread's stack, memory that is not allocated) is
/// refused with [`DeviceError::Unreachable`], never passed through.
pub trait Device: Send + Sync {
    /// The name that opened it.
    fn name(&self) -> &str;
    /// Its number among those of its kind, which OpenMP's runtime on the device is told.
    fn number(&self) -> u32;
    /// Its architecture, by which the image is chosen from a file of several.
    fn arch(&self) -> DeviceArch;
    /// What it is made of, in a few words.
    fn description(&self) -> String;
    /// Its memory.
    fn memory(&self) -> MemoryInfo;
    /// Ticks of its clock register (`clock64`) in a second, in thousands.
    fn clock_khz(&self) -> u32;
    /// Whether its threads can wake a sleeping host.
    fn has_bell(&self) -> bool;
    /// Allocates device memory, aligned to 256 bytes.
    ///
    /// # Errors
    /// There is not that much.
    fn alloc(&self, bytes: u64, fill: Fill) -> Result<u64, DeviceError>;
    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    fn free(&self, address: u64);
    /// Allocates mapped memory.
    ///
    /// # Errors
    /// There is not that much.
    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError>;
    /// Loads an image, one by itself: [`Image::for_device`] has taken it from a
    /// file of several.
    ///
    /// # Errors
    /// The image is not one for this device.
    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError>;
    /// What runs kernels that are plain C functions, where kernels can be such.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }
    /// Whether events are the device's own matter. Where they are not, the host waits:
    /// [`Queue::wait_event`] may block.
    fn has_events(&self) -> bool {
        true
    }
    /// A queue in which nothing is under way. Dropping it gives it back; what is under way
    /// in it goes on.
    ///
    /// # Errors
    /// The device has no more.
    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError>;
    /// As [`queue`](Self::queue), but perhaps one that was given back with something under
    /// way, which then comes before whatever is queued. There is a bounded number of them,
    /// beyond those that are held at a time. For work that nobody else's work waits for in
    /// other ways than by events.
    ///
    /// # Errors
    /// The device has no more.
    fn shared_queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        self.queue()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_nothing_is_refused() {
        for (teams, threads, lanes, word) in
            [(0, 5, 1, "both"), (5, 0, 1, "both"), (7, 5, 0, "0 lanes")]
        {
            let refused = Grid { teams, threads }.threads_of_team(lanes);
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let grid = Grid {
            teams: 7,
            threads: 5,
        };
        assert_eq!(grid.threads_of_team(32).ok(), Some(160));
        assert_eq!(grid.threads_of_team(u32::MAX).ok(), Some(u32::MAX));
    }

    #[test]
    fn lanes_are_in_the_dimension_that_is_asked_for() {
        let block = |lanes, lane_axis| BlockShape {
            lanes,
            lane_axis,
            shared_bytes: 0,
        };
        assert_eq!(BlockShape::default().of(5), [5, 1, 1]);
        assert_eq!(block(32, Axis::X).of(5), [32, 5, 1]);
        assert_eq!(block(64, Axis::Y).of(5), [1, 64, 5]);

        let grid = Grid {
            teams: 7,
            threads: 5,
        };
        assert_eq!(block(32, Axis::X).of_x(grid).ok(), Some([32, 5, 1]));
        let error = block(64, Axis::Y).of_x(grid).unwrap_err().to_string();
        for text in ["7", "5", "AMD GPUs"] {
            assert!(error.contains(text), "{error}");
        }
    }
}
