//! Runtimes on devices: programs, kernels, launches, memory.
//!
//! A launch of a [typed kernel](TypedKernel) copies its arguments to the device and back.
//! [`Runtime::map_to`] and its siblings map data that several launches use: as long as the guard
//! lives, launches look the data up by its host address and do not copy it.
//!
//! | file | job |
//! |---|---|
//! | `builder` | options of a runtime |
//! | `buffer` | device memory |
//! | `functions` | the host functions that an image is loaded with |
//! | `load` | reading an image's metadata, and checking it against the host's |
//! | `connect` | writing the variables through which an image finds its wire |
//! | `panic_record` | the source location of a kernel's panic |
//! | `program`, `launch` | loaded images, their kernels, and launches of them |
//! | `loaded_program` | the data that these share |
//! | `overdue` | kernels that have passed their deadline and still run |
//! | `inline` | kernels that run on the calling thread |
//! | `typed`, `arguments` | kernels with a declaration, and the arguments of one launch |
//! | `mapped` | the guards of mapped data |
//! | `data_environment`, `on_device` | the table of mapped host data, and one device copy |
//! | `scoped_queue` | a queue that waits for its work, and frees its memory, when it is dropped |
//! | `transfers` | the counters of copies |

mod arguments;
mod buffer;
mod builder;
mod connect;
mod data_environment;
mod error;
mod functions;
mod inline;
mod launch;
mod load;
mod loaded_program;
mod mapped;
mod on_device;
mod overdue;
mod panic_record;
mod program;
mod scoped_queue;
mod transfers;
mod typed;

use std::sync::Arc;
use std::time::Duration;

use shared_abi::wire::WireKind;
use targets::DeviceArch;
use zerocopy::{Immutable, IntoBytes};

pub use self::buffer::DeviceBuffer;
pub use self::builder::Builder;
use self::data_environment::DataEnvironment;
pub(crate) use self::error::Result;
pub use self::error::RuntimeError;
pub use self::functions::Functions;
pub use self::launch::{AbortHandle, Launch, Report};
pub use self::mapped::{Mapped, MappedMut};
use self::overdue::Overdue;
pub use self::program::{Kernel, KernelArg, Program};
use self::transfers::Counts;
pub use self::transfers::Transfers;
pub use self::typed::TypedKernel;
use crate::device::{Device, DeviceAddr, Fill, MappedMemory, MemoryInfo, Queue};
use crate::map::PresentTable;
use crate::serve::{Cost, LaunchWire, Server, Waiting};
use crate::wire::Reservation;

/// A device, with the threads and wires by which its kernels call the host.
///
/// Cloning is cheap, and all clones are the same runtime. It is dropped with its last clone,
/// program, launch and buffer.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    device: Arc<dyn Device>,
    server: Arc<Server>,
    wire: Option<WireKind>,
    /// Host data that launches of typed kernels find on the device.
    data: DataEnvironment,
    /// How long a launch may take.
    deadline: Option<Duration>,
    /// Kernels that have passed their deadline.
    overdue: Overdue,
}

/// Threads may share a runtime, its programs and kernels, and pass launches on.
const _: () = {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<Runtime>();
    is_sync::<Runtime>();
    is_send::<Program>();
    is_sync::<Program>();
    is_send::<Kernel>();
    is_sync::<Kernel>();
    is_send::<Launch>();
};

impl Drop for Inner {
    fn drop(&mut self) {
        self.server.stop();
    }
}

impl Runtime {
    /// Opens the device called `device`, with the options that
    /// [environment variables](crate::base::env) set.
    ///
    /// # Errors
    /// As for [`Builder::build`].
    pub fn open(device: &str) -> Result<Self> {
        Self::builder(device).build()
    }

    /// Sets options before it opens the device called `device`.
    pub fn builder(device: &str) -> Builder {
        Builder {
            device: device.to_owned(),
            wire: None,
            threads: None,
            slots: None,
            bounce_bytes: None,
            deadline: None,
            deadlock_timeout: None,
            waiting: Waiting::Adaptive,
            initial_seq: 0,
            host_stack: None,
            trace: None,
            costs: None,
        }
    }

    /// A short description of the device for people, such as its model.
    #[must_use]
    pub fn description(&self) -> String {
        self.inner.device.description()
    }

    /// The device's memory.
    #[must_use]
    pub fn memory(&self) -> MemoryInfo {
        self.inner.device.memory()
    }

