//! Host functions that launch kernels, which call the host.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use conformance::Target;
use conformance_calls::{Act, Outcome};
use revoff_fn::BoxFuture;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{
    Builder, CallError, Functions, Grid, Kernel, LaunchError, Report, Runtime, current_call, task,
};

use crate::executor::executor;
use crate::image::image;
use crate::session::{Session, acting, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(three_deep),
    test!(three_deep_with_one_thread),
    test!(several_at_once),
    test!(several_at_once_with_two_threads),
    test!(a_kernel_that_calls_nobody),
    test!(on_another_runtime),
    test!(a_function_that_owns_a_program),
    test!(calls_that_leave_no_room_are_aborted),
    test!(as_few_nested_launches_as_possible_are_aborted),
    test!(other_launches_go_on),
    test!(kernels_that_call_nobody_go_on_without_room),
    test!(tasks_of_an_asynchronous_function).only(Target::is_parallel),
    test!(a_crowd_launches),
    test!(a_crowd_launches_with_one_thread),
    test!(deeper_than_a_stack_holds).only(has_no_slots),
    // Resources of such a launch may never be freed.
    test!(a_deadline_names_what_leaves_no_room).alone(),
];

/// Whether the number of calls is limited by the bounce area alone, and each thread calls by itself.
fn has_no_slots(target: &Target) -> bool {
    let has_slots = matches!(target.wire, WireKind::NATIVE | WireKind::GCC_SLOT);
    target.is_host() && !has_slots
}

/// The runtime and kernel for host functions; empty before and after a test, since the kernel owns
/// the runtime, which owns the functions.
#[derive(Clone, Default)]
struct Inner(Arc<Mutex<Option<(Runtime, Kernel)>>>);

impl Inner {
    fn set(&self, session: &Session, kernel: &str) {
        let kernel = session.program.kernel(kernel).unwrap();
        *self.0.lock().unwrap() = Some((session.runtime.clone(), kernel));
    }

    fn get(&self) -> (Runtime, Kernel) {
        self.0
            .lock()
            .unwrap()
            .clone()
            .expect("it was set before the launch")
    }

    fn clear(&self) {
        self.0.lock().unwrap().take();
    }

    /// Launches the kernel with `grid` threads that call `act(what)`; returns the sum of their
    /// results.
    fn call(&self, grid: (u32, u32), what: u64) -> Result<u64, String> {
        let (runtime, kernel) = self.get();
        let count = (grid.0 * grid.1) as usize;
        let outcomes = runtime
            .alloc((count * size_of::<Outcome>()) as u64)
            .map_err(|error| error.to_string())?;
        let before = current_call();
        let grid = Grid {
            teams: grid.0,
            threads: grid.1,
        };
        // SAFETY: the parameters are those of `call_act`, with an outcome for each
        // thread, which live until `wait` returns.
        let launch = unsafe { kernel.launch(grid, &[&what, &0u64, &1u32, &outcomes]) };
        let launch = launch.map_err(|error| error.to_string())?;
        launch.wait().map_err(|error| error.to_string())?;
        assert_eq!(
            current_call(),
            before,
            "the call goes on after those that it served"
        );
        Ok(read::<Outcome>(&outcomes)
            .iter()
            .map(|outcome| outcome.sum)
            .sum())
    }
}

/// Kernels of `grid` threads that call a function, which launches another one up to a depth of
/// `depth`.
fn nest(target: &Target, builder: Builder, grid: (u32, u32), depth: u64) {
    if !target.is_parallel() {
        // The caller has the wire's one slot until its function returns: a call of an inner kernel
        // would wait for it forever.
        return calling_nobody(target, builder);
    }
    let inner = Inner::default();
    let launcher = inner.clone();
    let session = Session::build(
        target,
        builder,
        &acting_or(move |what| {
            if what == 0 {
                Ok(1)
            } else {
                launcher.call(grid, what - 1)
            }
        }),
    );
    inner.set(&session, "call_act");
    let (outcomes, result) = session.act(grid, depth, 0, 1);
    inner.clear();
    result.unwrap();
    let each = u64::from(grid.0 * grid.1).pow(depth as u32);
    for outcome in outcomes {
        assert_eq!((outcome.sum, outcome.failed), (each, 0));
    }
}

fn three_deep(target: &Target) {
    nest(target, target.builder(), (1, 2), 3);
}

fn three_deep_with_one_thread(target: &Target) {
    nest(target, target.builder().threads(1), (1, 2), 3);
}

