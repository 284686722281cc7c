//! Data on the device with an original on the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use revoff_host::DeviceBuffer;
use revoff_host::device::Event;
use revoff_host::ranges::AddrRange;

use crate::locks::lock;
use crate::report::source::SourceName;

/// Data on the device with an original on the host.
pub(crate) struct Mapped {
    /// The begin of the variable that it is a part of.
    base: usize,
    range: AddrRange,
    /// The device address of its first byte.
    device: u64,
    name: SourceName,
    /// Freed with it; `None` if it does not own the memory.
    _memory: Option<DeviceBuffer>,
    content: Mutex<Content>,
    progress: Mutex<Progress>,
    /// Notified when it is ready, and when it has been copied back.
    settled: Condvar,
}

/// The state of its memory. The lock is held while copies to it are enqueued, and never while
/// waiting for another.
#[derive(Default)]
pub(crate) struct Content {
    /// The end of the last copy to it; `None` if that is over.
    pub(crate) event: Option<Arc<dyn Event>>,
    /// Pointers in it to other device data, by their host address.
    pub(crate) attached: BTreeMap<usize, Attached>,
}

/// A pointer, or a Fortran descriptor, that differs on host and device.
pub(crate) struct Attached {
    /// Its address on the device.
    pub(crate) place: u64,
    pub(crate) on_host: Vec<u8>,
    pub(crate) on_device: Vec<u8>,
}

/// The operations of constructs that others wait for.
struct Progress {
    /// The construct that creates it has finished that.
    is_ready: bool,
    /// Constructs that are copying it back.
    returning: u32,
    /// Waiting threads: a notification without any would cost a system call.
    waiting: u32,
}

impl Mapped {
    /// Data at `device`, which must not be used before it is [ready](Self::set_ready).
    pub(crate) fn new(
        base: usize,
        range: AddrRange,
        device: u64,
        name: SourceName,
        memory: Option<DeviceBuffer>,
    ) -> Self {
        Self {
            base,
            range,
            device,
            name,
            _memory: memory,
            content: Mutex::default(),
            progress: Mutex::new(Progress {
                is_ready: false,
                returning: 0,
                waiting: 0,
            }),
            settled: Condvar::new(),
        }
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    pub(crate) fn range(&self) -> AddrRange {
        self.range
    }

    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    pub(crate) fn name(&self) -> SourceName {
        self.name
    }

    /// The device address of a host address.
    pub(crate) fn at(&self, host: usize) -> u64 {
        self.device
            .wrapping_add(host.wrapping_sub(self.range.start()) as u64)
    }

    /// The state of its memory.
    pub(crate) fn content(&self) -> MutexGuard<'_, Content> {
        lock(&self.content)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    /// Marks it as ready, at `event` or now.
    pub(crate) fn set_ready(&self, event: Option<Arc<dyn Event>>) {
        if event.is_some() {
            self.content().event = event;
        }
        self.settle(|progress| progress.is_ready = true);
    }

    fn settle(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress();
        change(&mut progress);
        if progress.waiting > 0 {
            self.settled.notify_all();
        }
    }

    /// A construct starts to copy it back.
    pub(crate) fn begin_return(&self) {
        self.progress().returning += 1;
    }

    /// The construct has copied it back.
    pub(crate) fn end_return(&self) {
        self.settle(|progress| progress.returning -= 1);
    }

    /// Waits until no construct creates it or copies it back. Returns the event that a stream has to
    /// wait for before it uses it. The caller must not be a construct that others wait for here.
    pub(crate) fn wait_until_ready(&self) -> Option<Arc<dyn Event>> {
        let mut progress = self.progress();
        progress.waiting += 1;
        while !progress.is_ready || progress.returning > 0 {
            let woken = self.settled.wait(progress);
            progress = woken.unwrap_or_else(PoisonError::into_inner);
        }
        progress.waiting -= 1;
        drop(progress);
        self.content().event.clone()
    }

    /// Overwrites pointers that were copied from the device with the host's values.
    ///
    /// # Safety
    /// The host's memory of it is writable.
    pub(crate) unsafe fn restore_host_pointers(&self) {
        for (&host, attached) in &self.content().attached {
            let from = attached.on_host.as_ptr();
            // SAFETY: the caller's promise; attached pointers are in it.
            unsafe { std::ptr::copy_nonoverlapping(from, host as *mut u8, attached.on_host.len()) };
        }
    }
}
