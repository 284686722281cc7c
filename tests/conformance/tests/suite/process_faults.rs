//! Faults of the process: it has no descriptors, threads or addresses left, it is stopped for a while, a host
//! function ends it. Launches work or are errors, and work again afterwards.

use std::env;
use std::error::Error;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use conformance::child::{self, ChildError};
use conformance::{Target, process, target};
use conformance_calls::Outcome;
use revoff_host::{Grid, KernelArg};

use crate::image::image;
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(no_descriptors_are_left).alone(),
    test!(no_threads_are_left).alone(),
    test!(no_addresses_are_left).alone(),
    test!(the_process_is_stopped_for_a_while).alone(),
    test!(a_function_ends_the_process),
    test!(a_function_may_end_the_process).alone(),
];

/// Launches without taking success for granted.
fn launch(session: &Session, grid: Grid) -> Result<(), Box<dyn Error>> {
    let threads = (grid.teams * grid.threads) as usize;
    let outcomes = (session.runtime).alloc((threads * size_of::<Outcome>()) as u64)?;
    let kernel = session.program.kernel("call_act")?;
    let args: [&dyn KernelArg; 4] = [&1u64, &0u64, &3u32, &outcomes];
    // SAFETY: the parameters are those of `call_act`, with an outcome for each thread, which live until the launch has
    // ended.
    unsafe { kernel.launch(grid, &args) }?.wait()?;
    let outcomes = read::<Outcome>(&outcomes);
    assert!(
        outcomes.iter().all(|outcome| outcome.ok == 3),
        "a failure is an error"
    );
    Ok(())
}

const SMALL: Grid = Grid {
    teams: 2,
    threads: 2,
};
const LARGE: Grid = Grid {
    teams: 4,
    threads: 16,
};

/// Counts what has failed, which must name the resource that is missing.
#[derive(Default)]
struct Failures(u32);

impl Failures {
    /// On the device `host` something fails. Emulated GPUs may need no more than they have.
    fn check(&self, target: &Target) {
        assert!(self.0 > 0 || !target.is_host(), "the limit has no effect");
    }

    fn note<T>(&mut self, result: Result<T, impl ToString>, resource: &str) {
        if let Err(error) = result {
            let error = error.to_string();
            assert!(error.contains(resource), "{error}");
            self.0 += 1;
        }
    }
}

/// The limits of a resource, of which the first is lowered.
struct Lowered {
    resource: libc::__rlimit_resource_t,
    before: libc::rlimit,
}

impl Lowered {
    fn to(resource: libc::__rlimit_resource_t, limit: u64) -> Self {
        let mut before = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: a limit that the call fills in.
        assert_eq!(unsafe { libc::getrlimit(resource, &raw mut before) }, 0);
        let lowered = libc::rlimit {
            rlim_cur: limit,
            ..before
        };
        // SAFETY: limits of a resource, which live until the call returns.
        assert_eq!(unsafe { libc::setrlimit(resource, &raw const lowered) }, 0);
        Self { resource, before }
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::setrlimit(self.resource, &raw const self.before) };
    }
}

fn no_descriptors_are_left(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    let image = image(target);
    let lowered = Lowered::to(libc::RLIMIT_NOFILE, 200);
    let taken: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!taken.is_empty());
    // The existing session needs no more descriptors.
    launch(&session, LARGE).unwrap();
    let mut failures = Failures::default();
    for _ in 0..3 {
        failures.note(target.builder().build(), "Too many open files");
        let loaded = session.runtime.load(&image, &acting(|what| what));
        failures.note(loaded, "Too many open files");
    }
    failures.check(target);
    drop((taken, lowered));
    Session::new(target, &acting(|what| what)).works();
    session.works();
}

fn no_threads_are_left(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    let image = image(target);
    // The system limits the threads of a user, but not those of root, which this process is no more.
    // SAFETY: calls with numbers only.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setresuid(65534, 65534, 65534), 0);
        }
    }
    let lowered = Lowered::to(libc::RLIMIT_NPROC, 0);
    let spawned = std::thread::Builder::new().spawn(|| ());
    assert!(spawned.is_err(), "the limit has no effect");
    let mut failures = Failures::default();
    for grid in [SMALL, LARGE, SMALL] {
        failures.note(launch(&session, grid), "thread");
        failures.note(target.builder().build(), "thread");
        let loaded = session.runtime.load(&image, &acting(|what| what));
        failures.note(loaded, "thread");
    }
    failures.check(target);
    drop(lowered);
    launch(&session, LARGE).unwrap();
    session.works();
}

fn no_addresses_are_left(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    // Room for what is small, such as the queue of a launch. A device reserves the addresses of its memory.
    let lowered = Lowered::to(libc::RLIMIT_AS, process::address_space() + (256 << 20));
    let mut failures = Failures::default();
    for _ in 0..3 {
        failures.note(target.builder().build(), "Cannot allocate memory");
        launch(&session, LARGE).unwrap();
    }
    failures.check(target);
    drop(lowered);
    Session::new(target, &acting(|what| what)).works();
    session.works();
}

/// By another process, which continues it.
fn the_process_is_stopped_for_a_while(target: &Target) {
    let me = std::process::id();
    let is_first = AtomicBool::new(true);
    let session = Session::new(
        target,
        &acting(move |what| {
            // Relaxed: a flag and nothing else.
            if is_first.swap(false, Ordering::Relaxed) {
                let script = format!(
                    "until grep -q '^State:.T' /proc/{me}/status; do sleep 0.01; done; sleep 0.2; kill -CONT {me}"
                );
                let mut other = Command::new("sh").args(["-c", &script]).spawn().unwrap();
                // SAFETY: stops this process, which the other one waits for.
                assert_eq!(unsafe { libc::kill(me.cast_signed(), libc::SIGSTOP) }, 0);
                assert!(other.wait().unwrap().success());
            }
            what
        }),
    );
    launch(&session, LARGE).unwrap();
    session.works();
}

/// The variable with which the function ends the process.
const ENDS: &str = "REVOFF_TEST_FUNCTION_ENDS_PROCESS";

fn a_function_ends_the_process(target: &Target) {
    let name = format!(
        "{}::a_function_may_end_the_process",
        target::device_name(target.device)
    );
    for _ in 0..5 {
        match child::run(&name, &[(ENDS, "7")]) {
            Err(ChildError::Failed { status, output }) => {
                assert_eq!(status.code(), Some(7), "{:?}, {output}", status.signal());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// While other threads of the device call and compute.
#[expect(clippy::exit, reason = "as a user's function may")]
fn a_function_may_end_the_process(target: &Target) {
    let status = env::var(ENDS).ok().map(|status| status.parse().unwrap());
    let functions = acting(move |what| match status {
        Some(status) if what == 0 => std::process::exit(status),
        _ => what,
    });
    let session = Session::new(target, &functions);
    let (_, result) = session.act((2, 8), 0, 1, 50);
    result.unwrap();
    assert_eq!(status, None);
}
