//! Kernels that are run to their end with words for parameters: on `host` they are C functions, in
//! the form of compiled OpenMP target regions.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::OnceLock;

use conformance::{Target, child};
use revoff_host::targets::count::Count;
use revoff_host::{DeviceBuffer, Functions, Grid, Kernel, LaunchError, Report, RuntimeError};

use crate::c_image::lookup;
use crate::image::{c_plain, c_words};
use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(words_of_a_declared_kernel),
    test!(on_the_callers_thread).only(Target::is_host),
    test!(as_many_words_as_there_may_be).only(Target::is_host),
    test!(one_thread_alone).only(Target::is_host),
    test!(a_function_calls).only(Target::is_host),
    test!(a_large_stack).only(Target::is_host),
    test!(threads_of_a_function_call).only(Target::is_host),
    test!(functions_at_the_same_time).only(Target::is_host),
    test!(a_function_fails_calls).only(Target::is_host),
    test!(a_function_in_a_function).only(Target::is_host),
    test!(a_function_in_a_host_function)
        // With a single slot, the outer call has it.
        .only(|target| target.is_host() && target.is_parallel())
        .alone(),
    test!(a_function_traps).only(Target::is_host),
    test!(a_thread_of_a_function_traps).only(Target::is_host),
];

const ONE: Grid = Grid {
    teams: 1,
    threads: 1,
};

fn plain(target: &Target) -> Session {
    let runtime = target.builder().build().unwrap();
    Session::on(&runtime, &c_plain(), &Functions::new())
}

fn calling(target: &Target) -> Session {
    let mut functions = Functions::new();
    // SAFETY: the image is the suite's own, whose kernels send the arguments that `lookup` takes.
    unsafe { functions.add_raw("lookup", lookup).unwrap() };
    let runtime = target.builder().build().unwrap();
    Session::on(&runtime, &c_words(), &functions)
}

fn run(session: &Session, kernel: &str, words: &[u64]) -> Result<Report, RuntimeError> {
    let kernel = session.program.kernel(kernel).unwrap();
    // SAFETY: each test passes the parameters of that function in plain.c or words.c, and memory
    // that lives until it has returned.
    unsafe { kernel.call_inline(ONE, words) }
}

/// On GPUs it is a launch; on `host` such a kernel takes its parameters differently.
fn words_of_a_declared_kernel(target: &Target) {
    let functions = Functions::new();
    let session = Session::new(target, &functions);
    let flag = session.filled(&[1u32]);
    let result = run(&session, "wait_for", &[flag.address().0]);
    if target.is_host() {
        let error = result.unwrap_err();
        assert!(
            matches!(&error, RuntimeError::NotInline { kernel } if kernel == "wait_for"),
            "{error}"
        );
    } else {
        result.unwrap();
    }
}

fn on_the_callers_thread(target: &Target) {
    let session = plain(target);
    let told = session.zeroed::<u64>(1);
    run(&session, "tell_thread", &[0, told.address().0]).unwrap();
    // SAFETY: it has no conditions.
    let me = unsafe { libc::pthread_self() };
    assert_eq!(read::<u64>(&told), [me]);
}

fn as_many_words_as_there_may_be(target: &Target) {
    let session = plain(target);
    run(&session, "no_words", &[]).unwrap();
    let got = session.zeroed::<u64>(127);
    let mut words: Vec<u64> = (0..127).map(|i| i << 33 | i).collect();
    words[0] = got.address().0;
    run(&session, "most_words", &words).unwrap();
    assert_eq!(read::<u64>(&got), words);
    words.push(0);
    let error = run(&session, "most_words", &words).unwrap_err().to_string();
    assert!(
        error.contains("at most 127 words") && error.contains("not 128"),
        "{error}"
    );
}