fn several_at_once(target: &Target) {
    nest(target, target.builder(), (2, 4), 2);
}

fn several_at_once_with_two_threads(target: &Target) {
    nest(target, target.builder().threads(2), (2, 3), 2);
}

fn a_kernel_that_calls_nobody(target: &Target) {
    calling_nobody(target, target.builder());
    calling_nobody(target, target.builder().threads(1));
}

/// A program owned by its own host function is dropped when the function's program is, or, if a
/// thread has served a call of it, at that thread's next call.
fn a_function_that_owns_a_program(target: &Target) {
    let runtime = target
        .builder()
        .build()
        .expect("a device that could be opened before");
    for is_called in [false, true] {
        let owned = Session::on(&runtime, &image(target), &acting(|what| what));
        let functions = acting_or(move |what| {
            let _owned = &owned;
            Ok(what)
        });
        let outer = Session::on(&runtime, &image(target), &functions);
        drop(functions);
        if is_called {
            outer.act((1, 2), 3, 0, 1).1.unwrap();
        }
        drop(outer);
        let next = Session::on(&runtime, &image(target), &acting(|what| what));
        next.act((1, 2), 3, 0, 1).1.unwrap();
    }
}

fn calling_nobody(target: &Target, builder: Builder) {
    let inner = Inner::default();
    let launcher = inner.clone();
    let session = Session::build(
        target,
        builder,
        &acting_or(move |what| {
            let (runtime, kernel) = launcher.get();
            let count = runtime.alloc(4).map_err(|error| error.to_string())?;
            let grid = Grid {
                teams: 1,
                threads: 1,
            };
            // SAFETY: the parameter is that of `count_up`, and lives until `wait` returns; one
            // device thread makes these calls, in sequence.
            let launch = unsafe { kernel.launch(grid, &[&count]) };
            let result = launch.map_err(|error| error.to_string())?.wait();
            result.map_err(|error| error.to_string())?;
            Ok(u64::from(read::<u32>(&count)[0]) * what)
        }),
    );
    inner.set(&session, "count_up");
    let (outcomes, result) = session.act((1, 1), 10, 0, 3);
    inner.clear();
    result.unwrap();
    assert_eq!(outcomes[0].sum, 10 + 20 + 30);
}

/// How long the tests' deadlocks last.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The fewest calls that leave no room for others on a wire with one slot and the smallest bounce area,
/// and the resource that they keep.
fn fewest_calls(target: &Target) -> (u32, &'static str) {
    match target.wire {
        WireKind::NATIVE => (1, "the only slot of the wire `native` (REVOFF_SLOTS)"),
        WireKind::GCC_SLOT => (1, "the only slot of the wire `gcc-slot`"),
        // Each takes a block, and the smallest area has this many.
        _ => (
            32,
            "the bounce area of 512 KiB except for 0 KiB (REVOFF_BOUNCE)",
        ),
    }
}

/// A runtime with little room for calls, without a deadline.
fn little_room(target: &Target) -> Builder {
    let builder = target.builder().slots(1).bounce_bytes(1);
    builder.deadlock_timeout(TIMEOUT)
}

/// Functions whose `act(what)` launches a kernel of one thread that calls `act(what - 1)`, and the
/// result of each such launch. The first calls, `at_once` of them, wait for each other.
fn launching(at_once: u32) -> (Functions, Inner, Receiver<Result<u64, String>>) {
    let inner = Inner::default();
    let (launcher, all) = (inner.clone(), Barrier::new(at_once as usize));
    let (reporting, results) = channel();
    let left = AtomicU32::new(at_once);
    let functions = acting_or(move |what| {
        if what == 0 {
            return Ok(1);
        }
        let subtract = |left: u32| left.checked_sub(1);
        let first = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
        if first.is_ok() {
            all.wait();
        }
        let result = launcher.call((1, 1), what - 1);
        // The test may be over.
        let _ = reporting.send(result.clone());
        result
    });
    (functions, inner, results)
}

/// Checks that a launch failed because calls kept `resource`.
fn assert_deadlocked(result: Result<Report, LaunchError>, resource: &str) {
    let error = result.expect_err("its calls left no room");
    let text = error.to_string();
    let LaunchError::Call { first, .. } = error else {
        panic!("{text}");
    };
    assert!(matches!(first, CallError::Deadlock { .. }), "{text}");
    assert!(text.contains(resource), "{text}");
}

