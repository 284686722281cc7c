//! What a reader must know beside the figures, in the table and in the pictures.

use super::report::{Machine, Report};
use super::shape::Shape;

/// From here on, in percent of a core, what others do shows in the figures.
const DISTURBED: f64 = 10.0;

/// How busy other programs kept the machine, if the system tells, and whether it was too much.
pub(crate) fn others(machine: &Machine) -> Option<(String, bool)> {
    let percent = machine.others_percent?;
    let used = format!("other programs used {percent:.0} % of a core meanwhile");
    Some(if percent > DISTURBED {
        (format!("{used}: these figures suffer from it"), true)
    } else {
        (used, false)
    })
}

/// Figures that could not be measured, as a picture notes them: those of whose description `part`
/// is a part.
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