    /// The most memory and threads that calls to the host take with one wire.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.inner
            .server
            .cost(self.inner.wire.unwrap_or(WireKind::NATIVE))
    }

    /// The number of calls from kernels that have been served so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.inner.server.requests()
    }

    /// The number of threads that serve calls at the moment.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.inner.server.threads()
    }

    /// The table of host data that has a copy on the device. A host function that is called with
    /// an address in such a copy gets the address of the original.
    #[must_use]
    pub fn present(&self) -> &PresentTable {
        &self.inner.server.present
    }

    /// The copies made so far for launches of typed kernels and for mapped data.
    #[must_use]
    pub fn transfers(&self) -> Transfers {
        self.counts().read()
    }

    /// Whether both are the same runtime.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The name that opened the device.
    pub(crate) fn device_name(&self) -> &str {
        self.inner.device.name()
    }

    /// The device's kind: its name up to the first colon.
    pub(crate) fn kind(&self) -> &str {
        let name = self.device_name();
        name.split_once(':').map_or(name, |(kind, _)| kind)
    }

    /// How long a launch may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.inner.deadline
    }

    fn counts(&self) -> &Counts {
        &self.inner.data.counts
    }

    fn data_environment(&self) -> &DataEnvironment {
        &self.inner.data
    }

    /// Rejects all later calls from kernels with the status
    /// [`SHUTTING_DOWN`](shared_abi::status::Status::SHUTTING_DOWN).
    pub fn shut_down(&self) {
        self.inner.server.refuse();
    }

    /// Reserves `len` bytes of device memory at `address`. Calls from kernels cannot change them as
    /// long as the reservation lives. Reserve variables that only the host writes and that device
    /// code trusts.
    #[must_use]
    pub fn reserve(&self, address: DeviceAddr, len: u64) -> Reservation {
        self.inner.server.reserved.reserve(address, len)
    }

    /// Allocates zeroed device memory.
    ///
    /// # Errors
    /// The device has not enough memory.
    pub fn alloc(&self, bytes: u64) -> Result<DeviceBuffer> {
        self.alloc_filled(bytes, Fill::Zeros)
    }

    /// Allocates device memory with the contents that `fill` names.
    ///
    /// # Errors
    /// The device has not enough memory.
    pub fn alloc_filled(&self, bytes: u64, fill: Fill) -> Result<DeviceBuffer> {
        let address = self.inner.device.alloc(bytes, fill)?;
        Ok(self.buffer(address, bytes))
    }

    /// Whether host functions may allocate device memory while the kernels that called them wait. If
    /// not, such an allocation may wait for the kernel, which then never ends.
    #[must_use]
    pub fn allocates_beside_kernels(&self) -> bool {
        self.inner.device.allocates_beside_kernels()
    }

    /// Allocates zeroed mapped memory, which the host and the device see, for protocols of the
    /// caller's own.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory> {
        Ok(self.inner.device.alloc_mapped(bytes)?)
    }

    /// Takes ownership of newly allocated device memory.
    fn buffer(&self, address: DeviceAddr, bytes: u64) -> DeviceBuffer {
        DeviceBuffer {
            inner: Arc::clone(&self.inner),
            number: self.inner.overdue.next_allocation(),
            address,
            bytes,
        }
    }

    /// An idle queue of the device: see [`Device::queue`].
    ///
    /// [`Device::queue`]: crate::device::Device::queue
    ///
    /// # Errors
    /// The device has no queue left.
    pub fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(self.inner.device.queue()?)
    }

    /// One of a bounded number of queues: see [`Device::shared_queue`].
    ///
    /// [`Device::shared_queue`]: crate::device::Device::shared_queue
    ///
    /// # Errors
    /// The device has no queue left.
    pub fn shared_queue(&self) -> Result<Box<dyn Queue>> {
        Ok(self.inner.device.shared_queue()?)
    }

    /// A wire for one launch of a kernel that takes its wire from its arguments, as GCC's kernels
    /// for AMD GPUs do: see [`Kernel::launch_on`].
    ///
    /// # Errors
    /// The device has no mapped memory left for it.
    pub fn launch_wire(&self) -> Result<LaunchWire> {
        Ok(self.inner.server.launch_wire()?)
    }

    /// The frequency of the device's clock register, in kHz.
    #[must_use]
    pub fn clock_khz(&self) -> u32 {
        self.inner.device.clock_khz()
    }

    /// The device's architecture.
    #[must_use]
    pub fn arch(&self) -> DeviceArch {
        self.inner.device.arch()
    }

    /// Allocates device memory and copies `data` there.
    ///
    /// # Errors
    /// The device has not enough memory, or the copy failed.
    pub fn alloc_from<T: IntoBytes + Immutable>(&self, data: &[T]) -> Result<DeviceBuffer> {
        let buffer = self.alloc(size_of_val(data) as u64)?;
        buffer.write(0, data)?;
        Ok(buffer)
    }
}
