//! Data on the device that has an original on the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use host_rt::DeviceBuffer;
use host_rt::device::Event;
use host_rt::ranges::HostRange;

use crate::locks::lock;
use crate::report::source::NameOf;

/// Data on the device that has an original on the host.
pub(crate) struct Mapped {
    /// Where the variable begins that it is a part of.
    base: usize,
    range: HostRange,
    /// Where the host's first byte is.
    device: u64,
    name: NameOf,
    /// Freed with it; `None` if the memory is somebody else's.
    _memory: Option<DeviceBuffer>,
    content: Mutex<Content>,
    progress: Mutex<Progress>,
    /// Told when it is ready, and when it has returned.
    settled: Condvar,
}

/// What is known of what is in its memory. The lock is held while copies to it are asked for,
/// by nobody who waits for another.
#[derive(Default)]
pub(crate) struct Content {
    /// Reached when the last copy to it is done; `None` once and for all, or if it is.
    pub(crate) event: Option<Arc<dyn Event>>,
    /// Pointers in it that point to other device data, by their host address.
    pub(crate) attached: BTreeMap<usize, Attached>,
}

/// A pointer, or a Fortran descriptor, that differs on host and device.
pub(crate) struct Attached {
    /// Where it is on the device.
    pub(crate) place: u64,
    pub(crate) on_host: Vec<u8>,
    pub(crate) on_device: Vec<u8>,
}

/// What constructs are doing with it that others wait for.
struct Progress {
    /// The construct that has put it on the device is done with that.
    is_ready: bool,
    /// Constructs that are copying it back.
    returning: u32,
    /// Threads that wait: telling nobody would cost a call of the system.
    waiting: u32,
}

impl Mapped {
    /// Data at `device`, where nobody is to use it before it is [ready](Self::set_ready).
    pub(crate) fn new(
        base: usize,
        range: HostRange,
        device: u64,
        name: NameOf,
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

    pub(crate) fn range(&self) -> HostRange {
        self.range
    }

    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    pub(crate) fn name(&self) -> NameOf {
        self.name
    }

    /// Where the device has what the host has at an address.
    pub(crate) fn at(&self, host: usize) -> u64 {
        self.device
            .wrapping_add(host.wrapping_sub(self.range.start()) as u64)
    }

    /// What is known of its memory.
    pub(crate) fn content(&self) -> MutexGuard<'_, Content> {
        lock(&self.content)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    /// What has put it on the device is done when `event` is reached, or is done.
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

    /// A construct copies it back from now on.
    pub(crate) fn begin_return(&self) {
        self.progress().returning += 1;
    }

    /// It has been copied back.
    pub(crate) fn end_return(&self) {
        self.settle(|progress| progress.returning -= 1);
    }

    /// Waits until nobody puts it on the device or copies it back, and returns what a stream has
    /// to wait for before it uses it. To be called by nobody whom others wait for here.
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

    /// Writes the host's versions of pointers over what was copied from the device.
    ///
    /// # Safety
    /// The host's memory of it is writable.
    pub(crate) unsafe fn restore_host_pointers(&self) {
        for (&host, attached) in &self.content().attached {
            let from = attached.on_host.as_ptr();
            // SAFETY: the caller's promise; what is attached lies in it.
            unsafe { std::ptr::copy_nonoverlapping(from, host as *mut u8, attached.on_host.len()) };
        }
    }
}
