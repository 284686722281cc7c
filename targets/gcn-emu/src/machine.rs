//! A GPU: compute units, code, and launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bus_cost::CountCosts;
use bus_cost::record::LaunchCosts;
use emu_engine::{Activity, OnEnd, Processors, Progress};
use race_check::{Checker, Rules};

use crate::arch::Arch;
use crate::descriptor::{DESCRIPTOR_BYTES, Descriptor};
use crate::fault::{Fault, LaunchError};
use crate::memory::{AccessKind, AddressSpace};
use crate::run::{
    Code, CodeOf, Dispatch, Kernel, KernelCosts, LaunchCheck, Region, RunningKernel, Trace,
    max_private, workgroups,
};
use crate::weak::Weak;

/// The most lanes of a workgroup.
pub const MAX_WORKGROUP: u32 = 1024;

/// The most bytes of LDS of a workgroup.
pub const MAX_GROUP_BYTES: u32 = 64 << 10;

/// The properties of a GPU.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its architecture.
    pub arch: Arch,
    /// Compute units, 1 to 1024, which are OS threads.
    pub processors: u32,
    /// The time without progress on the device after which looping waves are assumed to loop forever.
    pub patience: Duration,
    /// A lane to trace.
    pub trace: Option<Trace>,
    /// Weak memory mode.
    pub weak: Option<Weak>,
    /// Count what kernels do on the bus.
    pub costs: Option<CountCosts>,
    /// Whether races are faults. Then there is no weak memory mode: it performs stores at other times than the
    /// instructions that the checker names.
    pub check: bool,
}

impl Default for Options {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            arch: Arch::Gfx90a,
            processors: cores.min(1024) as u32,
            patience: Duration::from_secs(10),
            trace: None,
            weak: None,
            costs: None,
            check: false,
        }
    }
}

/// A GPU.
pub struct Machine {
    options: Options,
    memory: Arc<dyn AddressSpace>,
    code: Arc<Code>,
    processors: Processors<RunningKernel>,
    activity: Arc<Activity>,
    start: Instant,
    checker: Option<Arc<Checker>>,
    launches: AtomicU64,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Code that may be executed until this is dropped.
pub struct CodeRegion {
    code: Arc<Code>,
    region: Arc<Region>,
}

impl std::fmt::Debug for CodeRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeRegion").finish_non_exhaustive()
    }
}

impl Drop for CodeRegion {
    fn drop(&mut self) {
        self.code.remove(&self.region);
    }
}

impl Machine {
    /// Makes a GPU with such memory.
    #[must_use]
    pub fn new(options: Options, memory: Arc<dyn AddressSpace>) -> Self {
        Self {
            checker: options.check.then(|| checker(&memory)),
            launches: AtomicU64::new(0),
            memory,
            code: Arc::default(),
            processors: Processors::new(options.processors.clamp(1, 1024)),
            activity: Arc::default(),
            start: Instant::now(),
            options,
        }
    }

    /// Its properties.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Adds code at an address: instructions, which are in memory too. Functions by their offsets are
    /// for reports.
    pub fn add_code(
        &self,
        address: u64,
        bytes: &[u8],
        functions: Vec<(u64, String)>,
    ) -> CodeRegion {
        CodeRegion {
            code: Arc::clone(&self.code),
            region: self.code.add(address, bytes, functions),
        }
    }

    /// Starts a kernel. It calls `ended` with the result before [`Running::wait`] returns.
    ///
    /// # Errors
    /// The launch is invalid, or the system has no threads; `ended` is not called.
    pub fn start(&self, dispatch: Dispatch, ended: OnEnd<Fault>) -> Result<Running, LaunchError> {
        let descriptor = self.descriptor(dispatch.descriptor)?;
        check(&dispatch, &descriptor, self.options.arch)?;
        let blocks = workgroups(&dispatch)
            .iter()
            .map(|&n| u64::from(n))
            .product();
        let entry = dispatch.descriptor.wrapping_add_signed(descriptor.entry);
        let costs = self.options.costs.clone().map(|request| KernelCosts {
            entry: self.code.function(entry, &request.entry),
            counts: LaunchCosts::new(request),
        });
        let target = descriptor.target(self.options.arch);
        let check = self.checker.as_ref().map(|checker| {
            // Relaxed: numbers only have to differ.
            let number = self.launches.fetch_add(1, Ordering::Relaxed);
            let code = CodeOf {
                code: Arc::clone(&self.code),
                target,
            };
            LaunchCheck {
                origin: checker.begin(number, (number, Arc::new(code))),
                checker: Arc::clone(checker),
                number,
            }
        });
        let kernel = Arc::new(Kernel {
            target,
            descriptor,
            memory: Arc::clone(&self.memory),
            start: self.start,
            activity: Arc::clone(&self.activity),
            patience: self.options.patience,
            trace: self.options.trace.clone(),
            weak: self.options.weak.filter(|_| !self.options.check),
            costs,
            check,
            dispatch,
        });
        self.activity.note();
        let (processors, patience) = (self.processors.count(), self.options.patience);
        let kernel = Arc::new(RunningKernel {
            kernel,
            code: Arc::clone(&self.code),
            progress: Progress::new(blocks, processors, patience, ended),
        });
        let submitted = self.processors.submit(Arc::clone(&kernel));
        submitted.map_err(|error| {
            if let Some(check) = &kernel.kernel.check {
                check.checker.end(check.number);
            }
            LaunchError::Threads(error.to_string())
        })?;
        Ok(Running(kernel))
    }

