//! Servers for tests.

use std::sync::Arc;
use std::time::Duration;

use super::{Config, Server, Waiting};
use crate::base::env::Env;
use crate::device::{self, Device};
use crate::wire::WireConfig;

/// The `host` device.
pub(super) fn host() -> Arc<dyn Device> {
    device::open("host", &Env::default()).unwrap()
}

/// A server of `device` with at most one thread.
pub(super) fn server(device: Arc<dyn Device>) -> Arc<Server> {
    let config = Config {
        threads: 1,
        wire: WireConfig {
            slots: 8,
            lanes: 1,
            initial_seq: 0,
        },
        bounce_bytes: 1 << 20,
        request_memory: 1 << 20,
        deadlock_timeout: Duration::from_secs(10),
        waiting: Waiting::Adaptive,
    };
    Server::new(device, config)
}
