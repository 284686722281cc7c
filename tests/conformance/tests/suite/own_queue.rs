//! Launches with their own queue, like those of GCC's kernels for AMD GPUs: attribution of calls,
//! and misuse of another launch's queue.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::Target;
use conformance::captured::Captured;
use conformance_calls::Spoken;
use revoff_host::map::Arg;
use revoff_host::{
    DeviceBuffer, ForeignError, ForeignFunction, Functions, Grid, KernelArg, Launch, LaunchError,
    RequestMemory, RuntimeError, current_call,
};

use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(launches_have_their_own).alone(),
    test!(a_failed_call_is_its_launchs).alone(),
    test!(queues_are_used_again).alone(),
    test!(a_queue_that_is_not_empty_is_not).alone(),
    test!(what_a_kernel_makes_of_its_queue_is_not_passed_on).alone(),
    test!(another_runtimes_queue_is_refused),
    test!(what_a_kernel_uses_is_kept).alone(),
];

/// Represents the function below.
const WORD: u64 = 0xC0_FFEE;

/// Not registered.
const UNKNOWN: u64 = 0xBAD;

const GRID: Grid = Grid {
    teams: 2,
    threads: 4,
};
const ONE: Grid = Grid {
    teams: 1,
    threads: 1,
};

const THREADS: u32 = GRID.teams * GRID.threads;

/// Counts its calls by launch.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<u32, u32>>);

impl ForeignFunction for Counts {
    fn must_map(&self, _: &[Arg]) -> bool {
        false
    }

    fn may_have_mapped(&self, _: u64, _: u64) -> bool {
        false
    }

    fn call_mapping(&self, _: &[Arg], _: Rc<dyn RequestMemory>) -> Result<(), ForeignError> {
        unreachable!("nothing is mapped")
    }

    unsafe fn call(&self, _: &mut [*mut c_void]) -> Result<(), ForeignError> {
        let launch = current_call().map_or(0, |call| call.launch);
        *self.0.lock().unwrap().entry(launch).or_default() += 1;
        Ok(())
    }
}

fn session(target: &Target) -> (Session, Arc<Counts>) {
    let session = Session::new(target, &acting(|what| what));
    let counts = Arc::new(Counts::default());
    let function = Arc::clone(&counts);
    // SAFETY: it takes no arguments.
    unsafe { session.program.add_foreign(WORD, "count", function) };
    (session, counts)
}

/// A launch that uses its own queue.
struct Speaking {
    launch: Launch,
    spoken: DeviceBuffer,
}

fn start(session: &Session, func: u64, rounds: u32) -> Speaking {
    let spoken = session.filled(&[Spoken {
        func,
        rounds,
        ticket: u32::MAX,
    }]);
    let launch = launch(session, "speak", GRID, &spoken);
    Speaking { launch, spoken }
}

/// Starts a kernel whose arguments are the address of its queue and another value.
fn launch(session: &Session, kernel: &str, grid: Grid, other: &dyn KernelArg) -> Launch {
    let queue = session.runtime.launch_wire().unwrap();
    let address = queue.address();
    let kernel = session.program.kernel(kernel).unwrap();
    // SAFETY: the suite's kernels take these, and the memory that they name lives until the tests
    // have waited for the launch.
    unsafe { kernel.launch_on(queue, grid, &[&address, other]) }.unwrap()
}

fn launches_have_their_own(target: &Target) {
    const ROUNDS: u32 = 20;
    let (session, counts) = session(target);
    let captured = Captured::begin();
    let all: Vec<_> = (0..3).map(|_| start(&session, WORD, ROUNDS)).collect();
    for speaking in &all {
        speaking.launch.wait().unwrap();
        assert_eq!(speaking.launch.return_value(), 0);
    }
    let lines = captured.lines();
    assert_eq!(lines.len() as u32, all.len() as u32 * THREADS * ROUNDS);
    for thread in 0..THREADS {
        let of_thread = |line: &&String| {
            let number = line.strip_prefix("own ").map(str::parse::<u32>);
            number.is_some_and(|number| number.unwrap() / 1000 == thread)
        };
        let count = lines.iter().filter(of_thread).count();
        assert_eq!(count as u32, all.len() as u32 * ROUNDS, "thread {thread}");
    }
    let expected = all.iter().map(|s| (s.launch.id(), THREADS * ROUNDS));
    assert_eq!(*counts.0.lock().unwrap(), expected.collect());
    session.works();
}

