//! The loss of a device.

use std::sync::OnceLock;

use crate::device::{DeviceError, LossReason};

/// Whether a device is lost, and the first reason.
#[derive(Default)]
pub(in crate::device) struct DeviceLoss(OnceLock<Loss>);

struct Loss {
    reason: LossReason,
    may_be_running: bool,
}

impl Loss {
    fn error(&self, name: &str) -> DeviceError {
        DeviceError::Lost {
            device: name.to_owned(),
            reason: self.reason.clone(),
        }
    }
}

impl DeviceLoss {
    /// Marks the device, called `name`, as lost, unless it is already. With `may_be_running` its
    /// kernels may continue to run. Returns the error with the first reason, and whether that is
    /// this one.
    pub(in crate::device) fn set(
        &self,
        name: &str,
        reason: LossReason,
        may_be_running: bool,
    ) -> (DeviceError, bool) {
        let mut is_first = false;
        let loss = self.0.get_or_init(|| {
            is_first = true;
            Loss {
                reason,
                may_be_running,
            }
        });
        (loss.error(name), is_first)
    }

    /// Whether the device is lost.
    pub(in crate::device) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether the device is lost although its kernels may still run.
    pub(in crate::device) fn may_be_running(&self) -> bool {
        self.0.get().is_some_and(|loss| loss.may_be_running)
    }

    /// Checks that the device, called `name`, is not lost.
    ///
    /// # Errors
    /// The device is lost.
    pub(in crate::device) fn check(&self, name: &str) -> Result<(), DeviceError> {
        self.0.get().map_or(Ok(()), |loss| Err(loss.error(name)))
    }
}
