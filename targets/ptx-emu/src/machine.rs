//! A device: memory, multiprocessors, and launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bus_cost::CountCosts;
use device_arena::AccessKind;
use emu_engine::{Activity, Processors};
use race_check::Checker;

use crate::check;
use crate::code::op::Slot;
use crate::error::{Fault, LaunchError, LoadError};
use crate::memory::Memory;
use crate::module::{Kernel, Module, Part};
use crate::run::{Check, Launch, LaunchConfig, OnEnd, Trace};
use crate::spec::{MAX_BLOCKS, MAX_SHARED, MAX_THREADS, Model};

/// The properties of a device.
#[derive(Clone)]
pub struct Options {
    /// Its architecture: 90 for `sm_90`. Below 70 lanes run in lock-step.
    pub sm: u32,
    /// Bytes of device memory, 1 to 2^48, and as much mapped memory. It reserves addresses; pages are
    /// allocated at their first use.
    pub memory: u64,
    /// Multiprocessors, 1 to 1024, which are OS threads.
    pub processors: u32,
    /// Whether races are faults.
    pub check: bool,
    /// The time without progress on the device after which looping threads are assumed to loop
    /// forever.
    pub patience: Duration,
    /// Receives the output of device code.
    pub output: Arc<dyn Fn(&str) + Send + Sync>,
    /// A thread to trace.
    pub trace: Option<Trace>,
    /// Whether to count what kernels do on the bus.
    pub costs: Option<CountCosts>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("sm", &self.sm)
            .field("memory", &self.memory)
            .field("processors", &self.processors)
            .field("check", &self.check)
            .field("patience", &self.patience)
            .field("trace", &self.trace)
            .field("costs", &self.costs)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            sm: 90,
            memory: 16 << 30,
            processors: cores.min(1024) as u32,
            check: false,
            patience: Duration::from_secs(10),
            output: Arc::new(|_| {}),
            trace: None,
            costs: None,
        }
    }
}

/// A launch: grid and block as for CUDA.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// A device.
pub struct Machine {
    options: Options,
    memory: Arc<Memory>,
    processors: Processors<Launch>,
    activity: Arc<Activity>,
    checker: Option<Arc<Checker>>,
    modules: AtomicU32,
    launches: AtomicU64,
    start: Instant,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Machine {
    /// Makes a device.
    ///
    /// # Errors
    /// An option is out of bounds, or the system cannot reserve the addresses.
    pub fn new(options: Options) -> std::io::Result<Self> {
        if !(1..=1 << 48).contains(&options.memory) || !(1..=1024).contains(&options.processors) {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!(
                    "{} bytes of memory or {} multiprocessors: 1 to 2^48, and 1 to 1024, expected",
                    options.memory, options.processors
                ),
            ));
        }
        let memory = Arc::new(Memory::new(options.memory)?);
        let checker: Option<Arc<Checker>> = options.check.then(|| check::checker(&memory));
        Ok(Self {
            memory,
            processors: Processors::new(options.processors.max(1)),
            activity: Arc::default(),
            checker,
            modules: AtomicU32::new(1),
            launches: AtomicU64::new(1),
            start: Instant::now(),
            options,
        })
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Its properties.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether lanes progress independently.
    #[must_use]
    pub fn model(&self) -> Model {
        if self.options.sm >= 70 {
            Model::Independent
        } else {
            Model::LockStep
        }
    }

    /// Tells the checker that the host has stored to device memory or mapped memory, or has copied
    /// to it. Call it after those stores, and before the store that publishes them. The checker
    /// detects stores to mapped memory that change it without this.
    pub fn host_wrote(&self, address: u64, bytes: u64) {
        if let Some(checker) = &self.checker {
            checker.host_wrote(address, bytes, |at| {
                self.memory.resolve(at, 1, AccessKind::Load)
            });
        }
    }

    /// Tells the checker that the host has loaded from device memory or mapped memory, or has copied
    /// from it. Call it after those loads, and before the store that allows the device to write
    /// there again. Calls are optional.
    pub fn host_read(&self, address: u64, bytes: u64) {
        if let Some(checker) = &self.checker {
            checker.host_read(address, bytes);
        }
    }

