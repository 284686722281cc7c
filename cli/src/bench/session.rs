//! A runtime with the benchmark's image: one per measurement, so that measurements do not affect
//! each other.

use std::time::{Duration, Instant};

use bench_calls::buckets;
use bench_calls::rpc::RPC;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{DeviceBuffer, KernelArg, Launch, Program, Runtime, Waiting};

use super::context::Bench;
use super::host_functions::functions;
use super::latency::{Latency, tick_ns};
use super::os_threads;
use super::peers::{self, LLVM_RPC, serve_rpc};
use super::shape::Shape;

/// The warm-up before calls count: all threads run, are pinned, and have a steady rate.
pub(crate) const WARM_UP: Duration = Duration::from_millis(20);

/// The time to start one of many device threads, and to serve its first call.
const WARM_UP_OF_A_THREAD: Duration = Duration::from_micros(10);

/// Calls of all threads between two readings of the clock. A thread whose calls take long because
/// others call too reads the clock after each.
const BATCH: u64 = 16;

/// Threads whose calls are timed, at most: each needs memory for its times.
pub(crate) const TIMED: u64 = 64;

/// How a runtime waits by default.
pub(crate) const ADAPTIVE: Waiting = Waiting::Adaptive;

/// How the parallel patch for GCC waits after each poll of its ring.
pub(crate) const PATCHED: Waiting = Waiting::Sleep(Duration::from_micros(1));

/// The transport of calls, and how the host waits for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setup {
    /// A wire of the runtime.
    Wire { wire: WireKind, waiting: Waiting },
    /// The peer [`LLVM_RPC`], whose server polls without sleeping.
    LlvmRpc,
}

impl Setup {
    /// The wire's name, or the peer's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wire { wire, .. } => wire.name().unwrap_or_default(),
            Self::LlvmRpc => LLVM_RPC,
        }
    }

    /// The name of its way of waiting.
    pub(crate) fn waiting_name(self) -> &'static str {
        match self {
            Self::Wire { waiting, .. } => waiting_name(waiting),
            Self::LlvmRpc => "spin",
        }
    }

    /// Whether it is this wire.
    pub(crate) fn is_on(self, kind: WireKind) -> bool {
        matches!(self, Self::Wire { wire, .. } if wire == kind)
    }

    /// The kernels' number for the call `what` made in this way.
    fn call(self, what: u32) -> u32 {
        match self {
            Self::Wire { .. } => what,
            Self::LlvmRpc => what | RPC,
        }
    }
}

/// The name of a way of waiting.
pub(crate) fn waiting_name(waiting: Waiting) -> &'static str {
    if waiting == PATCHED {
        "sleep-1us"
    } else {
        "adaptive"
    }
}

/// An interval of the device's time, in nanoseconds.
#[derive(Clone, Copy)]
struct Window {
    from: u64,
    until: u64,
}

/// The parameters of a session.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) setup: Setup,
    pub(crate) grid: Shape,
    /// The maximum number of host threads; by default the environment's.
    pub(crate) host_threads: Option<usize>,
    /// The cores of the device threads and of the serving threads.
    pub(crate) cores: Option<[usize; 2]>,
}

/// A runtime, and the cores of its threads.
pub(crate) struct Session<'a> {
    bench: &'a Bench,
    runtime: Runtime,
    program: Program,
    setup: Setup,
    /// The server of a peer.
    _connection: Option<bench_rpc::Connection>,
    grid: Shape,
    cores: Option<[usize; 2]>,
    /// All launches so far ran on their cores.
    pinned: bool,
}

impl<'a> Session<'a> {
    pub(crate) fn open(bench: &'a Bench, this: Use) -> anyhow::Result<Self> {
        let mut builder = Runtime::builder(bench.name());
        if let Setup::Wire { wire, waiting } = this.setup {
            builder = builder.wire(wire).waiting(waiting);
        }
        if let Some(threads) = this.host_threads {
            builder = builder.threads(threads);
        }
        let runtime = builder.build()?;
        let program = runtime.load(&bench.image, &functions()?)?;
        let connection = match this.setup {
            Setup::Wire { .. } => None,
            Setup::LlvmRpc => Some(serve_rpc(&runtime, &program, peers::handler)?),
        };
        Ok(Self {
            bench,
            runtime,
            program,
            setup: this.setup,
            _connection: connection,
            grid: this.grid,
            cores: this.cores,
            pinned: this.cores.is_some(),
        })
    }

    /// Whether everything so far ran on its cores.
    pub(crate) fn pinned(&self) -> bool {
        self.pinned
    }

