//! The threads that serve calls: their number, and that a busy one delays no others.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use conformance::Target;
use conformance_calls::{Outcome, STOP};

use crate::session::{Session, acting, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(as_many_at_once_as_threads),
    test!(threads_of_the_environment).alone_with(&[("GOMP_REVERSE_OFFLOAD_THREADS", "3")]),
    test!(a_slow_function_delays_its_own_caller_alone),
    test!(all_threads_but_one_are_slow),
    test!(one_thread_serves_all),
    test!(callers_meet),
    test!(callers_meet_in_a_function_that_was_fast),
    test!(threads_are_made_on_demand),
];

/// Long enough for threads to arrive on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// Counts the threads inside, and the maximum so far.
#[derive(Default)]
struct Inside {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Inside {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// Runs 32 callers at once, each of which stays until `limit` are inside.
fn fill(target: &Target, builder: revoff_host::Builder, limit: usize) {
    let limit = if target.is_parallel() { limit } else { 1 };
    let inside = Arc::new(Inside::default());
    let all = Arc::clone(&inside);
    let session = Session::build(
        target,
        builder,
        &acting(move |what| {
            all.enter();
            let start = Instant::now();
            while all.most() < limit && start.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Any further threads would arrive in this time.
            std::thread::sleep(Duration::from_millis(2));
            all.leave();
            what
        }),
    );
    let (outcomes, result) = session.act(target.apart((4, 8)), 1, 0, 3);
    result.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.ok == 3));
    assert_eq!(inside.most(), limit, "calls at once");
    assert!(session.runtime.threads() <= session.runtime.cost().threads);
}

fn as_many_at_once_as_threads(target: &Target) {
    for limit in [1, 2, 3, 8] {
        fill(target, target.builder().threads(limit), limit);
    }
    // libgomp's default.
    fill(target, target.builder(), 8);
}

fn threads_of_the_environment(target: &Target) {
    fill(target, target.builder(), 3);
    fill(target, target.builder().threads(5), 5);
}

/// `slow` of 8 device threads stay in a function until the others have made some calls, or until it
/// is clear that the others cannot call.
fn delay(target: &Target, threads: usize, slow: u64) -> u64 {
    let served = Arc::new(AtomicU64::new(0));
    let meanwhile = Arc::new(AtomicU64::new(0));
    let ended = Arc::new(AtomicU64::new(0));
    let can_call = target.is_parallel() && threads as u64 > slow;
    let functions = {
        let (served, meanwhile, ended) = (
            Arc::clone(&served),
            Arc::clone(&meanwhile),
            Arc::clone(&ended),
        );
        acting(move |what| {
            if what >= slow {
                served.fetch_add(1, Ordering::SeqCst);
                return if ended.load(Ordering::SeqCst) == slow {
                    STOP
                } else {
                    1
                };
            }
            let (start, before) = (Instant::now(), served.load(Ordering::SeqCst));
            let now = || served.load(Ordering::SeqCst) - before;
            let patience = if can_call { LONG } else { Duration::ZERO };
            while start.elapsed() < Duration::from_millis(300)
                || (now() < 100 && start.elapsed() < patience)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            meanwhile.fetch_max(now(), Ordering::SeqCst);
            ended.fetch_add(1, Ordering::SeqCst);
            STOP
        })
    };
    let session = Session::build(target, target.builder().threads(threads), &functions);
    let (outcomes, result) = session.act(target.apart((1, 8)), 0, 1, u32::MAX);
    result.unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.ok > 0 && outcome.failed == 0)
    );
    meanwhile.load(Ordering::SeqCst)
}

fn a_slow_function_delays_its_own_caller_alone(target: &Target) {
    for threads in [2, 8] {
        let meanwhile = delay(target, threads, 1);
        if target.is_parallel() {
            assert!(meanwhile >= 100, "{meanwhile} calls with {threads} threads");
        } else {
            assert_eq!(meanwhile, 0, "the wire has one slot");
        }
    }
}

fn all_threads_but_one_are_slow(target: &Target) {
    if target.is_parallel() {
        let meanwhile = delay(target, 5, 4);
        assert!(meanwhile >= 100, "{meanwhile} calls");
    } else {
        assert_eq!(delay(target, 5, 1), 0, "the wire has one slot");
    }
}

fn one_thread_serves_all(target: &Target) {
    assert_eq!(delay(target, 1, 1), 0, "its one thread sleeps");
}

/// A place where `count` callers wait for each other.
struct Meeting {
    count: u32,
    came: Mutex<u32>,
    all_there: Condvar,
}

impl Meeting {
    fn of(count: u32) -> Arc<Self> {
        Arc::new(Self {
            count,
            came: Mutex::new(0),
            all_there: Condvar::new(),
        })
    }

    fn wait_for_all(&self, patience: Duration) -> Result<u64, String> {
        let mut came = self.came.lock().unwrap();
        *came += 1;
        self.all_there.notify_all();
        let waiting = |came: &mut u32| *came < self.count;
        let (came, _) = self
            .all_there
            .wait_timeout_while(came, patience, waiting)
            .unwrap();
        if *came < self.count {
            Err(format!("only {came} came"))
        } else {
            Ok(1)
        }
    }
}

fn run_at_once(target: &Target, count: u32, before: u32) {
    let meeting = Meeting::of(count);
    let patience = if target.is_parallel() {
        LONG
    } else {
        Duration::from_millis(100)
    };
    let calls = Arc::new(AtomicU32::new(0));
    let functions = {
        let calls = Arc::clone(&calls);
        acting_or(move |what| {
            // All of the first launch pass.
            calls.fetch_add(1, Ordering::SeqCst);
            if what == 0 {
                Ok(0)
            } else {
                meeting.wait_for_all(patience)
            }
        })
    };
    let session = Session::build(target, target.builder().threads(count as usize), &functions);
    if before > 0 {
        session.act((1, 1), 0, 0, before).1.unwrap();
    }
    let (outcomes, result) = session.act(target.apart((1, count)), 1, 0, 1);
    assert_eq!(calls.load(Ordering::SeqCst), before + count);
    if target.is_parallel() {
        result.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.ok == 1));
    } else {
        // One at a time: all but the last time out.
        let error = result.unwrap_err().to_string();
        assert!(error.contains("only 1 came"), "{error}");
        assert_eq!(outcomes.iter().filter(|outcome| outcome.ok == 1).count(), 1);
    }
}

fn callers_meet(target: &Target) {
    for count in [2, 4, 8] {
        run_at_once(target, count, 0);
    }
}

/// A function that has been fast for long is checked less often.
fn callers_meet_in_a_function_that_was_fast(target: &Target) {
    for count in [2, 4, 8] {
        run_at_once(target, count, 2000);
    }
}

fn threads_are_made_on_demand(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    assert_eq!(session.runtime.threads(), 0, "no kernel has run");
    let flag = session.filled(&[1u32]);
    session.run("wait_for", (1, 1), &[&flag]).unwrap();
    assert!(session.runtime.threads() <= 1, "no kernel has called");
    session.works();
    let acting = session.start_act((8, 8), 1, 0, 20);
    acting.launch.wait().unwrap();
    assert!(
        read::<Outcome>(&acting.outcomes)
            .iter()
            .all(|outcome| outcome.ok == 20)
    );
    let threads = session.runtime.threads();
    assert!((1..=8).contains(&threads), "{threads} threads");
}
