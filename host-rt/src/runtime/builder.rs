//! The options of a runtime, and their defaults.

use std::sync::Arc;
use std::time::Duration;

use bus_cost::CountCosts;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};

use super::overdue::Overdue;
use super::{DataEnvironment, Inner, Result, Runtime};
use crate::base::env::Env;
use crate::base::sleep::spins;
use crate::device::{self, OpenOptions, Trace};
use crate::serve::{Config, Server, Waiting};
use crate::wire::WireConfig;

/// Default number of threads that serve calls, the same as libgomp's.
const DEFAULT_THREADS: usize = 8;

/// Default number of slots of a `native` wire, the same as `gcc-ring`'s.
const DEFAULT_SLOTS: u32 = 1024;

/// The same for a device with warps, each of which takes a slot and 32 KiB of mapped memory or more.
const DEFAULT_WARP_SLOTS: u32 = 256;

/// Default size of the bounce area, in bytes.
const DEFAULT_BOUNCE: u64 = 16 << 20;

/// Default limit of the host memory that all calls hold together, in bytes.
const DEFAULT_REQUEST_MEMORY: u64 = 4 << 30;

/// Default time without progress after which nested launches count as deadlocked.
const DEFAULT_DEADLOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The bounce area is a multiple of this, the size of the longest extent.
const BOUNCE_STEP: u64 = MAX_EXTENT as u64 * BLOCK as u64;

/// The largest bounce area, in bytes.
const MAX_BOUNCE: u64 = 1 << 30;

/// Sets the options of a [`Runtime`]. [Environment variables](crate::base::env) set those that the
/// builder does not.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    pub(super) device: String,
    pub(super) wire: Option<WireKind>,
    pub(super) threads: Option<usize>,
    pub(super) slots: Option<u32>,
    pub(super) bounce_bytes: Option<u64>,
    pub(super) deadline: Option<Duration>,
    pub(super) deadlock_timeout: Option<Duration>,
    pub(super) waiting: Waiting,
    pub(super) initial_seq: u32,
    pub(super) host_stack: Option<u64>,
    pub(super) trace: Option<Trace>,
    pub(super) costs: Option<CountCosts>,
}

impl Builder {
    /// The wire for images that can speak several. Default: `native`.
    pub fn wire(mut self, wire: WireKind) -> Self {
        self.wire = Some(wire);
        self
    }

    /// The maximum number of threads that serve calls, at least 1. Default: 8.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The number of slots of a `native` wire, rounded up to a power of two, at most 1024.
    /// Default: 1024.
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots.clamp(1, DEFAULT_SLOTS).next_power_of_two());
        self
    }

    /// The size of the bounce area, through which the device passes memory that the host cannot
    /// reach. Rounded up to a multiple of 512 KiB (the longest extent), at most 1 GiB. In a small
    /// area, callers wait for each other. Default: 16 MiB.
    pub fn bounce_bytes(mut self, bytes: u64) -> Self {
        let rounded = bytes.clamp(1, MAX_BOUNCE).next_multiple_of(BOUNCE_STEP);
        self.bounce_bytes = Some(rounded);
        self
    }

    /// The time after the kernel's start when [`Launch::wait`](crate::Launch::wait) gives up with
    /// [`LaunchError::Deadline`], and [aborts](crate::Launch::abort) the launch. A second wait lasts as
    /// long again. Default: no deadline.
    ///
    /// No device can end a kernel that does not end by itself. If it does not end after its calls
    /// were aborted, it runs on. Memory that was allocated before the deadline and is dropped while
    /// the kernel runs is never freed.
    ///
    /// [`LaunchError::Deadline`]: crate::LaunchError::Deadline
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long calls whose functions wait for kernels may keep all slots or bounce blocks while nothing
    /// else happens. Then the runtime assumes that these kernels wait for one, and aborts a launch,
    /// whose error is [`CallError::Deadlock`](crate::CallError::Deadlock). Set it to more than a kernel
    /// takes that host functions wait for. Default: 10 seconds.
    pub fn deadlock_timeout(mut self, timeout: Duration) -> Self {
        self.deadlock_timeout = Some(timeout);
        self
    }

    /// The stack of a device thread of the `host` device, in bytes, at least 16 KiB: address space, of
    /// which it takes what it uses. Other devices ignore this. Default: 256 KiB.
    pub fn host_stack(mut self, bytes: u64) -> Self {
        self.host_stack = Some(bytes.max(16 << 10));
        self
    }

    /// Traces the instructions of one device thread, which only `emu` can do.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Counts what kernels do on the bus between device and host, which only `emu` can do.
    pub fn costs(mut self, costs: CountCosts) -> Self {
        self.costs = Some(costs);
        self
    }

    /// How the host waits for requests while a kernel runs.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// The sequence number or ticket that wires start at. Tests start just below the wrap, so that
    /// they pass it.
    #[doc(hidden)]
    pub fn initial_seq(mut self, seq: u32) -> Self {
        self.initial_seq = seq;
        self
    }

    /// Opens the device.
    ///
    /// # Errors
    /// There is no such device, it cannot be opened, or an environment variable has an invalid
    /// value.
    pub fn build(self) -> Result<Runtime> {
        let env = Env::read()?;
        revoff_telemetry::install()?;
        // Before threads of the program are bound to processors.
        spins(0);
        let options = OpenOptions {
            env: &env,
            host_stack: self.host_stack,
            trace: self.trace.as_ref(),
            costs: self.costs.as_ref(),
        };
        let device = device::open_as(&self.device, &options)?;
        let lanes = device.arch().max_lanes();
        let config = Config {
            threads: self.threads.or(env.threads).unwrap_or(DEFAULT_THREADS),
            wire: WireConfig {
                slots: self.slots.or(env.slots).unwrap_or(if lanes == 1 {
                    DEFAULT_SLOTS
                } else {
                    DEFAULT_WARP_SLOTS
                }),
                lanes,
                initial_seq: self.initial_seq,
            },
            bounce_bytes: self
                .bounce_bytes
                .or(env.bounce_bytes)
                .unwrap_or(DEFAULT_BOUNCE) as usize,
            request_memory: env.request_memory.unwrap_or(DEFAULT_REQUEST_MEMORY),
            deadlock_timeout: self
                .deadlock_timeout
                .or(env.deadlock_timeout)
                .unwrap_or(DEFAULT_DEADLOCK_TIMEOUT),
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
                data: DataEnvironment::default(),
            }),
        })
    }
}
