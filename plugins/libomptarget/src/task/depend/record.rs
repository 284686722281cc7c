//! A task with dependences.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use revoff_host::device::{Event, EventState};

use super::address::TaskAddress;
use super::kind::TaskKind;
use super::{launching, stats};
use crate::abi::Ident;
use crate::abi::libomp::{Dependence, IN, TaskEntry};
use crate::locks::lock;
use crate::registry::construct;
use crate::report::message;
use crate::task::pending::PendingLaunch;

/// A task with dependences, from its creation to its end.
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) parent: usize,
    pub(super) kind: TaskKind,
    /// Whether libomp may run it when the kernels of its predecessors are in queues, since it is
    /// predicted to enqueue its own.
    joins_queues: bool,
    /// The program's function.
    pub(super) routine: TaskEntry,
    /// Written by libomp's task.
    first: TaskAddress,
    /// Written by its companion, if it has one.
    second: Option<TaskAddress>,
    /// Its predecessors, whose addresses are kept until it has ended.
    before: Mutex<Vec<Arc<Record>>>,
    /// Its kernel, if that is in a queue.
    queued: Mutex<Option<Queued>>,
    /// A thread has waited for the kernels in flight before it.
    has_waited: AtomicBool,
}

/// A kernel in a queue.
struct Queued {
    /// After the kernel.
    event: Arc<dyn Event>,
    /// Taken by the companion.
    pending: Option<PendingLaunch>,
    kernel: String,
    /// The construct's location: an [`Ident`]'s address.
    at: usize,
}

impl Record {
    pub(super) fn new(
        number: u64,
        parent: usize,
        kind: TaskKind,
        has_companion: bool,
        routine: TaskEntry,
        before: Vec<Arc<Self>>,
    ) -> Self {
        let is_split = has_companion && matches!(kind, TaskKind::Target(_));
        Self {
            number,
            parent,
            kind,
            joins_queues: is_split && launching::is_launching(routine),
            routine,
            first: TaskAddress::new(),
            second: has_companion.then(TaskAddress::new),
            before: Mutex::new(before),
            queued: Mutex::default(),
            has_waited: AtomicBool::new(false),
        }
    }

    /// Whether its kernel may be in flight when libomp's task has ended.
    pub(super) fn is_split(&self) -> bool {
        matches!(self.kind, TaskKind::Target(_)) && self.has_companion()
    }

    /// Written by libomp's task.
    pub(super) fn first(&self) -> &TaskAddress {
        &self.first
    }

    /// Written when it has ended.
    pub(super) fn last(&self) -> &TaskAddress {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// Its predecessors.
    pub(super) fn before(&self) -> Vec<Arc<Self>> {
        lock(&self.before).clone()
    }

    /// The dependences of libomp's task, on the addresses of its predecessors.
    pub(super) fn waited_for(&self) -> Vec<Dependence> {
        let place = |before: &Arc<Self>| {
            let place = if self.joins_queues && before.is_split() {
                before.first()
            } else {
                before.last()
            };
            place.with(IN)
        };
        lock(&self.before).iter().map(place).collect()
    }

    fn event(&self) -> Option<Arc<dyn Event>> {
        lock(&self.queued)
            .as_ref()
            .map(|queued| Arc::clone(&queued.event))
    }

    /// The events after the kernels of its predecessors.
    pub(super) fn events(&self) -> Vec<Arc<dyn Event>> {
        let before = lock(&self.before);
        before.iter().filter_map(|before| before.event()).collect()
    }

    /// Waits for the kernels in flight before it.
    pub(super) fn wait(&self) {
        // Relaxed: read by this thread alone.
        self.has_waited.store(true, Ordering::Relaxed);
        for before in self.before() {
            if let Some(event) = before.event()
                && event.sync().is_err()
            {
                before.blame();
            }
        }
    }

    /// Ends the process for the failure of this task, or of the predecessor that caused it.
    fn blame(self: Arc<Self>) -> ! {
        let failed = |record: &Arc<Self>| {
            let event = record.event();
            event.is_some_and(|event| matches!(event.check(), EventState::Failed(_)))
        };
        let mut first = self;
        while let Some(earlier) = first.before().into_iter().find(failed) {
            first = earlier;
        }
        let queued = lock(&first.queued);
        if let Some(queued) = &*queued
            && let EventState::Failed(message) = queued.event.check()
        {
            let kernel = queued.kernel.clone();
            let failed = message::error(&format!("kernel `{kernel}`: {message}"));
            construct::outcome(Err(failed), queued.at as *const Ident);
        }
        message::fatal(1, "a target task failed, and others depend on it")
    }

    /// Records that its kernel is in a queue.
    pub(super) fn queue(
        &self,
        event: Arc<dyn Event>,
        pending: PendingLaunch,
        kernel: String,
        at: *const Ident,
    ) {
        *lock(&self.queued) = Some(Queued {
            event,
            pending: Some(pending),
            kernel,
            at: at.addr(),
        });
    }

    /// Takes the pending launch of its kernel, if that is in a queue.
    pub(super) fn take_pending(&self) -> Option<PendingLaunch> {
        lock(&self.queued).as_mut()?.pending.take()
    }

    /// Counts a target task's dependences on others, by whether the device resolved them.
    pub(super) fn count(&self) {
        if !matches!(self.kind, TaskKind::Target(_)) {
            return;
        }
        let before = lock(&self.before);
        let targets = before
            .iter()
            .filter(|before| matches!(before.kind, TaskKind::Target(_)));
        // Relaxed: see `wait`.
        let has_waited = !self.joins_queues || self.has_waited.load(Ordering::Relaxed);
        let by_device = lock(&self.queued).is_some() && !has_waited;
        let (device, host): (Vec<_>, Vec<_>) =
            targets.partition(|before| by_device && before.event().is_some());
        stats::count(device.len(), host.len());
    }

    /// Forgets its predecessors, when it has ended.
    pub(super) fn forget_before(&self) {
        // After the lock is released: they may own the last references to others.
        let before = std::mem::take(&mut *lock(&self.before));
        drop(before);
    }

    /// Whether a companion ends it.
    pub(super) fn has_companion(&self) -> bool {
        self.second.is_some()
    }
}
