//! A device: its runtime, its memory, its table, its images.

pub(crate) mod counts;
pub(crate) mod mapped;
pub(crate) mod private;
pub(crate) mod stream;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use host_rt::device::{Fill, Queue};
use host_rt::error::DeviceError;
use host_rt::targets::DeviceArch;
use host_rt::{DeviceBuffer, Runtime};

use self::table::Table;
use crate::locks::lock;
use crate::report::message::{self, Failed};

/// A device that programs see.
pub(crate) struct Device {
    /// OpenMP's.
    pub(crate) number: usize,
    /// host-rt's.
    pub(crate) name: String,
    pub(crate) runtime: Runtime,
    /// The process that has opened it.
    process: u32,
    /// What is mapped.
    pub(crate) table: Table,
    /// Whether a copy is done when it has been asked for.
    pub(crate) copies_at_once: bool,
    /// Whether a kernel is a function that is called, of whose teams and threads OpenMP's
    /// runtime on the host takes care.
    pub(crate) calls_kernels: bool,
    /// What the program has allocated.
    allocations: Mutex<BTreeMap<u64, DeviceBuffer>>,
    /// How often something had been registered when its images were loaded.
    registrations: AtomicU64,
    /// Held while images are loaded.
    loading: Mutex<()>,
}

impl Device {
    /// Opens the device called `name`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(number: usize, name: &str) -> host_rt::Result<Self> {
        let runtime = Runtime::open(name)?;
        let calls_kernels = runtime.arch() == DeviceArch::this_machine();
        let is_emulated = matches!(runtime.arch(), DeviceArch::Emulated(_));
        Ok(Self {
            number,
            name: name.to_owned(),
            process: std::process::id(),
            table: Table::default(),
            copies_at_once: calls_kernels || is_emulated,
            calls_kernels,
            allocations: Mutex::default(),
            registrations: AtomicU64::new(0),
            loading: Mutex::default(),
            runtime,
        })
    }

    /// Whether this process is a fork of the one that has opened it.
    pub(crate) fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Memory, whatever is in it.
    ///
    /// # Errors
    /// There is not that much.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<DeviceBuffer, Failed> {
        let memory = self.runtime.alloc_filled(bytes, Fill::Any);
        memory
            .map_err(|error| message::error(&format!("Failure to allocate device memory: {error}")))
    }

    /// Memory that the program has to free by its address.
    ///
    /// # Errors
    /// There is not that much.
    pub(crate) fn alloc_by_address(&self, bytes: u64) -> Result<u64, Failed> {
        let memory = self.alloc(bytes)?;
        let address = memory.address();
        lock(&self.allocations).insert(address, memory);
        Ok(address)
    }

    /// Frees it; whether there was any.
    pub(crate) fn free_by_address(&self, address: u64) -> bool {
        let freed = lock(&self.allocations).remove(&address);
        freed.is_some()
    }

    /// Whether the address lies in memory that the program has allocated.
    pub(crate) fn has_allocated(&self, address: u64) -> bool {
        let allocations = lock(&self.allocations);
        let before = allocations.range(..=address).next_back();
        before.is_some_and(|(&start, memory)| address - start < memory.bytes())
    }

    /// Has `load` load images, unless it has since there have been `registrations`.
    pub(crate) fn load_new_images(&self, registrations: u64, load: impl FnOnce()) {
        // Acquire: what was loaded before is mapped for whoever sees the number.
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

    /// A queue in which nothing is under way.
    ///
    /// # Errors
    /// The device has no more.
    pub(crate) fn queue(&self) -> Result<Box<dyn Queue>, Failed> {
        let queue = self.runtime.queue();
        queue.map_err(|error| {
            message::error(&format!("no queue of device {}: {error}", self.number))
        })
    }

    /// One of a bounded number of queues, for a kernel that others wait for by events alone.
    ///
    /// # Errors
    /// The device has no more.
    pub(crate) fn shared_queue(&self) -> Result<Box<dyn Queue>, Failed> {
        let queue = self.runtime.shared_queue();
        queue.map_err(|error| {
            message::error(&format!("no queue of device {}: {error}", self.number))
        })
    }

    /// Copies beside all constructs, and waits for it.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn copy(
        &self,
        copy: impl FnOnce(&mut dyn Queue) -> Result<(), DeviceError>,
    ) -> Result<(), Failed> {
        let mut queue = self.queue()?;
        let copied = copy(&mut *queue);
        // Also after a failure: something may still be under way.
        let copied = copied.and(queue.synchronize());
        copied.map_err(|error| message::error(&format!("Copying data failed: {error}")))
    }
}
