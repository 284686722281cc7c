//! A wire that the server polls.

use std::sync::Arc;

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::wire::{RequestPoller, Wire};

/// A served wire.
pub(super) struct ServedWire {
    pub(super) wire: Arc<Wire>,
    /// Key of the launch that owns it; 0 if all launches share it.
    pub(super) launch: AtomicU32,
    /// Whether it is no longer served.
    pub(super) retired: AtomicBool,
    /// End of its last text, as a position in the server's.
    pub(super) text_end: AtomicU64,
}

impl ServedWire {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self {
            wire,
            launch: AtomicU32::new(0),
            retired: AtomicBool::new(false),
            text_end: AtomicU64::new(0),
        }
    }

    /// End of its last text, as a position in the server's; 0 if it had none.
    pub(super) fn text_end(&self) -> u64 {
        // Relaxed: only the holder of the token writes and reads it.
        self.text_end.load(Ordering::Relaxed)
    }

    /// Key of the launch that its errors are reported for; 0 if unknown.
    pub(super) fn launch(&self) -> u32 {
        // Relaxed: stored before the launch, whose message was read before this.
        self.launch.load(Ordering::Relaxed)
    }
}

/// A wire and its poller.
pub(super) struct Source {
    pub(super) poller: Box<RequestPoller>,
    pub(super) wire: Arc<ServedWire>,
}
