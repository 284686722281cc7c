//! The cost of waiting: processor time while a kernel runs without calls, and the time of the first
//! request after a pause.

use std::time::{Duration, Instant};

use super::context::Bench;
use super::latency::Latency;
use super::os_threads;
use super::report::{Pauses, Quiet};
use super::session::{Session, Setup, Use};
use super::shape::Shape;

/// The time from the start of a kernel until its first call is over and the serving threads have
/// settled.
const SETTLE: Duration = Duration::from_millis(100);

/// Measures one wire, roughly if `quick`.
pub(crate) fn measure(bench: &Bench, setup: Setup, quick: bool) -> anyhow::Result<Quiet> {
    bench.watchdog.at("a kernel that asks for nothing");
    let (quiet, long_pauses, short_pauses) = if quick { (200, 1, 5) } else { (1000, 3, 30) };
    let quiet = Duration::from_millis(quiet);
    let short = Duration::from_millis(20);
    let mut session = Session::open(
        bench,
        Use {
            setup,
            grid: Shape::ONE,
            host_threads: None,
            cores: bench.cores,
        },
    )?;

    let (latency, ()) = session.pauses(short, short_pauses, || ())?;
    let mut pauses = vec![figures(short, short_pauses, &latency)];

    // The kernel's first pause begins soon after its start and lasts longer than the
    // measurement.
    let long = SETTLE + quiet + SETTLE;
    let (latency, busy) = session.pauses(long, long_pauses, || {
        std::thread::sleep(SETTLE);
        let (start, before) = (Instant::now(), os_threads::cpu_time(os_threads::SERVING)?);
        std::thread::sleep(quiet);
        let (after, time) = (os_threads::cpu_time(os_threads::SERVING)?, start.elapsed());
        Some((after.saturating_sub(before).as_secs_f64() / time.as_secs_f64()) * 100.0)
    })?;
    pauses.push(figures(long, long_pauses, &latency));

    Ok(Quiet {
        wire: setup.name().to_owned(),
        waiting: setup.waiting_name().to_owned(),
        quiet_seconds: quiet.as_secs_f64(),
        cpu_percent: busy,
        pauses,
    })
}

fn figures(pause: Duration, calls: u64, latency: &Latency) -> Pauses {
    Pauses {
        pause_seconds: pause.as_secs_f64(),
        calls,
        p50_ns: latency.percentile(50.0),
        p99_ns: latency.percentile(99.0),
    }
}
