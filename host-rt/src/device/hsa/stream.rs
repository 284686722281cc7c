//! Streams: operations in order, some by a hardware queue, others by the copy engines. Each waits
//! for the signal of the one before it.

use std::collections::VecDeque;
use std::sync::Arc;

use hsa_runtime_sys::{hsa_agent_t, hsa_kernel_dispatch_packet_t, hsa_signal_t};

use super::aql::Aql;
use super::blocks::Block;
use super::context::Context;
use super::copy::Copy;
use super::signal::{Signal, Signals};
use crate::device::DeviceError;
use crate::device::gpu::pool::Pooled;
use crate::device::gpu::readback;

/// Maximum pinned memory for staged bytes of a stream. A caller that queues more waits for the
/// oldest copies.
const STAGING: usize = 4 << 20;

/// The copies to the host, from a block.
pub(super) type Readback = readback::Readback<Arc<Block>>;

/// A stream.
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    signals: Arc<Signals>,
    /// Created for the first kernel.
    aql: Option<Aql>,
    /// Further signals that the next operation waits for.
    waits: Vec<Arc<Signal>>,
    /// Operations that may not be done, in order.
    pending: VecDeque<Operation>,
    /// Their staged bytes.
    staged: usize,
}

/// An operation, and the resources that it needs until it is done.
struct Operation {
    signal: Arc<Signal>,
    /// The signals that it waits for.
    _after: Vec<Arc<Signal>>,
    /// Its arguments, or staged bytes.
    _held: Option<Arc<Block>>,
    /// The number of staged bytes.
    staged: usize,
    /// Its copy to the host.
    readback: Option<Arc<Readback>>,
    is_kernel: bool,
}

impl Stream {
    pub(super) fn new(context: &Arc<Context>, signals: &Arc<Signals>) -> Self {
        Self {
            context: Arc::clone(context),
            signals: Arc::clone(signals),
            aql: None,
            waits: Vec::new(),
            pending: VecDeque::new(),
            staged: 0,
        }
    }

    /// Forgets finished operations, and finishes their copies to the host.
    fn prune(&mut self) {
        while let Some(first) = self.pending.front()
            && first.signal.is_over()
            // Notices a failure that nothing else has asked about.
            && let Some(how) = first.signal.poll()
            && let Some(first) = self.pending.pop_front()
        {
            self.staged -= first.staged;
            match (how, first.readback) {
                (Ok(()), Some(readback)) => {
                    // SAFETY: the copy is done. A wait for it by an event has finished it; the
                    // targets of all others are left alone until they are waited for.
                    let _ = unsafe { readback.finish() };
                }
                (Err(error), Some(readback)) => readback.give_up(&(&error).into()),
                (_, None) => {}
            }
        }
        self.waits.retain(|signal| !signal.is_over());
        if let Some(aql) = &mut self.aql {
            aql.prune();
        }
    }

    /// Waits until `len` more bytes, at most a piece, can be staged.
    pub(super) fn make_room(&mut self, len: usize) -> Result<(), DeviceError> {
        self.prune();
        while self.staged + len > STAGING
            && let Some(first) = self.pending.front()
        {
            first.signal.wait_for_end()?;
            self.prune();
        }
        Ok(())
    }

    /// The signals that the next operation waits for: the previous operation's, and those of
    /// events.
    fn after(&self) -> Vec<Arc<Signal>> {
        let last = self.pending.back().map(|operation| &operation.signal);
        last.into_iter().chain(&self.waits).cloned().collect()
    }

    /// Records a queued operation.
    fn queued(&mut self, operation: Operation) {
        self.waits.clear();
        self.staged += operation.staged;
        self.pending.push_back(operation);
    }

    /// Queues a copy; `held` is its staged side, and `readback` its copy from there to the host.
    ///
    /// # Safety
    /// Both ranges are valid, for their agents and the device, until the copy is done; staged
    /// memory is held as long.
    pub(super) unsafe fn copy(
        &mut self,
        to: (u64, hsa_agent_t),
        from: (u64, hsa_agent_t),
        len: usize,
        held: Option<Arc<Block>>,
        readback: Option<Arc<Readback>>,
    ) -> Result<(), DeviceError> {
        self.prune();
        let signal = self.signals.take()?;
        let after = self.after();
        let copy = Box::new(Copy {
            context: Arc::clone(&self.context),
            to,
            from,
            len,
            signal: Arc::clone(&signal),
            after: after.clone(),
        });
        // SAFETY: the caller's promise.
        unsafe { copy.start()? };
        self.queued(Operation {
            signal,
            _after: after,
            staged: if held.is_some() { len } else { 0 },
            _held: held,
            readback,
            is_kernel: false,
        });
        Ok(())
    }

