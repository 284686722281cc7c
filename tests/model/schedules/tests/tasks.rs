//! Tasks: random graphs on the host and two kinds of devices, in random schedules. A task that never
//! runs is a deadlock, which shuttle reports.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::Mutex;

use schedules::base::sync::fail_spawns;
use schedules::device::{Fault, Grid};
use schedules::runtime::{Kernel, Runtime, RuntimeError};
use schedules::serve::LaunchError;
use schedules::task::{Access, Options, Resolve, TaskError, TaskHandle, Tasks};
use schedules::{Error, chance, explore, pause, up_to};

const ACCESSES: [Access; 5] = [
    Access::In,
    Access::Out,
    Access::InOut,
    Access::MutexInOutSet,
    Access::InOutSet,
];

/// The number of places that tasks depend on.
const PLACES: usize = 3;

/// The party that runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Host,
    /// A host task with this number of children, each after the one before; it may wait for them.
    Parent(usize, bool),
    /// The device with this number.
    Device(usize),
}

#[derive(Clone, Debug)]
struct Plan {
    on: On,
    accesses: Vec<(usize, Access)>,
    fails: bool,
    /// Whether it is in a group that is cancelled.
    in_group: bool,
}

impl Plan {
    fn random(devices: usize) -> Self {
        let on = match up_to(4 + 2 * devices) {
            0 => On::Parent(1 + up_to(3), chance(2)),
            at if at < 4 => On::Host,
            at => On::Device((at - 4) / 2),
        };
        let mut accesses: Vec<_> = (0..PLACES)
            .filter(|_| chance(2))
            .map(|place| (place, ACCESSES[up_to(ACCESSES.len())]))
            .collect();
        accesses.truncate(2);
        Self {
            on,
            accesses,
            fails: chance(8),
            in_group: false,
        }
    }

    fn shares(&self, other: &Self, both: impl Fn(Access, Access) -> bool) -> bool {
        self.accesses.iter().any(|&(place, mine)| {
            let mut theirs = other.accesses.iter();
            theirs.any(|&(at, access)| at == place && both(mine, access))
        })
    }

    /// OpenMP's specification: whether it waits for an earlier task.
    fn waits_for(&self, earlier: &Self) -> bool {
        use Access::{In, InOut, InOutSet, MutexInOutSet, Out};
        self.shares(earlier, |later, earlier| match later {
            Out | InOut => true,
            In | MutexInOutSet | InOutSet => later != earlier,
        })
    }

    /// Whether it and another task never run at the same time.
    fn excludes(&self, other: &Self) -> bool {
        self.shares(other, |one, other| {
            one == Access::MutexInOutSet && other == Access::MutexInOutSet
        })
    }
}

/// The state of a task, as it was observed.
#[derive(Clone, Copy, Default)]
struct Seen {
    runs: usize,
    is_running: bool,
    is_done: bool,
    /// Its group was cancelled before it was spawned: no task knows of it.
    is_missing: bool,
    children: usize,
}

/// A run's tasks. The mutex is the standard library's: no thread is interrupted while it is locked.
struct World {
    plans: Vec<Plan>,
    seen: Mutex<Vec<Seen>>,
    is_over: Mutex<bool>,
    /// A task lets others run less often than this.
    pauses: usize,
}

impl World {
    fn new(plans: Vec<Plan>) -> Arc<Self> {
        Self::with_pauses(plans, 3)
    }

    fn with_pauses(plans: Vec<Plan>, pauses: usize) -> Arc<Self> {
        Arc::new(Self {
            pauses,
            seen: Mutex::new(vec![Seen::default(); plans.len()]),
            is_over: Mutex::new(false),
            plans,
        })
    }

    fn seen<R>(&self, act: impl FnOnce(&mut Vec<Seen>) -> R) -> R {
        act(&mut self.seen.lock().unwrap())
    }

    /// The tasks that it waits for.
    fn before(&self, task: usize) -> Vec<usize> {
        let waits = |other: &usize| self.plans[task].waits_for(&self.plans[*other]);
        let is_missing = |other: &usize| self.seen(|seen| seen[*other].is_missing);
        (0..task)
            .filter(|other| waits(other) && !is_missing(other))
            .collect()
    }

