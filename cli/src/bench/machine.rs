//! The machine and time of the measurement, and the load by other programs.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::report::Machine;

/// This machine, and the load by `others`.
pub(crate) fn machine(others: &Others) -> Machine {
    Machine {
        model: model(),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        arch: std::env::consts::ARCH.to_owned(),
        os: std::env::consts::OS.to_owned(),
        others_percent: others.percent(),
    }
}

/// The processor's name, if the system reports it.
fn model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Measures the load by other programs, from construction on.
pub(crate) struct Others {
    start: Instant,
    used: Option<Duration>,
}

impl Others {
    pub(crate) fn watch() -> Self {
        Self {
            start: Instant::now(),
            used: used_by_others(),
        }
    }

    /// Processor time that all other programs have used since construction, in percent of a core;
    /// `None` if the system does not report it.
    pub(crate) fn percent(&self) -> Option<f64> {
        let used = used_by_others()?.saturating_sub(self.used?);
        Some(used.as_secs_f64() / self.start.elapsed().as_secs_f64() * 100.0)
    }
}

/// Processor time that other programs have used since the machine started, including time stolen by
/// a hypervisor.
fn used_by_others() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let fields = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_ascii_whitespace();
    let ticks: Vec<u64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    // user nice system idle iowait irq softirq steal, and two that user includes.
    let busy: u64 = [0, 1, 2, 5, 6, 7]
        .iter()
        .map(|&i| ticks.get(i).unwrap_or(&0))
        .sum();
    let mut own = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `sysconf` takes a constant; `clock_gettime` writes to `own`, a `timespec`.
    let (ok, second) = unsafe {
        let ok = libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut own) == 0;
        (ok, libc::sysconf(libc::_SC_CLK_TCK))
    };
    if !ok || second <= 0 {
        return None;
    }
    let own = Duration::new(own.tv_sec.try_into().ok()?, own.tv_nsec.try_into().ok()?);
    Some(Duration::from_secs_f64(busy as f64 / second as f64).saturating_sub(own))
}

/// Date and time of day in UTC, in ISO 8601 format.
pub(crate) fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    utc(seconds)
}

fn utc(seconds: u64) -> String {
    let (mut days, time) = (seconds / 86_400, seconds % 86_400);
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (day, hour, minute, second) = (days + 1, time / 3600, time / 60 % 60, time % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_right() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(utc(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