    /// Loads texts as one module.
    ///
    /// # Errors
    /// A text is invalid, is for a newer device, or names a symbol that is undefined or defined
    /// twice.
    pub fn load(&self, parts: &[Part<'_>]) -> Result<Arc<Module>, LoadError> {
        // Relaxed: numbers only have to differ.
        let number = self.modules.fetch_add(1, Ordering::Relaxed);
        Module::load(&self.memory, number, self.options.sm, parts).map(Arc::new)
    }

    /// Starts a kernel with parameters, the bytes of each. It calls `ended` with the result before
    /// [`Running::wait`] returns.
    ///
    /// # Errors
    /// The launch is invalid; `ended` is not called.
    pub fn launch(
        &self,
        module: &Arc<Module>,
        kernel: Kernel,
        grid: Grid,
        params: &[Vec<u8>],
        ended: OnEnd,
    ) -> Result<Running, LaunchError> {
        let params = params.iter().map(Vec::as_slice);
        let prepared = self.prepare(module, kernel, grid, params)?;
        self.start(prepared, ended)
    }

    fn has(&self, module: &Module) -> bool {
        Arc::ptr_eq(&module.memory, &self.memory)
    }

    /// Makes a launch, which [`start`](Self::start) starts.
    ///
    /// # Errors
    /// The launch is invalid.
    pub fn prepare<'a>(
        &self,
        module: &Arc<Module>,
        kernel: Kernel,
        grid: Grid,
        params: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Result<Prepared, LaunchError> {
        if !self.has(module) || kernel.module != module.number {
            return Err(LaunchError::OtherModule);
        }
        let within = |sizes: [u32; 3], most: [u32; 3]| {
            sizes
                .iter()
                .zip(most)
                .all(|(size, most)| (1..=most).contains(size))
        };
        let threads: u128 = grid.block.iter().map(|&n| u128::from(n)).product();
        let is_possible = within(grid.grid, MAX_BLOCKS)
            && within(grid.block, [MAX_THREADS; 3])
            && threads <= MAX_THREADS.into();
        if !is_possible {
            return Err(LaunchError::Bounds(format!(
                "grid {:?}, block {:?}: no dimension may be 0, a grid has at most {MAX_BLOCKS:?} \
                 blocks, and a block {MAX_THREADS} threads",
                grid.grid, grid.block
            )));
        }
        if u64::from(module.shared) + u64::from(grid.shared) > MAX_SHARED {
            return Err(LaunchError::Bounds(format!(
                "a block has at most {MAX_SHARED} bytes of shared memory, not {} for variables \
                 and {} beyond",
                module.shared, grid.shared
            )));
        }
        let function = &module.functions[kernel.index as usize];
        if let Some(wanted) = function.reqntid.filter(|&wanted| wanted != grid.block) {
            return Err(LaunchError::Bounds(format!(
                "block {:?}, but `{}` requires {wanted:?}",
                grid.block, function.name
            )));
        }
        if let Some(most) = function.maxntid {
            let bound: u128 = most.iter().map(|&n| u128::from(n)).product();
            if threads > bound {
                return Err(LaunchError::Bounds(format!(
                    "block {:?}, but `{}` takes at most as many threads as {most:?}",
                    grid.block, function.name
                )));
            }
        }
        let params =
            place(&function.params, params.clone()).ok_or_else(|| LaunchError::Params {
                kernel: function.name.clone(),
                wanted: module.params(kernel),
                given: params.map(<[u8]>::len).collect(),
            })?;
        Ok(Prepared {
            module: Arc::clone(module),
            kernel,
            grid,
            params,
            is_cooperative: false,
        })
    }

    /// Starts a kernel. It calls `ended` with the result before [`Running::wait`] returns.
    ///
    /// # Errors
    /// It is another device's, or the system has no threads; `ended` is not called.
    pub fn start(&self, prepared: Prepared, ended: OnEnd) -> Result<Running, LaunchError> {
        let Prepared {
            module,
            kernel,
            grid,
            params,
            is_cooperative,
        } = prepared;
        if !self.has(&module) {
            return Err(LaunchError::OtherModule);
        }
        let workspace = if is_cooperative { self.workspace()? } else { 0 };
        let memory = Arc::clone(&self.memory);
        let ended: OnEnd = match workspace {
            0 => ended,
            _ => Box::new(move |result| {
                memory.free(workspace);
                ended(result);
            }),
        };
        // Relaxed: numbers only have to differ.
        let number = self.launches.fetch_add(1, Ordering::Relaxed);
        let check = self.checker.as_ref().map(|checker| Check {
            origin: checker.begin(
                number,
                (check::number_of(&module), Arc::clone(&module) as _),
            ),
            checker: Arc::clone(checker),
        });
        let launch = Arc::new(Launch::new(LaunchConfig {
            number,
            module,
            kernel,
            memory: Arc::clone(&self.memory),
            grid: grid.grid,
            block: grid.block,
            params,
            dynamic_shared: grid.shared,
            model: self.model(),
            processors: self.processors.count(),
            patience: self.options.patience,
            activity: Arc::clone(&self.activity),
            check,
            output: Arc::clone(&self.options.output),
            trace: self.options.trace.clone(),
            costs: self.options.costs.clone(),
            start: self.start,
            workspace,
            ended,
        }));
        self.activity.note();
        self.processors
            .submit(Arc::clone(&launch))
            .map_err(|error| {
                if let Some(checker) = &self.checker {
                    checker.end(number);
                }
                if workspace != 0 {
                    self.memory.free(workspace);
                }
                LaunchError::Threads(error.to_string())
            })?;
        Ok(Running(launch))
    }

    /// Zeroed memory for the blocks of a cooperative launch.
    fn workspace(&self) -> Result<u64, LaunchError> {
        let bytes = WORKSPACE_BYTES;
        let full = LaunchError::Workspace { bytes };
        let address = self.memory.alloc(bytes).ok_or(full)?;
        if let Some(host) = self.memory.host(address, bytes) {
            // SAFETY: the block has so many bytes, and no thread knows of it yet.
            unsafe { host.as_ptr().write_bytes(0, bytes as usize) };
        }
        Ok(address)
    }
}

/// Parameters in the kernel's layout.
fn place<'a>(slots: &[Slot], params: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<Vec<u64>> {
    if slots.len() != params.len() {
        return None;
    }
    let end = slots.iter().map(|slot| slot.offset + slot.bytes).max();
    let mut bytes = vec![0; end.unwrap_or(0).next_multiple_of(8) as usize];
    for (slot, param) in slots.iter().zip(params) {
        if slot.bytes as usize != param.len() {
            return None;
        }
        let at = slot.offset as usize;
        bytes[at..at + param.len()].copy_from_slice(param);
    }
    let (words, _) = bytes.as_chunks();
    Some(words.iter().map(|&word| u64::from_ne_bytes(word)).collect())
}