    /// Drops pending copies to the host: nothing waits for them any more, except by events.
    pub(super) fn drop_readbacks(&mut self) {
        for operation in &mut self.pending {
            operation.readback = None;
        }
    }

    /// Gives up the copies to the host of the last `last` operations.
    pub(super) fn give_up_readbacks(&mut self, last: usize, why: &DeviceError) {
        for operation in self.pending.iter_mut().rev().take(last) {
            if let Some(readback) = operation.readback.take() {
                readback.give_up(&why.into());
            }
        }
    }

    /// The hardware queue.
    pub(super) fn aql(&mut self) -> Result<&mut Aql, DeviceError> {
        match &mut self.aql {
            Some(aql) => Ok(aql),
            none => Ok(none.insert(Aql::new(&self.context)?)),
        }
    }

    /// Queues a kernel; returns its signal.
    ///
    /// # Safety
    /// As for [`Aql::dispatch`]; its arguments are in `arguments`, and its code stays until the
    /// signal reports its end.
    pub(super) unsafe fn dispatch(
        &mut self,
        packet: hsa_kernel_dispatch_packet_t,
        dimensions: u16,
        arguments: Block,
    ) -> Result<Arc<Signal>, DeviceError> {
        self.prune();
        let signal = self.signals.take()?;
        let after = self.after();
        // Kernels of one queue are in order anyway.
        let is_behind_kernel = self.pending.back().is_some_and(|last| last.is_kernel);
        let others = after.iter().skip(usize::from(is_behind_kernel));
        let raw: Vec<hsa_signal_t> = others.map(|signal| signal.raw).collect();
        let queued = self.aql().and_then(|aql| {
            aql.wait_for(&raw)?;
            // SAFETY: the caller's promise; the signal is kept until the kernel has ended.
            unsafe { aql.dispatch(packet, dimensions, &signal) }
        });
        if queued.is_err() {
            // Nothing will change it.
            signal.abandon();
        }
        // Even after a failure: a barrier may be in the queue already.
        self.queued(Operation {
            signal: Arc::clone(&signal),
            _after: after,
            _held: Some(Arc::new(arguments)),
            staged: 0,
            readback: None,
            is_kernel: true,
        });
        queued.map(|()| signal)
    }

    /// Makes operations queued from now on wait for these signals.
    pub(super) fn wait_for(&mut self, signals: &[Arc<Signal>]) {
        self.prune();
        self.waits.extend(signals.iter().cloned());
    }

    /// The place after everything so far: the operations and the copies that precede it.
    pub(super) fn place(&self) -> (Vec<Arc<Signal>>, Vec<Arc<Readback>>) {
        let readbacks = self.pending.iter().filter_map(|one| one.readback.clone());
        (self.after(), readbacks.collect())
    }

    /// Waits until the stream is idle, and finishes its copies. On a lost device operations may
    /// stay pending: their copies are given up, since their targets are not left alone any longer.
    pub(super) fn synchronize(&mut self) -> Result<(), DeviceError> {
        let after = self.after();
        let mut waits = after.iter();
        let done = waits.try_for_each(|signal| signal.wait_for_end());
        match &done {
            Ok(()) => self.prune(),
            Err(error) => self.give_up_readbacks(self.pending.len(), error),
        }
        done
    }

    /// Stops the work of a stream on a lost device.
    pub(super) fn stop(&mut self) {
        self.aql = None;
        for operation in &self.pending {
            // Copies end once their dependencies do.
            if operation.is_kernel {
                operation.signal.abandon();
            }
        }
    }
}

impl Pooled for Stream {
    fn is_idle(&mut self) -> bool {
        self.prune();
        self.pending.is_empty() && self.waits.is_empty()
    }
}