/// Checks the results of launches by the functions of an aborted one.
fn assert_inner_ended(target: &Target, results: &Receiver<Result<u64, String>>, count: usize) {
    for result in results.iter().take(count) {
        // On a GPU a failed call may be any launch's.
        if target.tells_launches_apart() {
            result.expect("only the outer launch is aborted");
        }
    }
}

/// All calls wait for kernels whose calls wait for the same resource.
fn calls_that_leave_no_room_are_aborted(target: &Target) {
    let (calls, resource) = fewest_calls(target);
    let (functions, inner, results) = launching(calls);
    let builder = little_room(target).threads(calls as usize);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let used = session.runtime.memory().used;
    let (_, result) = session.act((calls, 1), 1, 0, 1);
    assert_deadlocked(result, resource);
    assert_inner_ended(target, &results, calls as usize);
    inner.clear();
    drop(session.zeroed::<u8>(1));
    assert_eq!(session.runtime.memory().used, used, "all memory is freed");
    session.works_without_calls();
}

/// At each depth one call waits, until the next one finds no slot. Then the outermost launch is aborted
/// that is left.
fn as_few_nested_launches_as_possible_are_aborted(target: &Target) {
    let (functions, inner, results) = launching(0);
    let builder = little_room(target).slots(4);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let depth = 7;
    let (_, result) = session.act((1, 1), depth, 0, 1);
    let results = results.iter().take(depth as usize);
    let failed = results.filter(Result::is_err).count() as u64;
    inner.clear();
    let (slots, resource) = match target.wire {
        WireKind::NATIVE => (4, "all 4 slots of the wire `native` (REVOFF_SLOTS)"),
        WireKind::GCC_SLOT => (1, "the only slot of the wire `gcc-slot`"),
        _ => {
            result.expect("there is a bounce block for each");
            return;
        }
    };
    assert_deadlocked(result, resource);
    if target.tells_launches_apart() {
        // And the first.
        assert_eq!(failed, depth - slots);
    }
}

/// Launches beside one that is aborted go on, whether they call or not.
fn other_launches_go_on(target: &Target) {
    let (calls, resource) = fewest_calls(target);
    let (functions, inner, results) = launching(calls);
    let builder = little_room(target).threads(calls as usize);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let flag = session.zeroed::<u32>(1);
    let calling_nobody = session.start("wait_for", (1, 1), &[&flag]);
    let deadlocked = session.start_act((calls, 1), 1, 0, 1);
    let other = session.start_act((2, 2), 0, 0, 100);
    assert_deadlocked(deadlocked.launch.wait(), resource);
    let result = other.launch.wait();
    if target.tells_launches_apart() {
        result.expect("only the other is aborted");
        for outcome in read::<Outcome>(&other.outcomes) {
            assert_eq!((outcome.sum, outcome.ok, outcome.failed), (100, 100, 0));
        }
    }
    assert!(!calling_nobody.is_done());
    flag.write(0, &[1u32]).expect("a word");
    let result = calling_nobody.wait();
    if target.tells_launches_apart() {
        result.expect("only the other is aborted");
    }
    assert_inner_ended(target, &results, calls as usize);
    inner.clear();
}

/// Functions wait for kernels that call nobody, for longer than a deadlock lasts, while their calls keep
/// all of a resource. Each kernel takes less time.
fn kernels_that_call_nobody_go_on_without_room(target: &Target) {
    let (calls, _) = fewest_calls(target);
    let inner = Inner::default();
    let (launcher, all) = (inner.clone(), Barrier::new(calls as usize));
    let functions = acting_or(move |_| {
        all.wait();
        let (runtime, kernel) = launcher.get();
        for _ in 0..12 {
            let flag = runtime.alloc_from(&[0u32]).map_err(|e| e.to_string())?;
            let grid = Grid {
                teams: 1,
                threads: 1,
            };
            // SAFETY: the parameter is that of `wait_for`, and lives until `wait` returns.
            let launch = unsafe { kernel.launch(grid, &[&flag]) };
            let launch = launch.map_err(|error| error.to_string())?;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(2 * TIMEOUT / 5);
                    flag.write(0, &[1u32]).expect("a word");
                });
                launch.wait().map_err(|error| error.to_string())
            })?;
        }
        Ok(1)
    });
    let builder = little_room(target).threads(calls as usize);
    let builder = builder.deadlock_timeout(4 * TIMEOUT);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "wait_for");
    let (_, result) = session.act((calls, 1), 1, 0, 1);
    inner.clear();
    result.expect("its functions make progress");
}