fn one_thread_alone(target: &Target) {
    for session in [plain(target), calling(target)] {
        let name = if session.program.kernel("no_words").is_ok() {
            "no_words"
        } else {
            "call_once"
        };
        let kernel = session.program.kernel(name).unwrap();
        for (teams, threads) in [(0, 0), (0, 1), (1, 0), (2, 1), (1, 2)] {
            let grid = Grid { teams, threads };
            // SAFETY: it is not run.
            let error = unsafe { kernel.call_inline(grid, &[0, 0, 0]) }.unwrap_err();
            let wanted = format!(
                "cannot launch {} of {}",
                Count(teams.into(), "team"),
                Count(threads.into(), "thread")
            );
            assert!(error.to_string().contains(&wanted), "{error}");
        }
    }
}

fn a_function_calls(target: &Target) {
    let session = calling(target);
    let (number, result) = (session.filled(&[7u64]), session.zeroed::<u64>(1));
    for round in 1..=3 {
        let words = [0, number.address().0, result.address().0];
        run(&session, "call_once", &words).unwrap();
        assert_eq!(read::<u64>(&number), [7 + 1000 * round]);
        assert_eq!(read::<u64>(&result), [5 + 1 + 5]);
        assert_eq!(session.runtime.requests(), round);
    }
}

fn a_large_stack(target: &Target) {
    let session = calling(target);
    let to = session.zeroed::<u64>(1);
    run(&session, "use_stack", &[0, to.address().0, 7 << 20]).unwrap();
    assert_eq!(read::<u64>(&to), [2]);
}

/// The data of [`call_by_threads`].
struct ByThreads {
    numbers: DeviceBuffer,
    results: DeviceBuffer,
    told: DeviceBuffer,
}

const THREADS: u64 = 8;
const ROUNDS: u64 = 5;

fn call_by_threads(session: &Session) -> (ByThreads, Result<Report, RuntimeError>) {
    let buffer = || session.zeroed::<u64>(THREADS as usize);
    let [numbers, results, told] = [buffer(), buffer(), buffer()];
    let words = [
        0,
        numbers.address().0,
        results.address().0,
        told.address().0,
        ROUNDS,
    ];
    let result = run(session, "call_by_threads", &words);
    let by_threads = ByThreads {
        numbers,
        results,
        told,
    };
    (by_threads, result)
}

fn check_calls_by_threads(session: &Session) {
    let (done, result) = call_by_threads(session);
    result.unwrap();
    assert_eq!(
        read::<u64>(&done.numbers),
        [1000 * ROUNDS; THREADS as usize]
    );
    let expected: Vec<u64> = (0..THREADS).map(|me| (2 * me + 1) * ROUNDS).collect();
    assert_eq!(read::<u64>(&done.results), expected);
    let told: BTreeSet<u64> = read(&done.told).into_iter().collect();
    assert_eq!(told.len() as u64, THREADS, "each has a number of its own");
    assert!(!told.contains(&0), "which is not the kernel's");
}

fn threads_of_a_function_call(target: &Target) {
    let session = calling(target);
    check_calls_by_threads(&session);
    assert_eq!(session.runtime.requests(), THREADS * ROUNDS);
}

fn functions_at_the_same_time(target: &Target) {
    let session = calling(target);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_calls_by_threads(&session));
        }
    });
    assert_eq!(session.runtime.requests(), 4 * THREADS * ROUNDS);
}

fn a_function_fails_calls(target: &Target) {
    let runtime = target.builder().build().unwrap();
    let session = Session::on(&runtime, &c_words(), &Functions::new());
    let (_, result) = call_by_threads(&session);
    match result.unwrap_err() {
        RuntimeError::Launch(LaunchError::Call { kernel, failed, .. }) => {
            assert_eq!((&*kernel, failed), ("call_by_threads", THREADS * ROUNDS));
        }
        error => panic!("{error}"),
    }
}

/// A kernel to run between two calls of another.
struct Between<'a> {
    session: &'a Session,
    result: Option<Result<Report, RuntimeError>>,
    kernel: &'a str,
    words: &'a [u64],
}