/// A validated launch.
pub struct Prepared {
    module: Arc<Module>,
    kernel: Kernel,
    grid: Grid,
    params: Vec<u64>,
    is_cooperative: bool,
}

/// Bytes of the memory that `cooperative_groups` finds by `%envreg1` and `%envreg2`, and synchronises
/// the blocks of a grid with.
const WORKSPACE_BYTES: u64 = 64;

impl Prepared {
    /// The launch is cooperative: its blocks may wait for each other by `grid.sync()`. The caller
    /// ensures that all of them run at the same time.
    #[must_use]
    pub fn cooperative(mut self) -> Self {
        self.is_cooperative = true;
        self
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("grid", &self.grid)
            .finish_non_exhaustive()
    }
}

/// A running kernel.
#[derive(Clone)]
pub struct Running(Arc<Launch>);

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Running(over: {})", self.0.progress.is_over())
    }
}

impl Running {
    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.progress.is_over()
    }

    /// Waits for the end, at most until `until`; `None` if the kernel still runs.
    #[must_use]
    pub fn wait(&self, until: Option<Instant>) -> Option<Result<(), Fault>> {
        self.0.progress.wait(until, || self.0.stopped())
    }

    /// Ends it as soon as possible.
    pub fn stop(&self) {
        self.0.progress.stop();
    }

    /// Waits until the processors have let go of it and of its module, soon after its end. The caller has
    /// no copy of this, for which it would wait as well.
    pub fn release(self) {
        while Arc::strong_count(&self.0) > 1 {
            thread::yield_now();
        }
    }

    /// Instructions that lanes have executed so far.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.0.progress.instructions()
    }
}
