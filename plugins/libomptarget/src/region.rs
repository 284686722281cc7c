//! Launching target regions.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use revoff_host::device::BlockShape;
use revoff_host::{Grid, Kernel, KernelArg, Launch};

use crate::abi::{Ident, KERNEL_ARGS_VERSION, KernelArgs, MapType, NO_WAIT};
use crate::args::{Args, info, literals};
use crate::device::Device;
use crate::device::private::Private;
use crate::device::stream::Stream;
use crate::mapping::map::{self, MapBatch};
use crate::mapping::unmap;
use crate::registry::device_runtime::{KernelEnvironment, Mode};
use crate::registry::{self, DeviceFunction, construct};
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::settings::{self, Info};
use crate::task::depend::{self, CurrentTask};
use crate::task::pending::{self, PendingLaunch};

/// The region runs on the device, or has run there.
const ON_DEVICE: c_int = 0;
/// The caller must run the host's version.
const ON_HOST: c_int = !0;

/// Default threads of a team.
const THREADS: u32 = 128;

/// Most teams by default.
const MAX_TEAMS: u64 = 65_535;

/// Most teams per multiprocessor if each team runs a loop: as many as a GPU runs concurrently.
const TEAMS_TOGETHER: u64 = 32;

/// Launches the region with the host version `host`.
///
/// # Safety
/// A compiler made the arguments for a target region.
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
    // SAFETY: the caller's promise: the arguments describe the program's memory.
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

/// Rejects arguments of unknown versions.
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

/// A target region to run.
struct Region {
    device: Arc<Device>,
    /// The address of its host version.
    host: usize,
    /// In each dimension; 0 means 1 except in the first.
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

/// A kernel with its parameters.
struct PreparedLaunch {
    kernel: Arc<DeviceFunction>,
    parameters: Vec<u64>,
    /// Freed after the kernel.
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
        // SAFETY: the caller's promise is that of `launch`.
        let prepared = unsafe { self.prepare(&mut stream, args)? };
        {
            let _span = profile::span("Kernel Target", || prepared.kernel.name.clone());
            let kernel = &*self.shaped(prepared.kernel.kernel());
            let grid = self.grid(kernel, prepared.kernel.environment())?;
            self.report(&prepared.kernel, grid);
            // SAFETY: the caller's promise: the kernel's parameters are these words.
            let ran = unsafe { kernel.call_inline(grid, &prepared.parameters) };
            ran.map_err(|error| message::failure(&error))?;
        }
        // SAFETY: the caller's promise is that of `launch`.
        unsafe { unmap::unmap(device, &mut stream, args)? };
        drop(prepared.private);
        Ok(())
    }

