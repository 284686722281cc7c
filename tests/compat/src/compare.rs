//! Compares runs of a program with two libraries, or on a device and on the host.

use crate::{Outcome, Program, Report, Reports, program_output};

/// Compares a run with LLVM's own library and one with ours: same output, same end, same reports;
/// ours copies no more, and nothing at another time.
///
/// # Errors
/// The difference.
pub fn compare(program: &Program, stock: &Outcome, ours: &Outcome) -> Result<(), String> {
    if program.stock.is_some() {
        // They differ on purpose.
        return Ok(());
    }
    let differ = fault(program, stock, ours);
    differ.map_or(Ok(()), |fault| {
        let (stock, ours) = (program_output(stock), program_output(ours));
        Err(format!("{fault}\n== LLVM's:\n{stock}\n== ours:\n{ours}"))
    })
}

fn fault(program: &Program, stock: &Outcome, ours: &Outcome) -> Option<String> {
    if stock.status != ours.status {
        let status = |outcome: &Outcome| {
            let status = outcome.status.map(|status| status.to_string());
            status.unwrap_or_else(|| "no end".to_owned())
        };
        let (stock, ours) = (status(stock), status(ours));
        return Some(format!("it ended with {ours}, and {stock} with LLVM's"));
    }
    if stock.stdout != ours.stdout {
        return Some(format!(
            "its output differs: {}",
            first_difference([("LLVM's", &stock.stdout), ("ours", &ours.stdout)])
        ));
    }
    let succeeds = stock.status.is_some_and(|status| status.success());
    let report = |outcome: &Outcome| Report::parse(&outcome.stderr);
    let (stock, ours) = (report(stock), report(ours));
    // Ours may report more about errors.
    if succeeds && stock.complaints.is_empty() && !ours.complaints.is_empty() {
        let complaint = &ours.complaints[0];
        return Some(format!("ours complains, LLVM's does not: {complaint:?}"));
    }
    let (stock, ours) = match program.reports {
        Reports::Free => return None,
        Reports::Same => (stock, ours),
        Reports::Sorted | Reports::Copies => (stock.unordered(), ours.unordered()),
    };
    let same_info = program.reports == Reports::Copies || stock.info == ours.info;
    if !same_info {
        let (stock, ours) = (stock.info.join("\n"), ours.info.join("\n"));
        let difference = first_difference([("LLVM's", &stock), ("ours", &ours)]);
        return Some(format!("its report differs: {difference}"));
    }
    let missing = in_order(&stock.complaints, &ours.complaints);
    if let Some(missing) = missing {
        return Some(format!("ours does not complain: {missing:?}"));
    }
    // Ours may leave copies out, but each of its copies must be at the same place among the others
    // and the launches as one of LLVM's.
    let more = in_order(&ours.work, &stock.work);
    if let Some(work) = more.filter(|_| program.reports != Reports::Copies) {
        return Some(format!("LLVM's does not do this, or not there: {work:?}"));
    }
    let bytes = |report: &Report| (report.copies, report.to_device, report.from_device);
    let (theirs, mine) = (bytes(&stock), bytes(&ours));
    let exceeds = mine.0 > theirs.0 || mine.1 > theirs.1 || mine.2 > theirs.2;
    exceeds.then(|| {
        format!(
            "ours copies more: {mine:?} (number, bytes to and from the device), LLVM's {theirs:?}"
        )
    })
}

/// The first line that is not among the others in this order.
fn in_order<'a>(lines: &'a [String], among: &[String]) -> Option<&'a String> {
    let mut among = among.iter();
    lines.iter().find(|line| !among.any(|other| other == *line))
}

/// The first difference of two texts, each with a name.
fn first_difference([(one_is, one), (other_is, other)]: [(&str, &str); 2]) -> String {
    let (mut one, mut other) = (one.lines(), other.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (one.next(), other.next()) {
            (None, None) => return "in where lines end".to_owned(),
            (one, other) if one == other => {}
            (one, other) => {
                return format!(
                    "line {number}\n  {one_is}: {}\n  {other_is}: {}",
                    one.unwrap_or("(nothing)"),
                    other.unwrap_or("(nothing)")
                );
            }
        }
    }
}