    /// Tells the race checker that memory is about to be freed.
    pub fn forget(&self, address: u64, bytes: u64) {
        if let Some(checker) = &self.checker {
            checker.forget(address, bytes);
        }
    }

    fn descriptor(&self, address: u64) -> Result<Descriptor, LaunchError> {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        for (at, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let place = address.wrapping_add(8 * at as u64);
            let found = self.memory.resolve(place, 8, AccessKind::Load);
            let found = found.filter(|_| place.is_multiple_of(8));
            let found = found.ok_or(LaunchError::Descriptor(address))?;
            // SAFETY: `resolve` has found 8 bytes there, which are aligned. Kernels that may change them
            // access them atomically, as this does.
            let found = unsafe { AtomicU64::from_ptr(found.as_ptr().cast()) };
            // Relaxed: the packet that names the descriptor was published after it.
            *word = found.load(Ordering::Relaxed).to_ne_bytes();
        }
        Ok(Descriptor::read(&bytes))
    }
}

/// A race checker of accesses to such memory.
fn checker(memory: &Arc<dyn AddressSpace>) -> Arc<Checker> {
    let memory = Arc::clone(memory);
    Arc::new(Checker::new(Rules {
        width: 1,
        is_explicit: false,
        is_mapped: Box::new(move |address| memory.is_of_host(address)),
        registers_mapped: false,
        words: ["workgroup", "wave"],
    }))
}

fn check(dispatch: &Dispatch, descriptor: &Descriptor, arch: Arch) -> Result<(), LaunchError> {
    let threads: u128 = dispatch.workgroup.iter().map(|&n| u128::from(n)).product();
    if dispatch.grid.contains(&0) || threads == 0 || threads > MAX_WORKGROUP.into() {
        return Err(LaunchError::Bounds(format!(
            "grid {:?}, workgroup {:?}: no dimension may be 0, and a workgroup has at most \
             {MAX_WORKGROUP} lanes",
            dispatch.grid, dispatch.workgroup
        )));
    }
    let blocks = workgroups(dispatch).map(u64::from);
    let [x, y, z] = blocks;
    if x.checked_mul(y).and_then(|xy| xy.checked_mul(z)).is_none() {
        return Err(LaunchError::Bounds(format!(
            "{blocks:?} workgroups: a grid has fewer than 2^64"
        )));
    }
    let sizes = [
        (
            "LDS",
            dispatch.group_bytes,
            descriptor.group_bytes,
            MAX_GROUP_BYTES,
        ),
        (
            "private memory",
            dispatch.private_bytes,
            descriptor.private_bytes,
            max_private(descriptor.target(arch)),
        ),
    ];
    for (what, given, least, most) in sizes {
        if !(least..=most).contains(&given) {
            return Err(LaunchError::Bounds(format!(
                "{given} bytes of {what} for `{}`, which takes {least} to {most}",
                dispatch.kernel
            )));
        }
    }
    Ok(())
}

/// A kernel that was started.
#[derive(Clone)]
pub struct Running(Arc<RunningKernel>);

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl Running {
    /// Ends it as soon as possible.
    pub fn stop(&self) {
        self.0.progress.stop();
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.progress.is_over()
    }

    /// Waits for its end, at most until `until`; `None` if it still runs.
    #[must_use]
    pub fn wait(&self, until: Option<Instant>) -> Option<Result<(), Fault>> {
        use emu_engine::Launch;
        self.0.progress.wait(until, || self.0.stopped())
    }

    /// Instructions that waves have executed so far.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.0.progress.instructions()
    }
}