    /// Runs a kernel that calls `what` for `time`. Returns the number of calls, and their seconds.
    pub(crate) fn count(&mut self, what: u32, time: Duration) -> anyhow::Result<(u64, f64)> {
        let threads = self.grid.device_threads();
        let counts = self.runtime.alloc(threads * 8)?;
        let Window { from, until } = self.window(time)?;
        let batch = (BATCH / threads).max(1);
        let what = self.setup.call(what);
        // SAFETY: the parameters are the kernel's; `counts` has a word for each
        // thread and lives until `wait` returns.
        let launch =
            unsafe { self.launch("count", self.grid, &[&what, &from, &until, &batch, &counts])? };
        self.pin();
        launch.wait()?;
        let mut per_thread = vec![0u64; threads as usize];
        counts.read(0, &mut per_thread)?;
        Ok((per_thread.iter().sum(), (until - from) as f64 / 1e9))
    }

    /// Runs a kernel that calls `what` for `time`. Returns the times of calls, and the nanoseconds of a
    /// tick.
    pub(crate) fn time(&mut self, what: u32, time: Duration) -> anyhow::Result<(Latency, f64)> {
        let threads = self.grid.device_threads();
        let every = threads.div_ceil(TIMED) as u32;
        let timed = threads.div_ceil(every.into()) as usize;
        let words = timed * buckets::COUNT;
        let times = self.runtime.alloc(words as u64 * 4)?;
        let spans = self.runtime.alloc(timed as u64 * 16)?;
        let what = self.setup.call(what);
        let Window { from, until } = self.window(time)?;
        // SAFETY: the parameters are the kernel's; `times` and `spans` have room for each thread
        // that is timed, and live until `wait` returns.
        let launch = unsafe {
            let args: [&dyn KernelArg; 6] = [&what, &from, &until, &every, &times, &spans];
            self.launch("time", self.grid, &args)?
        };
        self.pin();
        launch.wait()?;
        let mut counts = vec![0u32; words];
        times.read(0, &mut counts)?;
        let tick_ns = tick(&spans, timed)?;
        let mut latency = Latency::new()?;
        for counts in counts.chunks_exact(buckets::COUNT) {
            latency.add_buckets(counts, tick_ns);
        }
        Ok((latency, tick_ns))
    }

    /// Runs a kernel that calls `count` times, each time after a `pause`, while `meanwhile` runs on
    /// this thread. Returns the times of calls, and the result of `meanwhile`.
    pub(crate) fn pauses<T>(
        &mut self,
        pause: Duration,
        count: u64,
        meanwhile: impl FnOnce() -> T,
    ) -> anyhow::Result<(Latency, T)> {
        let times = self.runtime.alloc(count * 8)?;
        let span = self.runtime.alloc(16)?;
        let pause = pause.as_nanos() as u64;
        // SAFETY: the parameters are the kernel's; `times` has `count` words, and both
        // live until `wait` returns; one thread runs.
        let launch =
            unsafe { self.launch("pauses", Shape::ONE, &[&pause, &count, &times, &span])? };
        self.pin();
        let found = meanwhile();
        launch.wait()?;
        let mut list = vec![0u64; count as usize];
        times.read(0, &mut list)?;
        let mut latency = Latency::new()?;
        latency.add(&list, tick(&span, 1)?);
        Ok((latency, found))
    }

    /// The interval of `time` after the warm-up.
    fn window(&self, time: Duration) -> anyhow::Result<Window> {
        let word = self.runtime.alloc(8)?;
        // SAFETY: the parameter is the kernel's, a word that lives until `wait`
        // returns; one thread runs.
        let launch = unsafe { self.launch("now", Shape::ONE, &[&word])? };
        launch.wait()?;
        let mut now = [0u64];
        word.read(0, &mut now)?;
        let from = now[0] + warm_up(self.grid).as_nanos() as u64;
        Ok(Window {
            from,
            until: from + time.as_nanos() as u64,
        })
    }

    /// # Safety
    /// As for [`revoff_host::Kernel::launch`].
    unsafe fn launch(
        &self,
        name: &str,
        grid: Shape,
        args: &[&dyn KernelArg],
    ) -> anyhow::Result<Launch> {
        self.bench.watchdog.alive();
        // SAFETY: the caller promises what `Kernel::launch` requires.
        Ok(unsafe { self.program.kernel(name)?.launch(grid.into(), args)? })
    }

    /// Pins the threads, which run already: the warm-up is long enough for this.
    fn pin(&mut self) {
        let start = Instant::now();
        if let Some([device, host]) = self.cores {
            let obeyed = os_threads::pin(os_threads::DEVICE, device)
                && os_threads::pin(os_threads::SERVING, host);
            self.pinned &= obeyed && start.elapsed() < WARM_UP;
        }
    }
}

/// The warm-up of a launch.
pub(crate) fn warm_up(grid: Shape) -> Duration {
    WARM_UP + WARM_UP_OF_A_THREAD * grid.device_threads().min(2048) as u32
}

/// The length of a tick, from the spans of threads.
fn tick(spans: &DeviceBuffer, threads: usize) -> anyhow::Result<f64> {
    let mut list = vec![[0u64; 2]; threads];
    spans.read(0, &mut list)?;
    tick_ns(&list)
}
