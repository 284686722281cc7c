//! Caveats of the figures, for the table and for the pictures.

use super::report::{Machine, Report};
use super::shape::Shape;

/// The load by other programs that affects the figures, in percent of a core.
const DISTURBED: f64 = 10.0;

/// The load by other programs, if the system reports it, and whether it was too high.
pub(crate) fn others(machine: &Machine) -> Option<(String, bool)> {
    let percent = machine.others_percent?;
    let used = format!("other programs used {percent:.0} % of a core meanwhile");
    Some(if percent > DISTURBED {
        (format!("{used}: these figures suffer from it"), true)
    } else {
        (used, false)
    })
}

/// Notes about figures that could not be measured and whose description contains `part`.
pub(crate) fn unmeasured(report: &Report, part: &str) -> Vec<String> {
    let failed = report.failed.iter();
    failed
        .filter(|failed| failed.what.contains(part))
        .map(|failed| format!("not measured: {}", failed.what))
        .collect()
}

/// The warning about a busy machine, if it was.
pub(crate) fn busy(report: &Report) -> Option<String> {
    others(&report.machine).and_then(|(text, is_busy)| is_busy.then_some(text))
}

/// A figure without times: too few of its calls were timed.
pub(crate) fn untimed(wire: &str, grid: Shape) -> String {
    format!("no times: {wire}, grid {grid}, where too few calls were timed")
}