    /// Runs a task; `Err` if it fails.
    fn run(&self, task: usize, body: impl FnOnce()) -> Result<(), &'static str> {
        let before = self.before(task);
        self.seen(|seen| {
            assert!(
                !*self.is_over.lock().unwrap(),
                "{task} runs after the scope"
            );
            for earlier in before {
                assert!(seen[earlier].is_done, "{task} runs before {earlier}");
            }
            for (other, plan) in self.plans.iter().enumerate() {
                let excluded = other != task && plan.excludes(&self.plans[task]);
                assert!(!(excluded && seen[other].is_running), "{task} with {other}");
            }
            seen[task].runs += 1;
            assert_eq!(seen[task].runs, 1, "{task} runs twice");
            seen[task].is_running = true;
        });
        (0..up_to(self.pauses)).for_each(|_| pause());
        body();
        let fails = self.plans[task].fails;
        self.seen(|seen| {
            seen[task].is_running = false;
            seen[task].is_done = !fails;
        });
        if fails { Err("it fails") } else { Ok(()) }
    }

    fn run_child(&self, task: usize, child: usize) {
        pause();
        self.seen(|seen| {
            assert!(!*self.is_over.lock().unwrap(), "a child outlives the scope");
            assert_eq!(seen[task].children, child, "children run out of order");
            seen[task].children += 1;
        });
    }

    fn spawn<'scope>(
        self: &Arc<Self>,
        tasks: &'scope Tasks<'scope, '_>,
        task: usize,
        kernel: Option<&'scope Kernel>,
        places: &'scope [u64; PLACES],
    ) -> Result<TaskHandle<'scope, ()>, TaskError> {
        let (world, plan) = (Arc::clone(self), &self.plans[task]);
        let mut builder = match (plan.on, kernel) {
            (On::Device(_), Some(kernel)) => {
                // SAFETY: the kernel is a closure that accesses no memory of the device.
                unsafe { tasks.target(kernel, Grid, ()) }
            }
            (On::Parent(children, waits), _) => tasks.try_host(move || {
                world.run(task, || {
                    world.parent(tasks, task, (children, waits), places)
                })
            }),
            _ => tasks.try_host(move || {
                let result = world.run(task, || ());
                if result.is_err() && chance(2) {
                    // Not `panic!`, for which shuttle prints the schedule.
                    resume_unwind(Box::new("it panics"));
                }
                result
            }),
        };
        for &(place, access) in &plan.accesses {
            builder = builder.depends(access, &places[place]);
        }
        builder.spawn()
    }

    fn parent<'scope>(
        self: &Arc<Self>,
        tasks: &'scope Tasks<'scope, '_>,
        task: usize,
        (children, waits): (usize, bool),
        places: &'scope [u64; PLACES],
    ) {
        let mut last = None;
        for child in 0..children {
            let world = Arc::clone(self);
            let builder = tasks.host(move || world.run_child(task, child));
            match builder.updates(&places[0]).spawn() {
                Ok(handle) => last = Some(handle),
                // Its group was cancelled meanwhile.
                Err(TaskError::Cancelled { .. }) => return,
                Err(error) => panic!("{error}"),
            }
        }
        let waited = match (waits, chance(2), last) {
            (true, true, Some(last)) => last.wait(),
            (true, ..) => tasks.wait(),
            (false, ..) => return,
        };
        // Children that are cancelled with their group are no errors.
        if waited.is_ok() && !self.plans[task].in_group {
            self.seen(|seen| assert_eq!(seen[task].children, children));
        }
    }

    fn kernels(self: &Arc<Self>, devices: &[Runtime]) -> Vec<Option<Kernel>> {
        let kernel = |(task, plan): (usize, &Plan)| {
            let On::Device(device) = plan.on else {
                return None;
            };
            let world = Arc::clone(self);
            let body = move || world.run(task, || ()).map_err(|error| Fault(error.into()));
            Some(devices[device].kernel("kernel", body))
        };
        self.plans.iter().enumerate().map(kernel).collect()
    }

    /// Checks the outcomes of all tasks, which have ended; those of missing tasks do not matter.
    fn check(&self, outcomes: &[Result<(), TaskError>]) {
        for (task, outcome) in outcomes.iter().enumerate() {
            let (plan, seen) = (&self.plans[task], self.seen(|seen| seen[task]));
            if seen.is_missing {
                assert!(plan.in_group && seen.runs == 0);
                continue;
            }
            let before = self.before(task);
            let is_ready = before.iter().all(|&earlier| outcomes[earlier].is_ok());
            match outcome {
                Ok(()) => assert!(is_ready && !plan.fails && seen.runs == 1, "{task} is ok"),
                Err(TaskError::Failed { .. } | TaskError::Panicked { .. }) => {
                    assert!(plan.on == On::Host || matches!(plan.on, On::Parent(..)));
                    assert!(is_ready && plan.fails && seen.runs == 1, "{task} fails");
                }
                Err(TaskError::Device { .. }) => {
                    assert!(matches!(plan.on, On::Device(_)));
                    assert!(is_ready && plan.fails && seen.runs == 1, "{task} fails");
                }
                Err(TaskError::Dependency(error)) => {
                    assert!(!is_ready && seen.runs == 0, "{task}: {error}");
                }
                Err(TaskError::Cancelled { .. }) => {
                    assert!(plan.in_group && seen.runs == 0, "{task} is cancelled");
                }
                Err(error) => panic!("{task}: {error}"),
            }
        }
    }

    /// Checks that each task ran if and only if those before it succeeded: of tasks that nobody cancels.
    fn check_runs(&self) {
        let mut succeeds = Vec::new();
        for (task, plan) in self.plans.iter().enumerate() {
            let is_ready = self.before(task).iter().all(|&earlier| succeeds[earlier]);
            succeeds.push(is_ready && !plan.fails);
            let seen = self.seen(|seen| seen[task]);
            assert_eq!(seen.runs, usize::from(is_ready), "{task}");
            if let On::Parent(children, _) = plan.on {
                assert_eq!(seen.children, if is_ready { children } else { 0 });
            }
        }
    }

    fn end(&self) {
        *self.is_over.lock().unwrap() = true;
    }
}