/// Each thread of a large grid calls a function that launches a kernel that calls.
fn a_crowd_launches(target: &Target) {
    crowd(target, target.builder().slots(16).bounce_bytes(1));
}

fn a_crowd_launches_with_one_thread(target: &Target) {
    let builder = target.builder().threads(1);
    // An emulated GPU has a smaller crowd.
    crowd(
        target,
        if target.is_emu() {
            builder.slots(2)
        } else {
            builder
        },
    );
}

fn crowd(target: &Target, builder: Builder) {
    let (functions, inner, _results) = launching(0);
    let builder = builder.deadlock_timeout(TIMEOUT);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    // An emulated GPU takes minutes for the large grid.
    let grid = if target.is_emu() { (4, 16) } else { (64, 64) };
    let (outcomes, result) = session.act(grid, 1, 0, 1);
    inner.clear();
    match result {
        // There was always room.
        Ok(_) => assert!(outcomes.iter().all(|outcome| outcome.sum == 1)),
        failed => assert_deadlocked(failed, "calls that keep"),
    }
}

/// Launches are nested deeper than the stack of the only thread has room for.
fn deeper_than_a_stack_holds(target: &Target) {
    let (functions, inner, _results) = launching(0);
    let builder = target.builder().threads(1).bounce_bytes(64 << 20);
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let (outcomes, result) = session.act((1, 1), 1100, 0, 1);
    inner.clear();
    result.expect("there is a bounce block for each call");
    assert_eq!(outcomes[0].sum, 1);
}

/// Without time for a deadlock to be noticed, the error of a deadline names the resource.
fn a_deadline_names_what_leaves_no_room(target: &Target) {
    let (calls, resource) = fewest_calls(target);
    let (functions, inner, results) = launching(calls);
    let builder = little_room(target).threads(calls as usize);
    let builder = builder.deadline(Duration::from_secs(2));
    let builder = builder.deadlock_timeout(Duration::from_secs(3600));
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let acting = session.start_act((calls, 1), 1, 0, 1);
    let result = results.recv().expect("the functions report");
    let error = result.expect_err("the kernel cannot call");
    assert!(error.contains(resource), "{error}");
    acting.launch.wait().unwrap_err();
    inner.clear();
}

/// An asynchronous function waits for a task whose kernel calls it.
fn tasks_of_an_asynchronous_function(target: &Target) {
    let inner = Inner::default();
    let launcher = inner.clone();
    let function = Act::try_bind_async(move |what| {
        let launcher = launcher.clone();
        Box::pin(async move {
            if what > 0 {
                let (runtime, kernel) = launcher.get();
                let bytes = size_of::<Outcome>() as u64;
                let outcomes = runtime.alloc(bytes).map_err(|error| error.to_string())?;
                let grid = Grid {
                    teams: 1,
                    threads: 1,
                };
                let scope = task::scope(|tasks| {
                    let args = (what - 1, 0u64, 1u32, &outcomes);
                    // SAFETY: the parameters are those of `call_act`, with an outcome for its thread.
                    let task = unsafe { tasks.target(&kernel, grid, args) };
                    Ok(task.writes(&outcomes).spawn().map(drop)?)
                });
                scope.map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(1)
        })
    });
    let executor = executor();
    let handle = executor.handle().clone();
    let on_new_thread = move |call: BoxFuture<'static, ()>| {
        let handle = handle.clone();
        drop(std::thread::spawn(move || handle.block_on(call)));
    };
    let mut functions = Functions::new();
    functions.add_async(function, on_new_thread).unwrap();
    let session = Session::build(target, target.builder().threads(1), &functions);
    inner.set(&session, "call_act");
    let (outcomes, result) = session.act((1, 1), 2, 0, 1);
    inner.clear();
    result.unwrap();
    assert_eq!(outcomes[0].sum, 1);
}

/// Another runtime has a separate wire, so this works on every wire.
fn on_another_runtime(target: &Target) {
    let other = Session::new(target, &acting_or(Ok));
    let inner = Inner::default();
    inner.set(&other, "call_act");
    let launcher = inner.clone();
    let functions = acting_or(move |what| launcher.call((2, 2), what));
    let runtime = target.builder().threads(1).build().unwrap();
    let session = Session::on(&runtime, &image(target), &functions);
    let (outcomes, result) = session.act((2, 2), 5, 0, 2);
    inner.clear();
    result.unwrap();
    for outcome in outcomes {
        assert_eq!((outcome.sum, outcome.ok), (2 * 4 * 5, 2));
    }
}