/// Compares a program's output with its target regions on a device and on the host.
///
/// # Errors
/// The first difference.
pub fn compare_with_host(host: &Outcome, device: &Outcome) -> Result<(), String> {
    if host.stdout == device.stdout {
        return Ok(());
    }
    let texts = [
        ("host", host.stdout.as_str()),
        ("device", device.stdout.as_str()),
    ];
    Err(format!("its output differs: {}", first_difference(texts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    const MAPS: &str = "omptarget device 0 info: Mapping exists with HstPtrBegin=0x10, Size=4\n";
    const COPY: &str = "omptarget device 0 info: Copying data from host to device, \
                        HstPtr=0x10, TgtPtr=0x20, Size=8, Name=unknown\n";
    const BACK: &str = "omptarget device 0 info: Copying data from device to host, \
                        TgtPtr=0x20, HstPtr=0x10, Size=8, Name=unknown\n";
    const LAUNCH: &str = "\"PluginInterface\" device 0 info: Launching kernel it with [1,1,1] \
                          blocks and [1,1,1] threads in Generic mode\n";
    const ERROR: &str = "omptarget error: it went wrong\n";

    fn outcome(code: i32, stdout: &str, stderr: &str) -> Outcome {
        Outcome {
            status: Some(ExitStatus::from_raw(code << 8)),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            threads: Vec::new(),
        }
    }

    fn same(header: &str, stock: &Outcome, ours: &Outcome) -> bool {
        let program = Program::parse("it.c", &format!("/*\n{header}\n*/")).expect("understood");
        compare(&program, stock, ours).is_ok()
    }

    fn reports(header: &str, stock: &[&str], ours: &[&str]) -> bool {
        let outcome = |lines: &[&str]| outcome(0, "ok\n", &lines.concat());
        same(header, &outcome(stock), &outcome(ours))
    }

    #[test]
    fn output_and_status_are_the_same() {
        let one = outcome(0, "ok\n", "");
        assert!(same("", &one, &outcome(0, "ok\n", "its own words")));
        assert!(!same("", &one, &outcome(1, "ok\n", "")));
        assert!(!same("", &one, &outcome(0, "ok\n\n", "")));
        assert!(!same("report: free", &one, &outcome(0, "no\n", "")));
        let mut hangs = outcome(0, "ok\n", "");
        hangs.status = None;
        assert!(!same("report: free", &one, &hangs));
        assert!(same("stock: signal 11", &one, &outcome(1, "", "")));
    }

    #[test]
    fn output_is_that_of_the_host() {
        let compare = |device| {
            compare_with_host(&outcome(0, "1\n2\nok\n", ""), &outcome(0, device, "a word"))
        };
        assert_eq!(compare("1\n2\nok\n"), Ok(()));
        let differs = compare("1\n3\nok\n").unwrap_err();
        assert!(
            differs.ends_with("line 2\n  host: 2\n  device: 3"),
            "{differs}"
        );
        assert!(compare("1\n2\nok").is_err());
    }

    #[test]
    fn reports_are_the_same() {
        assert!(reports("", &[MAPS, COPY], &[MAPS, COPY]));
        assert!(!reports("", &[MAPS, COPY], &[COPY]));
        assert!(!reports("", &[MAPS], &[MAPS, MAPS]));
        assert!(reports("report: copies", &[MAPS], &[MAPS, MAPS]));
        assert!(reports("report: free", &[MAPS], &[COPY]));
        let other = MAPS.replace("0x10", "0x18");
        assert!(!reports("", &[MAPS, &other], &[MAPS, MAPS]));
        assert!(reports("report: sorted", &[MAPS, &other], &[MAPS, MAPS]));
    }

    #[test]
    fn copies_and_launches_are_in_order() {
        let stock = [COPY, LAUNCH, BACK, LAUNCH, BACK];
        assert!(reports("", &stock, &stock));
        assert!(reports("", &stock, &[COPY, LAUNCH, LAUNCH, BACK]));
        assert!(!reports("", &stock, &[LAUNCH, COPY, BACK, LAUNCH, BACK]));
        assert!(!reports("", &stock, &[COPY, LAUNCH, LAUNCH, BACK, BACK]));
        assert!(!reports("", &[COPY, BACK], &[BACK, COPY]));
        let late = [LAUNCH, COPY, BACK, LAUNCH, BACK];
        assert!(reports("report: sorted", &stock, &late));
        assert!(reports("report: copies", &stock, &late));
    }

    #[test]
    fn ours_complains_of_nothing_that_goes_well() {
        for header in ["", "report: copies", "report: free"] {
            assert!(!reports(header, &[COPY], &[COPY, ERROR]), "{header}");
        }
        // Failed runs.
        let (stock, ours) = (outcome(1, "", ""), outcome(1, "", ERROR));
        assert!(same("ends: exit 1", &stock, &ours));
    }

    #[test]
    fn ours_may_copy_less_and_complain_more() {
        assert!(reports("", &[COPY, COPY, BACK], &[COPY, BACK]));
        assert!(!reports("", &[COPY, BACK], &[COPY, COPY]));
        assert!(!reports("", &[COPY], &[COPY, BACK]));
        let long = COPY.replace("Size=8", "Size=9");
        assert!(!reports("report: copies", &[COPY], &[&long]));
        assert!(reports("report: copies", &[COPY], &[]));
        assert!(reports("", &[ERROR], &["omptarget error: first\n", ERROR]));
        assert!(!reports("", &[ERROR], &["omptarget error: first\n"]));
    }
}
