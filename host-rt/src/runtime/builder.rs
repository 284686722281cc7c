//! How a runtime is to be.

use std::sync::Arc;
use std::time::Duration;

use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};

use super::overdue::Overdue;
use super::{Environment, Inner, Result, Runtime};
use crate::base::env::Env;
use crate::device::{self, OpenOptions, Trace};
use crate::serve::{Config, Server, Waiting};
use crate::wire::WireConfig;

/// Threads that serve calls, unless somebody says otherwise: libgomp's number.
const DEFAULT_THREADS: usize = 8;

/// Slots of a `native` wire, unless somebody says otherwise: as many as
/// `gcc-ring` has.
const DEFAULT_SLOTS: u32 = 1024;

/// Size of the bounce area, unless somebody says otherwise.
const DEFAULT_BOUNCE: u64 = 16 << 20;

/// Host memory that calls may hold together, unless somebody says otherwise.
const DEFAULT_REQUEST_MEMORY: u64 = 4 << 30;

/// The bounce area is made of these: the longest extents.
const BOUNCE_STEP: u64 = MAX_EXTENT as u64 * BLOCK as u64;

/// The largest bounce area.
const MAX_BOUNCE: u64 = 1 << 30;

/// Says how a [`Runtime`] is to be; what it does not say, the environment does
/// (see [`crate::base::env`]).
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    pub(super) device: String,
    pub(super) wire: Option<WireKind>,
    pub(super) threads: Option<usize>,
    pub(super) slots: Option<u32>,
    pub(super) bounce_bytes: Option<u64>,
    pub(super) deadline: Option<Duration>,
    pub(super) waiting: Waiting,
    pub(super) initial_seq: u32,
    pub(super) trace: Option<Trace>,
}

impl Builder {
    /// The wire that images speak which can speak several. Default: `native`.
    pub fn wire(mut self, wire: WireKind) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Most threads that serve calls, at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Slots of a `native` wire, rounded up to a power of two, at most 1024.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots.clamp(1, DEFAULT_SLOTS).next_power_of_two());
        self
    }

    /// Size of the bounce area, rounded up to a multiple of 512 KiB (the longest
    /// extent), at most 1 GiB. A smaller area makes callers wait for each other.
    pub fn bounce_bytes(mut self, bytes: u64) -> Self {
        let rounded = bytes.clamp(1, MAX_BOUNCE).next_multiple_of(BOUNCE_STEP);
        self.bounce_bytes = Some(rounded);
        self
    }

    /// How long [`Launch::wait`](crate::Launch::wait) waits, from the start of the
    /// kernel on, before it gives up with [`LaunchError::Deadline`]; a second wait gives
    /// it the same time again. Default: for ever.
    ///
    /// No device can end a kernel that does not end by itself, so it runs on, its calls
    /// are served, and what was allocated before the deadline is not freed while it runs.
    ///
    /// [`LaunchError::Deadline`]: crate::LaunchError::Deadline
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Follows a device thread, which `emu` can do: its instructions are told one by one.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// How to wait for requests while a kernel runs.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// The sequence number or ticket that wires start at: a test that starts just below the
    /// wrap passes it at once.
    #[doc(hidden)]
    pub fn initial_seq(mut self, seq: u32) -> Self {
        self.initial_seq = seq;
        self
    }

    /// Opens the device.
    ///
    /// # Errors
    /// There is no such device, it cannot be opened, or a variable of the environment
    /// has an invalid value.
    pub fn build(self) -> Result<Runtime> {
        let env = Env::read()?;
        let options = OpenOptions {
            env: &env,
            trace: self.trace.as_ref(),
        };
        let device = device::open_as(&self.device, &options)?;
        let config = Config {
            threads: self.threads.or(env.threads).unwrap_or(DEFAULT_THREADS),
            wire: WireConfig {
                slots: self.slots.or(env.slots).unwrap_or(DEFAULT_SLOTS),
                initial_seq: self.initial_seq,
            },
            bounce_bytes: self
                .bounce_bytes
                .or(env.bounce_bytes)
                .unwrap_or(DEFAULT_BOUNCE) as usize,
            request_memory: env.request_memory.unwrap_or(DEFAULT_REQUEST_MEMORY),
            waiting: self.waiting,
        };
        let server = Server::new(Arc::clone(&device), config);
        Ok(Runtime {
            inner: Arc::new(Inner {
                device,
                server,
                wire: self.wire,
                deadline: self.deadline.or(env.deadline),
                overdue: Overdue::default(),
                data: Environment::default(),
            }),
        })
    }
}