fn a_failed_call_is_its_launchs(target: &Target) {
    let (session, counts) = session(target);
    let _captured = Captured::begin();
    let all = [WORD, UNKNOWN, WORD].map(|func| start(&session, func, 10));
    let [good, bad, another] = all.map(|speaking| {
        let result = speaking.launch.wait();
        (speaking.launch.id(), result)
    });
    let error = bad.1.unwrap_err();
    assert!(matches!(error, LaunchError::Call { .. }), "{error}");
    assert!(error.to_string().contains("0xbad"), "{error}");
    for (launch, result) in [good, another] {
        result.unwrap();
        assert_eq!(counts.0.lock().unwrap()[&launch], THREADS * 10);
    }
}

fn queues_are_used_again(target: &Target) {
    let (session, _) = session(target);
    let _captured = Captured::begin();
    for n in 0..200 {
        let speaking = start(&session, WORD, 1);
        speaking.launch.wait().unwrap();
        let ticket = read::<Spoken>(&speaking.spoken)[0].ticket;
        assert_eq!(ticket / (2 * THREADS), n, "as many launches before it");
    }
}

fn what_a_kernel_makes_of_its_queue_is_not_passed_on(target: &Target) {
    let (session, _) = session(target);
    let captured = Captured::begin();
    let erase = |count: u64| {
        // The kernel's own outcome does not matter.
        let _ = launch(&session, "erase", ONE, &count).wait();
    };
    erase(0);
    launch(&session, "leave_with", ONE, &0u64).wait().unwrap();
    assert_eq!(captured.lines(), [] as [&str; 0]);
    // Lost messages are noticed if there are at least this many.
    erase(100);
    let many = start(&session, WORD, 2000 / THREADS);
    many.launch.wait().unwrap();
    assert_eq!(captured.lines().len(), 2000);
}

/// A queue with contents is not reused.
fn a_queue_that_is_not_empty_is_not(target: &Target) {
    let (session, _) = session(target);
    let _captured = Captured::begin();
    for value in [0xCAFE_0007_u64, 1] {
        let left = launch(&session, "leave_with", ONE, &value);
        left.wait().unwrap();
        assert_eq!(u64::from(left.return_value().cast_unsigned()), value);
        drop(left);
        let next = start(&session, WORD, 1);
        next.launch.wait().unwrap();
        assert_eq!(next.launch.return_value(), 0);
        let ticket = read::<Spoken>(&next.spoken)[0].ticket;
        assert!(ticket < 2 * THREADS, "ticket {ticket} of a new one");
    }
}

fn another_runtimes_queue_is_refused(target: &Target) {
    let (session, _) = session(target);
    let other = target.builder().build().unwrap();
    let queue = other.launch_wire().unwrap();
    let address = queue.address();
    let kernel = session.program.kernel("leave_with").unwrap();
    // SAFETY: the kernel takes the address of its queue and a value, and no memory.
    let result = unsafe { kernel.launch_on(queue, ONE, &[&address, &1u64]) };
    let error = result.err().expect("an error");
    assert!(
        matches!(&error, RuntimeError::WireOfOtherRuntime { kernel } if kernel == "leave_with"),
        "{error}"
    );
}

/// Even while the kernel runs on after its deadline.
fn what_a_kernel_uses_is_kept(target: &Target) {
    let held = Arc::new(());
    for deadline in [None, Some(Duration::from_millis(100))] {
        let builder = target.builder();
        let builder = match deadline {
            Some(deadline) => builder.deadline(deadline),
            None => builder,
        };
        let session = Session::build(target, builder, &Functions::new());
        let flag = session.filled(&[u32::from(deadline.is_none())]);
        let mut launch = session.start("wait_for", (1, 1), &[&flag]);
        launch.keep(Arc::clone(&held));
        launch.keep(Arc::clone(&held));
        assert_eq!(launch.wait().is_err(), deadline.is_some());
        assert_eq!(Arc::strong_count(&held), 3);
        drop(launch);
        let left = if deadline.is_some() { 3 } else { 1 };
        assert_eq!(Arc::strong_count(&held), left);
        // Lets the kernel end.
        flag.write(0, &[1u32]).expect("a word");
    }
}