unsafe extern "C" fn between(argument: *mut c_void) {
    // SAFETY: `a_function_in_a_function` passed it, and waits.
    let between = unsafe { &mut *argument.cast::<Between<'_>>() };
    between.result = Some(run(between.session, between.kernel, between.words));
}

fn a_function_in_a_function(target: &Target) {
    let session = calling(target);
    let [number, inner, result] = [0; 3].map(|_: u8| session.zeroed::<u64>(1));
    let inside = |kernel: &str, words: &[u64]| {
        let mut argument = Between {
            session: &session,
            result: None,
            kernel,
            words,
        };
        let place = (&raw mut argument).addr() as u64;
        let function = (between as *const ()).addr() as u64;
        let words = [0, function, place, number.address().0];
        run(&session, "run_between", &words).unwrap();
        argument.result.expect("it has run")
    };
    inside("call_once", &[0, inner.address().0, result.address().0]).unwrap();
    assert_eq!(read::<u64>(&inner), [1000]);
    assert_eq!(read::<u64>(&number), [2000]);
    let error = inside("trap_here", &[0]).unwrap_err().to_string();
    assert!(error.contains("out of luck"), "{error}");
    assert_eq!(read::<u64>(&number), [4000]);
}

/// A kernel, and its words, for a host function.
static NESTED: OnceLock<(Kernel, [u64; 3])> = OnceLock::new();

unsafe extern "C" fn nest(args: *mut *mut c_void) {
    let (kernel, words) = NESTED.get().expect("set before");
    // SAFETY: the kernel sends the arguments that `lookup` takes.
    let me = unsafe { (*args.add(2)).addr() };
    if me == 5 {
        // SAFETY: the test has set words that the kernel takes.
        unsafe { kernel.call_inline(ONE, words) }.unwrap();
    }
}

/// While its only serving thread is in a host function.
fn a_function_in_a_host_function(target: &Target) {
    let runtime = target.builder().threads(1).build().unwrap();
    let mut functions = Functions::new();
    // SAFETY: the image is the suite's own, whose kernels send the arguments that `nest` takes.
    unsafe { functions.add_raw("lookup", nest).unwrap() };
    let outer = Session::on(&runtime, &c_words(), &functions);
    let mut functions = Functions::new();
    // SAFETY: the image is the suite's own, whose kernels send the arguments that `lookup` takes.
    unsafe { functions.add_raw("lookup", lookup).unwrap() };
    let inner = Session::on(&runtime, &c_words(), &functions);
    let [number, result, others] = [0; 3].map(|_: u8| inner.zeroed::<u64>(1));
    let kernel = inner.program.kernel("call_once").unwrap();
    let words = [0, number.address().0, result.address().0];
    assert!(NESTED.set((kernel, words)).is_ok(), "a process of its own");
    let words = [0, others.address().0, result.address().0];
    run(&outer, "call_once", &words).unwrap();
    assert_eq!(read::<u64>(&number), [1000]);
}

fn a_function_traps(target: &Target) {
    let session = calling(target);
    for _ in 0..3 {
        let error = run(&session, "trap_here", &[0]).unwrap_err().to_string();
        assert_eq!(error, "kernel `trap_here`: out of luck\\u{1b}[0m");
    }
    check_calls_by_threads(&session);
}

/// Only that thread could be stopped, and the kernel would wait for it forever.
fn a_thread_of_a_function_traps(target: &Target) {
    if child::is_one() {
        let _ = run(&calling(target), "trap_on_thread", &[0]);
        return;
    }
    let name = format!("{}::a_thread_of_a_function_traps", target.name());
    let error = child::run(&name, &[]).expect_err("the process ends");
    let error = error.to_string();
    assert!(error.contains("SIGABRT"), "{error}");
    assert!(
        error.contains("started by one: out of luck\\u{1b}[0m"),
        "{error}"
    );
}
