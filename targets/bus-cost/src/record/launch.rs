//! The counts of a launch.

use std::sync::{Mutex, PoisonError};

use super::recorder::Recorder;
use crate::counts::CountCosts;

/// The counts of a launch.
#[derive(Debug)]
pub struct LaunchCosts {
    request: CountCosts,
    /// The counts of ended warps.
    sum: Mutex<Recorder<()>>,
}

impl LaunchCosts {
    /// No counts yet, for a request.
    #[must_use]
    pub fn new(request: CountCosts) -> Self {
        Self {
            request,
            sum: Mutex::default(),
        }
    }

    /// Adds the counts of an ended warp.
    pub fn add<F>(&self, warp: Recorder<F>) {
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.add(warp);
    }

    /// Reports the counts of a kernel's launch, which has ended.
    pub fn report(&self, kernel: &str) {
        let sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let costs = sum.costs(&self.request.entry);
        drop(sum);
        (self.request.sink)(kernel, &costs);
    }
}