    /// Runs it. If the running task can be resumed, it stores the pending launch there, as `with`
    /// changes it, and returns; otherwise it waits.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn run_beside(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        with: impl FnOnce(PendingLaunch) -> PendingLaunch,
    ) -> Result<(), Failed> {
        // SAFETY: the caller's promise is that of `launch`; the handle is the running task's.
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

    /// Runs it as a task that depends on others: after them in a queue if all of its data is on the
    /// device, otherwise when they have ended.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn run_in_task(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        task: CurrentTask,
    ) -> Result<(), Failed> {
        if !task.is_split() {
            // With `mutexinoutset`, libomp holds a lock for this task, and a thread checks only the
            // youngest of its tasks: if this one were suspended below one that waits for the lock,
            // no thread would resume it.
            // SAFETY: the caller's promise is that of `launch`.
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
            // SAFETY: the caller's promise is that of `launch`.
            return unsafe { self.run_beside(args, at, |pending| pending) };
        }
        for event in &events {
            queue.wait_event(event);
        }
        let start = |kernel: &Kernel, grid, words: &[&dyn KernelArg]| {
            // SAFETY: the caller's promise; the queue is of the region's device.
            unsafe { kernel.enqueue(&mut *queue, grid, words) }
        };
        // SAFETY: the caller's promise is that of `launch`.
        let (pending, kernel) = unsafe { self.start(args, at, start)? };
        task.queued(queue.record_event(), pending, kernel, at);
        Ok(())
    }

    /// Whether all of its data is on the device, so that it neither copies nor allocates nor frees
    /// any.
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
            // An attached pointer is as old as its data.
            is_simple && (bytes == 0 || self.device.table.has(arg.begin, bytes))
        })
    }

    /// Starts its kernel by `start`. Returns the pending launch, which the caller finishes, and the
    /// kernel's name.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn start(
        &self,
        args: &Args<'_>,
        at: *const Ident,
        start: impl FnOnce(
            &Kernel,
            Grid,
            &[&dyn KernelArg],
        ) -> revoff_host::Result<Launch, revoff_host::RuntimeError>,
    ) -> Result<(PendingLaunch, String), Failed> {
        let mut stream = Stream::new(&self.device);
        // SAFETY: the caller's promise is that of `launch`.
        let prepared = unsafe { self.prepare(&mut stream, args)? };
        drop(stream);
        let kernel = &*self.shaped(prepared.kernel.kernel());
        let grid = self.grid(kernel, prepared.kernel.environment())?;
        self.report(&prepared.kernel, grid);
        let parameters: Vec<&dyn KernelArg> = prepared
            .parameters
            .iter()
            .map(|word| word as &dyn KernelArg)
            .collect();
        // The kernel's data is mapped, or private, until it has ended.
        let launch = start(kernel, grid, &parameters);
        let launch = launch.map_err(|error| message::failure(&error))?;
        let device = Arc::clone(&self.device);
        let mut args = args.keep();
        let private = prepared.private;
        let at = at.addr();
        let name = prepared.kernel.name.clone();
        let pending = PendingLaunch::new(launch, move |ended| {
            let ended = ended.map_err(|error| message::failure(&error));
            let result = ended.and_then(|()| {
                let mut stream = Stream::new(&device);
                // SAFETY: a copy of the caller's arguments; the program keeps the memory until the
                // task has ended.
                unsafe { unmap::unmap(&device, &mut stream, &args.as_args()) }
            });
            drop(private);
            construct::outcome(result, at as *const Ident);
        });
        Ok((pending, name))
    }

    /// Maps the region's data, and makes the kernel's parameters.
    ///
    /// # Safety
    /// As for [`launch`].
    unsafe fn prepare(
        &self,
        stream: &mut Stream<'_>,
        args: &Args<'_>,
    ) -> Result<PreparedLaunch, Failed> {
        let device = &*self.device;
        let kernel = registry::kernel(self.host, device)?;
        if kernel.needs_threads() && device.is_forked() {
            return Err(message::error(&format!(
                "kernel {}: this process is a fork of the one that uses device {} (`{}`), whose threads it does \
                 not have: fork before the first region, or run another program",
                kernel.name, device.number, device.name
            )));
        }
        let mut batch = MapBatch::default();
        let mut private = Private::default();
        let mut parameters = Vec::with_capacity(args.len() + 1);
        if self.is_implicit {
            // The address of the launch's environment, which LLVM's device runtime reads.
            let idle = kernel.idle_environment();
            let environment = kernel.environment();
            parameters.push(environment.for_launch(device, stream, &mut private, idle)?);
        }
        // SAFETY: the caller's promise is that of `launch`, which covers `map_args`.
        let mapped = unsafe {
            map::map_args(device, stream, args, &mut batch)
                .map_err(|Failed| message::error("Call to targetDataBegin failed, abort target."))
                .and_then(|()| batch.finish(device, stream))
                .and_then(|()| self.collect(stream, args, &mut parameters, &mut private))
        };
        mapped
            .and_then(|()| private.send(device, stream, &mut parameters))
            .and_then(|()| stream.synchronize())
            .map_err(|Failed| {
                message::error("Failed to process data before launching the kernel.")
            })?;
        Ok(PreparedLaunch {
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
        // The index of each argument's parameter.
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
                    // SAFETY: the caller's promise: the base is the address of a pointer.
                    unsafe { (arg.base as *const usize).read_unaligned() }
                } else {
                    arg.base
                };
                let used = device.table.find(device, arg.begin, arg.bytes(), false);
                // Data that is not on the device keeps its host address.
                let begin = used.map_or(arg.begin as u64, |used| used.device);
                begin.wrapping_add(base.wrapping_sub(arg.begin) as u64)
            });
        }
        Ok(())
    }

    /// The kernel with the region's dynamic shared memory.
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

    /// The numbers of teams and threads.
    fn grid(&self, kernel: &Kernel, environment: &KernelEnvironment) -> Result<Grid, Failed> {
        if self.device.calls_kernels {
            // OpenMP's runtime on the host makes the teams and threads in one call.
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
        let limits = kernel.limits().map_err(|error| message::failure(&error))?;
        let lanes = self.device.runtime.arch().max_lanes();
        let mut asked = [self.thread_limit, self.threads[0]].into_iter();
        let threads = match asked.find(|&threads| threads > 0) {
            // One more warp or wave, for the thread that runs outside of `parallel` regions.
            Some(threads) if environment.mode == Mode::Generic => threads.saturating_add(lanes),
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
                    Mode::Bare | Mode::Spmd => trips.div_ceil(u64::from(threads)).min(MAX_TEAMS),
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

    fn report(&self, kernel: &DeviceFunction, grid: Grid) {
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
