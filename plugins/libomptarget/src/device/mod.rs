//! A device: its runtime, its memory, its table, its images.

pub(crate) mod counts;
pub(crate) mod mapped;
pub(crate) mod private;
mod report;
pub(crate) mod request;
pub(crate) mod stream;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use revoff_host::Chain;
use revoff_host::device::DeviceError;
use revoff_host::device::{Fill, Queue};
use revoff_host::targets::DeviceArch;
use revoff_host::{DeviceBuffer, Runtime};

use self::table::Table;
use crate::locks::lock;
use crate::report::message::{self, Failed};

/// A device of the program.
pub(crate) struct Device {
    /// OpenMP's number.
    pub(crate) number: usize,
    /// host-rt's name.
    pub(crate) name: String,
    pub(crate) runtime: Runtime,
    /// The process that opened it.
    process: u32,
    /// The mapped data.
    pub(crate) table: Table,
    /// Whether a copy is complete when it has been enqueued.
    pub(crate) is_synchronous: bool,
    /// Whether a kernel is a function that is called, with teams and threads of OpenMP's runtime on
    /// the host.
    pub(crate) calls_kernels: bool,
    /// The program's allocations.
    allocations: Mutex<BTreeMap<u64, DeviceBuffer>>,
    /// The number of registrations when its images were loaded.
    registrations: AtomicU64,
    /// Held while images are loaded.
    loading: Mutex<()>,
}

impl Device {
    /// Opens the device called `name`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(
        number: usize,
        name: &str,
    ) -> revoff_host::Result<Self, revoff_host::RuntimeError> {
        let runtime = Runtime::open(name)?;
        let calls_kernels = runtime.arch() == DeviceArch::this_machine();
        let is_emulated = matches!(runtime.arch(), DeviceArch::Emulated(_));
        Ok(Self {
            number,
            name: name.to_owned(),
            process: std::process::id(),
            table: Table::default(),
            is_synchronous: calls_kernels || is_emulated,
            calls_kernels,
            allocations: Mutex::default(),
            registrations: AtomicU64::new(0),
            loading: Mutex::default(),
            runtime,
        })
    }

    /// Whether this process is a fork of the one that opened it.
    pub(crate) fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Uninitialised memory.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<DeviceBuffer, Failed> {
        let memory = self.runtime.alloc_filled(bytes, Fill::Any);
        memory.map_err(|error| {
            message::error(&format!(
                "Failure to allocate device memory: {}",
                Chain(&error)
            ))
        })
    }

    /// Memory that the program frees by its address.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn alloc_by_address(&self, bytes: u64) -> Result<u64, Failed> {
        let memory = self.alloc(bytes)?;
        let address = memory.address().0;
        lock(&self.allocations).insert(address, memory);
        Ok(address)
    }

    /// Frees it. Returns whether the program had allocated it.
    pub(crate) fn free_by_address(&self, address: u64) -> bool {
        let freed = lock(&self.allocations).remove(&address);
        freed.is_some()
    }

    /// Whether the address is in memory that the program has allocated.
    pub(crate) fn has_allocated(&self, address: u64) -> bool {
        let allocations = lock(&self.allocations);
        let before = allocations.range(..=address).next_back();
        before.is_some_and(|(&start, memory)| address - start < memory.bytes())
    }

    /// Calls `load`, unless it has been called since the last of `registrations`.
    pub(crate) fn load_new_images(&self, registrations: u64, load: impl FnOnce()) {
        // Acquire: a thread that sees the number sees the mapped variables of those images.
        if self.registrations.load(Ordering::Acquire) == registrations {
            return;
        }
        let _loading = lock(&self.loading);
        // Relaxed: the lock orders it here.
        if self.registrations.load(Ordering::Relaxed) != registrations {
            load();
            self.registrations.store(registrations, Ordering::Release);
        }
    }

    /// An empty queue.
    ///
    /// # Errors
    /// The device has no more.
    pub(crate) fn queue(&self) -> Result<Box<dyn Queue>, Failed> {
        let queue = self.runtime.queue();
        queue.map_err(|error| {
            message::error(&format!(
                "no queue of device {}: {}",
                self.number,
                Chain(&error)
            ))
        })
    }

    /// One of a bounded number of queues, for kernels that others wait for by events only.
    ///
    /// # Errors
    /// The device has no more.
    pub(crate) fn shared_queue(&self) -> Result<Box<dyn Queue>, Failed> {
        let queue = self.runtime.shared_queue();
        queue.map_err(|error| {
            message::error(&format!(
                "no queue of device {}: {}",
                self.number,
                Chain(&error)
            ))
        })
    }

    /// Copies outside of all constructs, and waits for the copy.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn copy(
        &self,
        copy: impl FnOnce(&mut dyn Queue) -> Result<(), DeviceError>,
    ) -> Result<(), Failed> {
        let mut queue = self.queue()?;
        let copied = copy(&mut *queue);
        // Even after a failure: a copy may still be in flight.
        let copied = copied.and(queue.synchronize());
        copied.map_err(|error| message::error(&format!("Copying data failed: {}", Chain(&error))))
    }
}
