//! Resources of this process, as Linux reports them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Number of threads.
///
/// # Panics
/// There is no `/proc`.
#[must_use]
pub fn threads() -> usize {
    entries("/proc/self/task")
}

/// Number of open files.
///
/// # Panics
/// There is no `/proc`.
#[must_use]
pub fn files() -> usize {
    entries("/proc/self/fd")
}

/// Bytes of address space.
///
/// # Panics
/// There is no `/proc`.
#[must_use]
pub fn address_space() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm");
    let pages = statm.ok().and_then(|text| {
        let (pages, _) = text.split_once(' ')?;
        pages.parse::<u64>().ok()
    });
    // SAFETY: a setting of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.expect("/proc/self/statm begins with a number of pages") * page.cast_unsigned()
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder)
        .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
        .unwrap_or_else(|error| panic!("cannot read {folder}: {error}"))
        .len()
}

/// Names of threads without trailing numbers, and the number of threads with each.
#[must_use]
pub fn thread_names() -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    for task in tasks.flatten() {
        // A thread may end meanwhile.
        let Ok(name) = fs::read_to_string(task.path().join("comm")) else {
            continue;
        };
        let name = name
            .trim()
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        *names.entry(name.to_owned()).or_insert(0) += 1;
    }
    names
}

/// The highest number after `prefix` in the name of a thread; 0 if there is none.
#[must_use]
pub fn highest_number(prefix: &str) -> u32 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks.flatten().filter_map(|task| {
        // A thread may end meanwhile.
        fs::read_to_string(task.path().join("comm")).ok()
    });
    let numbers = names.filter_map(|name| name.trim().strip_prefix(prefix)?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// How long each thread, by its number, has waited for a processor so far; empty if the system does
/// not report it.
#[must_use]
pub fn processor_waits() -> BTreeMap<u32, Duration> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let waits = tasks.flatten().filter_map(|task| {
        let thread = task.file_name().to_str()?.parse().ok()?;
        // A thread may end meanwhile.
        let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        // Nanoseconds on a processor, nanoseconds of waiting for one, number of times on one.
        let waited = stat.split_whitespace().nth(1)?.parse().ok()?;
        Some((thread, Duration::from_nanos(waited)))
    });
    waits.collect()
}

/// Waits for a while until `count` has come down to `expected`: threads free objects a little later than others notice,
/// and the system lists a thread a little longer than it runs. Returns the last count.
pub fn settle<T: Copy + PartialOrd>(count: impl Fn() -> T, expected: T) -> T {
    let start = Instant::now();
    loop {
        let now = count();
        if now <= expected || start.elapsed() > Duration::from_secs(5) {
            return now;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Processor time of this process, in user and kernel mode.
///
/// # Panics
/// The system does not report it.
#[must_use]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a `timespec` that the call fills in.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
