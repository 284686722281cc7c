//! Launching target regions.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use host_rt::device::BlockShape;
use host_rt::{Grid, Kernel, KernelArg, Launch};

use crate::abi::{Ident, KERNEL_ARGS_VERSION, KernelArgs, MapType, NO_WAIT};
use crate::args::{Args, info, literals};
use crate::device::Device;
use crate::device::private::Private;
use crate::device::stream::Stream;
use crate::mapping::begin::{self, Beginning};
use crate::mapping::end;
use crate::registry::environment::{KernelEnvironment, Mode, WARP};
use crate::registry::{self, Found, construct};
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::settings::{self, Info};
use crate::task::depend::{self, Current};
use crate::task::pending::{self, Pending};

/// The region runs on the device, or has run there.
const ON_DEVICE: c_int = 0;
/// The caller is to run the host's version.
const ON_HOST: c_int = !0;

/// Threads of a team where nobody says how many.
const THREADS: u32 = 128;

/// Most teams where nobody says how many.
const MOST_TEAMS: u64 = 65_535;

/// Most of them for each multiprocessor where a team has a loop of its own: as many as a GPU has
/// at the same time.
const TEAMS_TOGETHER: u64 = 32;

/// Launches the region whose host version is at `host`.
///
/// # Safety
/// The arguments are what a compiler makes of a target region.
pub(crate) unsafe fn launch(
    at: *const Ident,
    device: i64,
    teams: i32,
    thread_limit: i32,
    host: *const c_void,
    described: *const KernelArgs,
) -> c_int {
    let task = depend::current();
    let Some(number) = construct::number_for(device, at) else {
        // The host's version begins now.
        if let Some(task) = task {
            task.wait();
        }
        return ON_HOST;
    };
    // SAFETY: the caller's promise.
    let described = unsafe { KernelArgs::read(described, teams, thread_limit) };
    if let Err(failed) = check(&described) {
        construct::outcome(Err(failed), at);
        return ON_HOST;
    }
    let _span = profile::span("Runtime: target exe", || {
        format!("NumTeams={teams};NumArgs={}", described.count)
    });
    let count = i32::try_from(described.count).unwrap_or(i32::MAX);
    // SAFETY: the caller's promise.
    let args = unsafe {
        Args::new(
            count,
            described.bases,
            described.begins,
            described.sizes,
            described.types,
            described.names,
            described.mappers,
        )
    };
    let mut types = Vec::new();
    let args = literals::corrected(args, &mut types);
    if settings::info().has(Info::ARGUMENTS) {
        info::arguments(number, at, "Entering OpenMP kernel", &args);
    }
    let region = Region {
        device: registry::device(number),
        host: host.addr(),
        teams: described.teams,
        threads: described.threads,
        thread_limit: u32::try_from(thread_limit).unwrap_or(0),
        shared_bytes: described.dynamic_shared_bytes,
        trip_count: described.trip_count,
        is_teams: teams != -1,
        is_implicit: described.version >= KERNEL_ARGS_VERSION,
    };
    let no_wait = described.flags & NO_WAIT != 0 && !region.device.calls_kernels;
    // SAFETY: as above.
    let result = unsafe {
        match task {
            Some(task) if no_wait => region.run_in_task(&args, at, task),
            Some(task) => {
                task.wait();
                region.run(&args)
            }
            None if no_wait => region.run_beside(&args, at, |pending| pending),
            None => region.run(&args),
        }
    };
    construct::outcome(result, at);
    ON_DEVICE
}

/// Whether the arguments are of a form that is known here.
fn check(args: &KernelArgs) -> Result<(), Failed> {
    if (1..=KERNEL_ARGS_VERSION).contains(&args.version) {
        return Ok(());
    }
    Err(message::error(&format!(
        "kernel arguments are of version {}; this runtime knows versions 1 to {KERNEL_ARGS_VERSION}, those of LLVM \
         15 to 22: compile the program with such a clang or rustc",
        args.version
    )))
}

/// A target region that is to run.
struct Region {
    device: Arc<Device>,
    /// Where its host version is.
    host: usize,
    /// In each dimension; 0 and 1 are the same beyond the first.
    teams: [u32; 3],
    threads: [u32; 3],
    /// Threads that a clause allows; 0 without one.
    thread_limit: u32,
    /// Dynamic shared memory.
    shared_bytes: u32,
    trip_count: u64,
    is_teams: bool,
    /// Its kernel's first parameter is an implicit one.
    is_implicit: bool,
}

