//! Launches that have a queue for themselves, as those of GCC's kernels for AMD GPUs: whose
//! a call is, and when a queue is another launch's.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance::captured::Captured;
use conformance_calls::Spoken;
use host_rt::map::Arg;
use host_rt::{
    DeviceBuffer, ForeignFunction, Grid, KernelArg, Launch, LaunchError, LaunchQueue,
    RequestMemory, current_call,
};

use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(launches_have_their_own).alone(),
    test!(a_failed_call_is_its_launchs).alone(),
    test!(queues_are_used_again).alone(),
    test!(a_queue_that_is_not_empty_is_not).alone(),
];

/// Stands for the function below.
const WORD: u64 = 0xC0_FFEE;

/// Nobody has it.
const UNKNOWN: u64 = 0xBAD;

const GRID: Grid = Grid {
    teams: 2,
    threads: 4,
};
const THREADS: u32 = GRID.teams * GRID.threads;

/// Counts its calls by launch.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<u32, u32>>);

impl ForeignFunction for Counts {
    fn maps(&self, _: &mut [Arg]) -> bool {
        false
    }

    fn call_mapping(&self, _: &[Arg], _: &mut dyn RequestMemory) -> Result<(), String> {
        unreachable!("nothing is mapped")
    }

    unsafe fn call(&self, _: &mut [*mut c_void]) -> Result<(), String> {
        let launch = current_call().map_or(0, |call| call.launch);
        *self.0.lock().unwrap().entry(launch).or_default() += 1;
        Ok(())
    }
}

fn session(target: &Target) -> (Session, Arc<Counts>) {
    let session = Session::new(target, &acting(|what| what));
    let counts = Arc::new(Counts::default());
    let function = Arc::clone(&counts);
    // SAFETY: it takes nothing.
    unsafe { session.program.add_foreign(WORD, "count", function) };
    (session, counts)
}

/// A launch that speaks on a queue of its own.
struct Speaking {
    launch: Launch,
    queue: LaunchQueue,
    spoken: DeviceBuffer,
}

fn start(session: &Session, func: u64, rounds: u32) -> Speaking {
    let queue = session.runtime.launch_queue().unwrap();
    let spoken = session.filled(&[Spoken {
        func,
        rounds,
        ticket: u32::MAX,
    }]);
    let launch = launch(session, "speak", &queue, GRID, &[&queue.address(), &spoken]);
    Speaking {
        launch,
        queue,
        spoken,
    }
}

fn launch(
    session: &Session,
    kernel: &str,
    queue: &LaunchQueue,
    grid: Grid,
    args: &[&dyn KernelArg],
) -> Launch {
    let kernel = session.program.kernel(kernel).unwrap().with_queue(queue);
    // SAFETY: the suite's kernels take these, and what they name lives until the tests have
    // waited for the launch.
    unsafe { kernel.launch(grid, args) }.unwrap()
}

fn launches_have_their_own(target: &Target) {
    const ROUNDS: u32 = 20;
    let (session, counts) = session(target);
    let captured = Captured::begin();
    let all: Vec<_> = (0..3).map(|_| start(&session, WORD, ROUNDS)).collect();
    for speaking in &all {
        speaking.launch.wait().unwrap();
        assert_eq!(speaking.queue.return_value(), 0);
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

/// What a launch has left behind is not another's.
fn a_queue_that_is_not_empty_is_not(target: &Target) {
    let (session, _) = session(target);
    let _captured = Captured::begin();
    for value in [0xCAFE_0007_u64, 1] {
        let queue = session.runtime.launch_queue().unwrap();
        let one = Grid {
            teams: 1,
            threads: 1,
        };
        let args: [&dyn KernelArg; 2] = [&queue.address(), &value];
        let left = launch(&session, "leave_with", &queue, one, &args);
        left.wait().unwrap();
        assert_eq!(u64::from(queue.return_value().cast_unsigned()), value);
        drop((left, queue));
        let next = start(&session, WORD, 1);
        next.launch.wait().unwrap();
        assert_eq!(next.queue.return_value(), 0);
        assert!(
            read::<Spoken>(&next.spoken)[0].ticket < 2 * THREADS,
            "a new one"
        );
    }
}
