//! Copies within device memory, for calls whose data stays there.

use std::sync::Arc;
use std::task::Poll;

use crate::device::{DeviceAddr, DeviceError, Event, EventState, Fault};
use crate::map::TransferError;

/// A copy that has started, from or to the data of an argument.
pub(super) struct DeviceCopy {
    /// Its end.
    pub(super) event: Arc<dyn Event>,
    /// The argument's data.
    pub(super) address: DeviceAddr,
    pub(super) len: usize,
}

impl DeviceCopy {
    /// Whether it is made.
    pub(super) fn poll(&self) -> Poll<Result<(), TransferError>> {
        match self.event.check() {
            EventState::Pending => Poll::Pending,
            EventState::Done => Poll::Ready(Ok(())),
            EventState::Failed(fault) => Poll::Ready(Err(self.failed(fault))),
        }
    }

    /// Waits until nothing uses the data any more.
    pub(super) fn wait(&self) {
        // A failed copy does not use it either.
        let _ = self.event.sync();
    }

    fn failed(&self, reason: Fault) -> TransferError {
        TransferError::Copy {
            device: self.address,
            len: self.len as u64,
            reason: DeviceError::DependencyFailed { reason },
        }
    }
}

/// Whether all copies are made. The first that fails ends the wait only after all others have ended.
pub(super) fn poll_all(copies: &[DeviceCopy]) -> Poll<Result<(), TransferError>> {
    let mut all = Poll::Ready(Ok(()));
    for copy in copies {
        match copy.poll() {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) if matches!(all, Poll::Ready(Ok(()))) => {
                all = Poll::Ready(Err(error));
            }
            Poll::Ready(_) => {}
        }
    }
    all
}