/// Up to seven tasks.
fn plans(devices: usize) -> Vec<Plan> {
    (0..2 + up_to(6)).map(|_| Plan::random(devices)).collect()
}

/// Two devices of one kind and one of another.
fn devices(have_deadline: bool) -> [Runtime; 3] {
    let can_cancel = chance(2);
    ["a:0", "a:1", "b:0"].map(|name| Runtime::open(name, have_deadline, can_cancel))
}

fn options() -> Options {
    let resolve = match chance(3) {
        true => Resolve::OnHost,
        false => Resolve::OnDevice,
    };
    Options::default()
        .threads(1 + up_to(3))
        .queues(1 + up_to(2))
        .resolve(resolve)
}

#[test]
fn tasks_keep_their_order_and_fail_with_those_before() {
    explore("tasks", 4000, || {
        let devices = devices(false);
        let world = World::new(plans(devices.len()));
        let kernels = world.kernels(&devices);
        let places = [0; PLACES];
        let mut outcomes = Vec::new();
        let result = options().scope(|tasks| {
            let mut handles = Vec::new();
            for (task, kernel) in kernels.iter().enumerate() {
                handles.push(world.spawn(tasks, task, kernel.as_ref(), &places)?);
            }
            // Some are waited for.
            let waited = handles.len() / 2;
            for (task, handle) in handles.into_iter().enumerate() {
                if task == waited {
                    let _ = tasks.wait();
                }
                outcomes.push(handle.wait());
            }
            Ok(())
        });
        world.end();
        world.check(&outcomes);
        world.check_runs();
        assert_eq!(result.is_err(), outcomes.iter().any(Result::is_err));
    });
}

#[test]
fn an_unrelated_failure_repeats_tasks_once() {
    explore("repeated tasks", 500, || {
        let devices = devices(false);
        // The first fails, and with it the second, which is queued again. The last may be queued
        // before or after that.
        let plan = |fails, accesses| Plan {
            on: On::Device(0),
            accesses,
            fails,
            in_group: false,
        };
        let chain = || vec![(0, Access::InOut)];
        let plans = vec![
            plan(true, Vec::new()),
            plan(false, chain()),
            plan(chance(2), chain()),
        ];
        let world = World::new(plans);
        let kernels = world.kernels(&devices);
        let places = [0; PLACES];
        let _ = Options::default().queues(1).scope(|tasks| {
            for (task, kernel) in kernels.iter().enumerate() {
                (0..task * up_to(16)).for_each(|_| pause());
                let _ = world.spawn(tasks, task, kernel.as_ref(), &places)?;
            }
            Ok(())
        });
        world.end();
        world.check_runs();
    });
}

#[test]
fn a_scope_that_is_left_early_waits_for_its_tasks() {
    explore("scope left early", 1000, || {
        let devices = devices(false);
        let world = World::new(plans(devices.len()));
        let kernels = world.kernels(&devices);
        let places = [0; PLACES];
        let panics = chance(3);
        let run = || {
            options().scope(|tasks| {
                for (task, kernel) in kernels.iter().enumerate() {
                    // The handle is dropped while the task runs.
                    let _ = world.spawn(tasks, task, kernel.as_ref(), &places)?;
                }
                if panics {
                    resume_unwind(Box::new("the body panics"));
                }
                Err::<(), Error>(LaunchError::Deadline {}.into())
            })
        };
        let result = catch_unwind(AssertUnwindSafe(run));
        world.end();
        world.check_runs();
        assert_eq!(result.is_err(), panics);
    });
}

