//! Host functions that launch kernels, which call the host.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use conformance::Target;
use conformance::captured::Captured;
use conformance_calls::Outcome;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{Builder, Kernel, Runtime, current_call};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

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
    test!(calls_that_leave_no_room_are_named).alone(),
];

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
        let grid = revoff_host::Grid {
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
            let grid = revoff_host::Grid {
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

/// A subscriber of the log that panics at each warning.
struct Panics;

impl<S: Subscriber> Layer<S> for Panics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        assert_ne!(*event.metadata().level(), Level::WARN, "it panics");
    }
}

/// The calls in flight wait for kernels whose calls wait for the same resources. That the log's
/// subscriber panics after each warning changes nothing.
fn calls_that_leave_no_room_are_named(target: &Target) {
    let (calls, resource) = match target.wire {
        WireKind::NATIVE => (1, "the only slot of the wire `native` (REVOFF_SLOTS)"),
        WireKind::GCC_SLOT => (1, "the only slot of the wire `gcc-slot`"),
        // Each takes a block, and the smallest area has this many.
        _ => (32, "the bounce area except for 0 KiB (REVOFF_BOUNCE)"),
    };
    let inner = Inner::default();
    let launcher = inner.clone();
    let all = Barrier::new(calls as usize);
    let builder = target.builder().slots(1).bounce_bytes(1);
    let builder = builder.threads(calls as usize);
    let builder = builder.deadline(Duration::from_secs(2));
    let (errors, reported) = channel();
    let functions = acting_or(move |what| match what {
        0 => Ok(1),
        _ => {
            all.wait();
            let result = launcher.call((1, 1), what - 1);
            // The test only waits for the first, which makes room for the others.
            result.inspect_err(|error| drop(errors.send(error.clone())))
        }
    });
    // The destination of the log.
    let captured = Captured::begin();
    let log = registry().with(fmt::layer().with_ansi(false)).with(Panics);
    log.init();
    let session = Session::build(target, builder, &functions);
    inner.set(&session, "call_act");
    let acting = session.start_act((calls, 1), 1, 0, 1);
    let error = reported.recv_timeout(Duration::from_secs(50)).unwrap();
    assert!(error.contains(resource), "{error}");
    acting.launch.wait().unwrap_err();
    inner.clear();
    let log = String::from_utf8(captured.bytes()).unwrap();
    let mut warnings = log.lines().filter(|line| line.contains("WARN"));
    assert!(warnings.any(|line| line.contains(resource)), "{log}");
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
