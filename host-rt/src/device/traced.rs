//! Spans of a queue's operations.

use std::sync::Arc;

use tracing::debug_span;

use super::{
    DeviceAddr, DeviceError, Event, Fill, Global, Grid, LaunchContext, Module, Params, Queue,
    Running,
};
use crate::base::span::{EnteredSpan, GuardedSpan, may_be_wanted};

/// The queue with spans for its copies and waits, if a subscriber may want them now. The span of a copy lasts
/// until it is queued or, if nothing is pending on `host`, made.
pub(super) fn traced(queue: impl Queue + 'static) -> Box<dyn Queue> {
    if may_be_wanted() {
        Box::new(TracedQueue(queue))
    } else {
        Box::new(queue)
    }
}

struct TracedQueue<Q>(Q);

fn copy(direction: &'static str, len: usize) -> EnteredSpan {
    GuardedSpan::new(|| debug_span!("copy", otel.name = direction, bytes = len)).enter()
}

impl<Q: Queue> Queue for TracedQueue<Q> {
    fn alloc(&mut self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        self.0.alloc(bytes, fill)
    }

    unsafe fn copy_to_device(
        &mut self,
        to: DeviceAddr,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        let _span = copy("copy to device", len);
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.copy_to_device(to, from, len) }
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        let _span = copy("copy from device", len);
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.copy_from_device(to, from, len) }
    }

    fn copy_on_device(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        let _span = copy("copy on device", len);
        self.0.copy_on_device(to, from, len)
    }

    fn copy_beside_kernels(
        &mut self,
        to: DeviceAddr,
        from: DeviceAddr,
        len: usize,
    ) -> Result<(), DeviceError> {
        let _span = copy("copy on device", len);
        self.0.copy_beside_kernels(to, from, len)
    }

    fn store_word(&mut self, to: DeviceAddr, word: u32) -> Result<(), DeviceError> {
        self.0.store_word(to, word)
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.launch(module, kernel, grid, params, context) }
    }

    fn record_event(&mut self) -> Arc<dyn Event> {
        self.0.record_event()
    }

    fn wait_event(&mut self, event: &Arc<dyn Event>) {
        self.0.wait_event(event);
    }

    fn can_wait_for(&self, event: &dyn Event) -> bool {
        self.0.can_wait_for(event)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let span = GuardedSpan::new(|| debug_span!("wait", otel.name = "wait for queue"));
        let _span = span.enter();
        self.0.synchronize()
    }
}