#[test]
fn cancelled_tasks_do_not_run() {
    explore("cancelled groups", 1000, || {
        let devices = devices(false);
        let mut plans = plans(devices.len());
        // Those in the middle are in the group.
        let first = up_to(plans.len());
        let end = first + up_to(plans.len() - first + 1);
        plans[first..end]
            .iter_mut()
            .for_each(|plan| plan.in_group = true);
        let world = World::new(plans);
        let kernels = world.kernels(&devices);
        let places = [0; PLACES];
        let mut outcomes = Vec::new();
        let cancel_at = first + up_to(end - first + 1);
        let from_task = chance(2);
        let gate = 0u64;
        let _ = options().scope(|tasks| {
            let mut handles = Vec::new();
            let mut spawn = |task: usize| {
                let kernel = kernels[task].as_ref();
                let handle = world.spawn(tasks, task, kernel, &places);
                match &handle {
                    Err(TaskError::Cancelled { .. }) if world.plans[task].in_group => {
                        world.seen(|seen| seen[task].is_missing = true);
                    }
                    Err(error) => panic!("{error}"),
                    Ok(_) => (),
                }
                handles.push(handle.ok());
            };
            (0..first).for_each(&mut spawn);
            let _ = tasks.group(|group| {
                for task in first..end {
                    if task == cancel_at && from_task {
                        let canceller = group.clone();
                        let canceller = tasks.host(move || canceller.cancel());
                        canceller.writes(&gate).spawn()?;
                        // It starts later than the cancellation, if ever.
                        let behind = tasks.host(|| *world.is_over.lock().unwrap() = true);
                        let _ = behind.reads(&gate).spawn();
                    } else if task == cancel_at {
                        group.cancel();
                    }
                    spawn(task);
                }
                if cancel_at == end {
                    group.cancel();
                    assert!(group.is_cancelled());
                }
                Ok(())
            });
            assert!(!*world.is_over.lock().unwrap(), "a cancelled task starts");
            world.seen(|seen| {
                let is_running = seen[first..end].iter().any(|seen| seen.is_running);
                assert!(!is_running, "the group has not ended");
            });
            (end..world.plans.len()).for_each(&mut spawn);
            let _ = tasks.wait();
            for handle in &handles {
                let outcome = handle.as_ref().map(|handle| handle.result());
                outcomes.push(outcome.map_or(Ok(()), |result| result.expect("it has ended")));
            }
            Ok(())
        });
        world.end();
        world.check(&outcomes);
    });
}

#[test]
fn a_system_without_threads_delays_tasks_only() {
    explore("no threads", 500, || {
        let world = World::new(plans(0));
        let places = [0; PLACES];
        fail_spawns(true);
        let _ = options().scope(|tasks| {
            for task in 0..world.plans.len() {
                let _ = world.spawn(tasks, task, None, &places)?;
            }
            Ok(())
        });
        world.end();
        world.check_runs();
    });
}

#[test]
fn no_task_begins_after_a_scope_with_a_late_kernel() {
    explore("late kernels", 1000, || {
        let devices = devices(true);
        let mut plans = plans(devices.len());
        for plan in &mut plans {
            plan.fails = false;
            // A late kernel excludes no other.
            let is_exclusive = |(_, access): &(_, Access)| *access == Access::MutexInOutSet;
            plan.accesses.retain(|access| !is_exclusive(access));
        }
        // Some kernels run on when the others, and the scope, have ended.
        let world = World::with_pauses(plans, 60);
        let kernels = world.kernels(&devices);
        let places = [0; PLACES];
        let mut outcomes = Vec::new();
        let _ = options().scope(|tasks| {
            let mut handles = Vec::new();
            for (task, kernel) in kernels.iter().enumerate() {
                handles.push(world.spawn(tasks, task, kernel.as_ref(), &places)?);
            }
            if chance(2) {
                outcomes.extend(handles.into_iter().map(TaskHandle::wait));
            }
            Ok(())
        });
        world.end();
        // A late kernel fails itself and the tasks that depend on it, and no others in its queue.
        for (task, outcome) in outcomes.iter().enumerate() {
            let before = world.before(task);
            let is_ready = before.iter().all(|&earlier| outcomes[earlier].is_ok());
            match outcome {
                Ok(()) => assert!(is_ready),
                Err(TaskError::Dependency(_)) => assert!(!is_ready),
                Err(TaskError::Device { cause, .. }) => {
                    let is_late =
                        |cause| matches!(cause, &RuntimeError::Launch(LaunchError::Deadline {}));
                    assert!(is_ready && is_late(&**cause), "{task}: {cause}");
                }
                Err(error) => panic!("{task}: {error}"),
            }
        }
    });
}