/// What is left of a region when its kernel runs.
struct Begun {
    kernel: Arc<Found>,
    parameters: Vec<u64>,
    /// Freed when it has ended.
    private: Private,
}

impl Region {
    /// Runs it to its end.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn run(&self, args: &Args<'_>) -> Result<(), Failed> {
        let device = &*self.device;
        let mut stream = Stream::new(device);
        // SAFETY: passed on.
        let begun = unsafe { self.begin(&mut stream, args)? };
        {
            let _span = profile::span("Kernel Target", || begun.kernel.name.clone());
            let kernel = &*self.shaped(begun.kernel.kernel());
            let grid = self.grid(kernel, begun.kernel.environment())?;
            self.tell(&begun.kernel, grid);
            // SAFETY: the caller's promise: the kernel's parameters are these words.
            let ran = unsafe { kernel.call_inline(grid, &begun.parameters) };
            ran.map_err(|error| message::error(&error.to_string()))?;
        }
        // SAFETY: passed on.
        unsafe { end::finish(device, &mut stream, args)? };
        drop(begun.private);
        Ok(())
    }

    /// Runs it, and lets the running task go on when its kernel has ended, if that can be; it
    /// then leaves what `with` makes of it there.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn run_beside(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        with: impl FnOnce(Pending) -> Pending,
    ) -> Result<(), Failed> {
        // SAFETY: passed on; the handle is the running task's.
        unsafe {
            let Some(handle) = pending::handle() else {
                return self.run(args);
            };
            // SAFETY: the caller's promise.
            let start =
                |kernel: &Kernel, grid, words: &[&dyn KernelArg]| kernel.launch(grid, words);
            let (pending, _) = self.start(args, at, start)?;
            pending::put(handle, with(pending));
        }
        Ok(())
    }

    /// Runs it as a task that depends on others: behind them in a queue, if it touches
    /// nothing but what is on the device, otherwise when they have ended.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn run_in_task(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        task: Current,
    ) -> Result<(), Failed> {
        if !task.is_split() {
            // With `mutexinoutset`, libomp has locked for it what others want, and looks at the
            // youngest of the tasks that a thread has alone: were this one left to go on, below
            // one that wants the lock, nobody would come back to it.
            // SAFETY: passed on.
            return unsafe { self.run(args) };
        }
        let events = task.events();
        let mut queue = self.device.shared_queue()?;
        let can_wait = events.iter().all(|event| queue.can_wait_for(&**event));
        let joins = can_wait && self.is_settled(args);
        task.note_launching(joins);
        if !joins {
            drop(queue);
            task.wait();
            // SAFETY: passed on.
            return unsafe { self.run_beside(args, at, |pending| pending) };
        }
        for event in &events {
            queue.wait_event(event);
        }
        let start = |kernel: &Kernel, grid, words: &[&dyn KernelArg]| {
            // SAFETY: the caller's promise; the queue is of the region's device.
            unsafe { kernel.enqueue(&mut *queue, grid, words) }
        };
        // SAFETY: passed on.
        let (pending, kernel) = unsafe { self.start(args, at, start)? };
        task.queued(queue.record_event(), pending, kernel, at);
        Ok(())
    }

    /// Whether all that it uses is on the device, so that it neither copies nor allocates nor
    /// frees anything at its beginning or end.
    fn is_settled(&self, args: &Args<'_>) -> bool {
        args.iter().all(|(_, arg)| {
            let (map, bytes) = (arg.map, arg.bytes());
            if map.has(MapType::LITERAL) {
                return !map.has(MapType::PTR_AND_OBJ);
            }
            let may_change = MapType::ALWAYS
                | MapType::DELETE
                | MapType::PTR_AND_OBJ
                | MapType::PRIVATE
                | MapType::NON_CONTIGUOUS;
            let is_simple = arg.mapper.is_null() && !map.has(may_change) && !map.is_captured();
            // What is attached is as old as what it is attached to.
            is_simple && (bytes == 0 || self.device.table.has(arg.begin, bytes))
        })
    }

    /// Starts its kernel by `start`; what follows its end is up to who gets the result. Returns
    /// the kernel's name, too.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn start(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        start: impl FnOnce(&Kernel, Grid, &[&dyn KernelArg]) -> host_rt::Result<Launch>,
    ) -> Result<(Pending, String), Failed> {
        let mut stream = Stream::new(&self.device);
        // SAFETY: passed on.
        let begun = unsafe { self.begin(&mut stream, args)? };
        drop(stream);
        let kernel = &*self.shaped(begun.kernel.kernel());
        let grid = self.grid(kernel, begun.kernel.environment())?;
        self.tell(&begun.kernel, grid);
        let parameters: Vec<&dyn KernelArg> = begun
            .parameters
            .iter()
            .map(|word| word as &dyn KernelArg)
            .collect();
        // What the kernel uses is mapped, or private, until it has ended.
        let launch = start(kernel, grid, &parameters);
        let launch = launch.map_err(|error| message::error(&error.to_string()))?;
        let device = Arc::clone(&self.device);
        let mut args = args.keep();
        let private = begun.private;
        let at = at.addr();
        let name = begun.kernel.name.clone();
        let pending = Pending::new(launch, move |ended| {
            let ended = ended.map_err(|error| message::error(&error));
            let result = ended.and_then(|()| {
                let mut stream = Stream::new(&device);
                // SAFETY: a copy of what was passed in; the program keeps the memory that it
                // describes until the task has ended.
                unsafe { end::finish(&device, &mut stream, &args.as_args()) }
            });
            drop(private);
            construct::outcome(result, at as *const Ident);
        });
        Ok((pending, name))
    }

    /// Maps what the region uses, and makes its parameters.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn begin(&self, stream: &mut Stream<'_>, args: &Args<'_>) -> Result<Begun, Failed> {
        let device = &*self.device;
        let kernel = registry::kernel(self.host, device)?;
        if kernel.needs_threads() && device.is_forked() {
            return Err(message::error(&format!(
                "kernel {}: this process is a fork of the one that uses device {} (`{}`), whose threads it does \
                 not have: fork before the first region, or run another program",
                kernel.name, device.number, device.name
            )));
        }
        let mut beginning = Beginning::default();
        let mut private = Private::default();
        let mut parameters = Vec::with_capacity(args.len() + 1);
        if self.is_implicit {
            // Where the launch's environment is, which device code alone that was linked with
            // LLVM's device runtime looks at.
            let idle = kernel.idle_environment();
            let environment = kernel.environment();
            parameters.push(environment.for_launch(device, stream, &mut private, idle)?);
        }
        // SAFETY: passed on.
        let mapped = unsafe {
            begin::begin(device, stream, args, &mut beginning)
                .map_err(|Failed| message::error("Call to targetDataBegin failed, abort target."))
                .and_then(|()| beginning.finish(device, stream))
                .and_then(|()| self.collect(stream, args, &mut parameters, &mut private))
        };
        mapped
            .and_then(|()| private.send(device, stream, &mut parameters))
            .and_then(|()| stream.synchronize())
            .map_err(|Failed| {
                message::error("Failed to process data before launching the kernel.")
            })?;
        Ok(Begun {
            kernel,
            parameters,
            private,
        })
    }

    /// # Safety
    /// As for [`launch`].
    unsafe fn collect(
        &self,
        stream: &mut Stream<'_>,
        args: &Args<'_>,
        parameters: &mut Vec<u64>,
        private: &mut Private,
    ) -> Result<(), Failed> {
        let device = &*self.device;
        // Where the parameter of each argument is.
        let mut places = vec![None; args.len()];
        for (at, arg) in args.iter() {
            if !arg.map.has(MapType::TARGET_PARAM) {
                if arg.map.is_captured()
                    && let Some(parent) = arg.map.parent()
                    && let Some(&Some(place)) = places.get(parent)
                {
                    let lambda: u64 = parameters[place];
                    let to =
                        lambda.wrapping_add(arg.base.wrapping_sub(args.get(parent).begin) as u64);
                    if let Some(target) = device.table.find(device, arg.begin, arg.bytes(), false) {
                        stream.copy_bytes_to(
                            to,
                            &target.device.to_ne_bytes(),
                            target.mapped.name(),
                        )?;
                    }
                }
                continue;
            }
            places[at] = Some(parameters.len());
            parameters.push(if arg.map.has(MapType::LITERAL) {
                arg.base as u64
            } else if arg.map.has(MapType::PRIVATE) {
                let next = args.next_is_member(at);
                // SAFETY: the caller's promise.
                let place = unsafe { private.add(device, stream, &arg, parameters.len(), next)? };
                place.unwrap_or(0)
            } else {
                let base = if arg.map.has(MapType::PTR_AND_OBJ) {
                    // SAFETY: as above: the base is the address of a pointer.
                    unsafe { (arg.base as *const usize).read_unaligned() }
                } else {
                    arg.base
                };
                let used = device.table.find(device, arg.begin, arg.bytes(), false);
                // What is nowhere on the device keeps its address.
                let begin = used.map_or(arg.begin as u64, |used| used.device);
                begin.wrapping_add(base.wrapping_sub(arg.begin) as u64)
            });
        }
        Ok(())
    }

    /// The kernel with the dynamic shared memory that the region asks for.
    fn shaped<'k>(&self, kernel: &'k Kernel) -> Cow<'k, Kernel> {
        let shared_bytes = self.shared_bytes.max(settings::shared_bytes());
        if shared_bytes == 0 || self.device.calls_kernels {
            return Cow::Borrowed(kernel);
        }
        Cow::Owned(kernel.clone().with_block(BlockShape {
            shared_bytes,
            ..BlockShape::default()
        }))
    }

    /// Teams and threads.
    fn grid(&self, kernel: &Kernel, environment: &KernelEnvironment) -> Result<Grid, Failed> {
        if self.device.calls_kernels {
            // OpenMP's runtime on the host makes teams and threads of one call.
            return Ok(Grid {
                teams: 1,
                threads: 1,
            });
        }
        for (what, counts) in [("teams", self.teams), ("threads of a team", self.threads)] {
            if counts[1] > 1 || counts[2] > 1 {
                let [x, y, z] = counts;
                return Err(message::error(&format!(
                    "the region asks for {x} x {y} x {z} {what}; on GPUs regions have one dimension here: ask \
                     for {} in one, and divide the number",
                    u64::from(x.max(1)) * u64::from(y.max(1)) * u64::from(z.max(1)),
                )));
            }
        }
        let limits = kernel
            .limits()
            .map_err(|error| message::error(&error.to_string()))?;
        let mut asked = [self.thread_limit, self.threads[0]].into_iter();
        let threads = match asked.find(|&threads| threads > 0) {
            // One warp is that of the thread that runs outside of `parallel` regions.
            Some(threads) if environment.mode == Mode::Generic => threads.saturating_add(WARP),
            Some(threads) => threads,
            None => THREADS.max(environment.min_threads.unwrap_or(0)),
        };
        let most = environment
            .max_threads
            .unwrap_or(u32::MAX)
            .min(limits.block);
        let threads = threads.min(most).max(1);
        let processors = limits.processors.max(1);
        let teams = match (self.is_teams, self.teams[0]) {
            (false, _) => 1,
            (true, 0) => {
                let trips = self.trip_count;
                let teams = match environment.mode {
                    _ if trips == 0 => u64::from(processors),
                    Mode::Bare | Mode::Spmd => trips.div_ceil(u64::from(threads)).min(MOST_TEAMS),
                    Mode::Generic | Mode::GenericSpmd => {
                        trips.min(u64::from(processors) * TEAMS_TOGETHER)
                    }
                };
                let least = environment.min_teams.unwrap_or(1);
                let most = environment.max_teams.unwrap_or(u32::MAX).max(least);
                (teams as u32).clamp(least, most)
            }
            (true, teams) => teams,
        };
        Ok(Grid { teams, threads })
    }

    fn tell(&self, kernel: &Found, grid: Grid) {
        if settings::info().has(Info::LAUNCHES) {
            let mode = if self.device.calls_kernels {
                Mode::Generic
            } else {
                kernel.environment().mode
            };
            let text = format!(
                "Launching kernel {} with [{},1,1] blocks and [{},1,1] threads in {} mode",
                kernel.name,
                grid.teams,
                grid.threads,
                mode.name()
            );
            message::device_info(self.device.number, &text);
        }
    }
}
