//! Threads of this process, found by their names, since neither the runtime nor the device exposes
//! its threads.

use std::fs;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The prefix of the names of threads that serve calls.
pub(crate) const SERVING: &str = "serve ";

/// The prefix of the names of the `host` device's threads.
pub(crate) const DEVICE: &str = "device ";

/// The time that a new thread gets to set its name.
const PATIENCE: Duration = Duration::from_millis(10);

/// The ids of the threads whose names begin with `prefix`.
fn named(prefix: &str) -> Vec<libc::pid_t> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter(|task| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(prefix))
        })
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// Pins the threads whose names begin with `prefix` to one core, and with them the threads that
/// they create later. Returns whether there were any and all could be pinned.
pub(crate) fn pin(prefix: &str, core: usize) -> bool {
    let start = Instant::now();
    loop {
        let tasks = named(prefix);
        if !tasks.is_empty() {
            return tasks.into_iter().all(|task| pin_task(task, core));
        }
        if start.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::yield_now();
    }
}

/// Pins the calling thread to one core; returns whether that succeeded.
pub(crate) fn pin_this(core: usize) -> bool {
    pin_task(0, core)
}

fn pin_task(task: libc::pid_t, core: usize) -> bool {
    // SAFETY: all bytes zero is an empty set; `CPU_SET` ignores cores outside the set; the system
    // only reads the set, which is that long.
    unsafe {
        let mut cores: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(task, size_of::<libc::cpu_set_t>(), &raw const cores) == 0
    }
}

/// The first two cores that this process may use; `None` if it has only one.
pub(crate) fn two_cores() -> Option<[usize; 2]> {
    // SAFETY: all bytes zero is an empty set; the system writes no more than the given length;
    // `CPU_ISSET` gets only cores inside the set.
    let cores: Vec<usize> = unsafe {
        let mut cores: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cores) != 0 {
            return None;
        }
        (0..libc::CPU_SETSIZE as usize)
            .filter(|&core| libc::CPU_ISSET(core, &cores))
            .collect()
    };
    cores.first_chunk().copied()
}

/// Processor time of the threads whose names begin with `prefix`; `None` if there are none, or the
/// system does not report it.
pub(crate) fn cpu_time(prefix: &str) -> Option<Duration> {
    let tasks = named(prefix);
    if tasks.is_empty() {
        return None;
    }
    tasks.into_iter().map(task_cpu_time).sum()
}

fn task_cpu_time(task: libc::pid_t) -> Option<Duration> {
    // Linux's clock of a thread, exact to the nanosecond, unlike the hundredths of a second in
    // /proc. `pthread_getcpuclockid` computes the same number, but needs a handle.
    let clock: libc::clockid_t = (!task << 3) | 0b110;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a `timespec`; a clock that does not exist is an error.
    let ok = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    ok.then(|| Some(Duration::new(seconds.ok()?, nanoseconds.ok()?)))?
}
