//! Kernels.

use std::sync::Arc;

use host_rt::device::{BlockShape, LaunchContext};

/// The launch context for the `host` device: a GPU's threads have no launch key, and cannot wake
/// the host.
#[must_use]
pub fn context() -> LaunchContext {
    LaunchContext {
        block: BlockShape::default(),
        key: 0,
        calls_host: false,
        wake_host: Arc::new(|| {}),
        ended: Arc::new(|| {}),
    }
}
