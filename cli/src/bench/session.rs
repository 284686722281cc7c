//! A runtime with the benchmark's image loaded: one for each thing measured, so
//! that nothing is left of what was measured before.

use std::time::{Duration, Instant};

use bench_calls::{BARE, Nothing, Touch, buckets};
use host_rt::shared_abi::wire::WireKind;
use host_rt::{Functions, Grid, Image, Kernel, Launch, Program, Runtime, Waiting};

use super::latency::Latency;
use super::tasks;

/// The image, in the command itself.
static IMAGE: &[u8] = include_bytes!(env!("REVOFF_IMAGE_BENCH"));

/// Calls that come before those that count: all threads run, are where they
/// belong, and have found their pace.
const WARM_UP: Duration = Duration::from_millis(20);

/// A wire, and how the host waits for requests on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) wire: WireKind,
    pub(crate) waiting: Waiting,
}

/// A stretch of the device's time, in nanoseconds.
#[derive(Clone, Copy)]
struct Window {
    from: u64,
    until: u64,
}

/// A runtime, and where its threads are to run.
pub(crate) struct Session {
    runtime: Runtime,
    program: Program,
    threads: u32,
    cores: Option<[usize; 2]>,
    /// All launches so far ran where they were to.
    pinned: bool,
}

impl Session {
    /// A session on `device` with kernels of `threads` threads. With `cores`,
    /// device threads run on the first of them and serving threads on the second.
    pub(crate) fn open(
        device: &str,
        setup: Setup,
        threads: u32,
        cores: Option<[usize; 2]>,
    ) -> anyhow::Result<Self> {
        let runtime = Runtime::builder(device)
            .wire(setup.wire)
            .waiting(setup.waiting)
            .build()?;
        let image = Image::from_bytes("the benchmark's image", IMAGE)?;
        let mut functions = Functions::new();
        functions.add(Nothing::bind(|| ()))?;
        // SAFETY: it touches nothing.
        unsafe { functions.add_raw(BARE, bare)? };
        functions.add(Touch::bind(|data| data[0] = data[0].wrapping_add(1)))?;
        let program = runtime.load(&image, &functions)?;
        Ok(Self {
            runtime,
            program,
            threads,
            cores,
            pinned: cores.is_some(),
        })
    }

    /// Whether everything so far ran on the cores that it was to run on.
    pub(crate) fn pinned(&self) -> bool {
        self.pinned
    }

    /// Lets a kernel call `what` for `time`; the number of calls, and the seconds
    /// that they took.
    pub(crate) fn count(&mut self, what: u32, time: Duration) -> anyhow::Result<(u64, f64)> {
        let kernel = self.program.kernel("count")?;
        let counts = self.runtime.alloc(u64::from(self.threads) * 8)?;
        let Window { from, until } = self.window(time)?;
        // SAFETY: the parameters are the kernel's; `counts` has a word for each
        // thread and lives until `wait` returns.
        let launch = unsafe { kernel.launch(self.grid(), &[&what, &from, &until, &counts])? };
        self.pin();
        launch.wait()?;
        let mut per_thread = vec![0u64; self.threads as usize];
        counts.read(0, &mut per_thread)?;
        Ok((per_thread.iter().sum(), (until - from) as f64 / 1e9))
    }

    /// Lets a kernel call `what` for `time`; how long the calls took.
    pub(crate) fn time(&mut self, what: u32, time: Duration) -> anyhow::Result<Latency> {
        let kernel = self.program.kernel("time")?;
        let words = self.threads as usize * buckets::COUNT;
        let times = self.runtime.alloc(words as u64 * 4)?;
        let Window { from, until } = self.window(time)?;
        // SAFETY: the parameters are the kernel's; `times` has the words that it
        // asks for each thread, and lives until `wait` returns.
        let launch = unsafe { kernel.launch(self.grid(), &[&what, &from, &until, &times])? };
        self.pin();
        launch.wait()?;
        let mut counts = vec![0u32; words];
        times.read(0, &mut counts)?;
        let mut latency = Latency::new()?;
        for counts in counts.chunks_exact(buckets::COUNT) {
            latency.add_buckets(counts)?;
        }
        Ok(latency)
    }

    /// Lets a kernel call `count` times, each time after a `pause`, while
    /// `meanwhile` runs here; how long the calls took, and what `meanwhile` found.
    pub(crate) fn pauses<T>(
        &mut self,
        pause: Duration,
        count: u64,
        meanwhile: impl FnOnce() -> T,
    ) -> anyhow::Result<(Latency, T)> {
        let kernel = self.program.kernel("pauses")?;
        let times = self.runtime.alloc(count * 8)?;
        let pause = pause.as_nanos() as u64;
        let grid = Grid {
            teams: 1,
            threads: 1,
        };
        // SAFETY: the parameters are the kernel's; `times` has `count` words and
        // lives until `wait` returns; one thread runs.
        let launch = unsafe { kernel.launch(grid, &[&pause, &count, &times])? };
        self.pin();
        let found = meanwhile();
        launch.wait()?;
        let mut list = vec![0u64; count as usize];
        times.read(0, &mut list)?;
        let mut latency = Latency::new()?;
        latency.add(&list)?;
        Ok((latency, found))
    }

    fn grid(&self) -> Grid {
        Grid {
            teams: 1,
            threads: self.threads,
        }
    }

    /// The stretch of `time` after the warm-up, from now on.
    fn window(&self, time: Duration) -> anyhow::Result<Window> {
        let kernel: Kernel = self.program.kernel("now")?;
        let word = self.runtime.alloc(8)?;
        // SAFETY: the parameter is the kernel's, a word that lives until `wait`
        // returns; one thread runs.
        let launch: Launch = unsafe {
            kernel.launch(
                Grid {
                    teams: 1,
                    threads: 1,
                },
                &[&word],
            )?
        };
        launch.wait()?;
        let mut now = [0u64];
        word.read(0, &mut now)?;
        let from = now[0] + WARM_UP.as_nanos() as u64;
        Ok(Window {
            from,
            until: from + time.as_nanos() as u64,
        })
    }

    /// Puts the threads where they belong. They run already: the warm-up is long
    /// enough for this.
    fn pin(&mut self) {
        let start = Instant::now();
        if let Some([device, host]) = self.cores {
            let obeyed = tasks::pin(tasks::DEVICE, device) && tasks::pin(tasks::SERVING, host);
            self.pinned &= obeyed && start.elapsed() < WARM_UP;
        }
    }
}

/// The host function that does nothing.
unsafe extern "C" fn bare(_args: *mut *mut std::ffi::c_void) {}
