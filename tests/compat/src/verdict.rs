//! Whether a program ended as expected.

use std::os::unix::process::ExitStatusExt;

use crate::{Ending, Outcome, Program};

/// Compares the end of a program with its first comment.
///
/// # Errors
/// They differ; a description with the program's output.
pub fn judge(program: &Program, outcome: &Outcome) -> Result<(), String> {
    let fault = fault(program, outcome);
    fault.map_or(Ok(()), |fault| {
        Err(format!("{fault}\n{}", program_output(outcome)))
    })
}

fn fault(program: &Program, outcome: &Outcome) -> Option<String> {
    let Some(status) = outcome.status else {
        return Some("HANGS: it did not end, and was killed".to_owned());
    };
    let is_right = match program.ending {
        Ending::Ok => status.success() && outcome.stdout.lines().any(|line| line == "ok"),
        Ending::Exit(code) => status.code() == Some(code),
        Ending::Signal(number) => status.signal() == Some(number),
        Ending::Error => status.code().is_some_and(|code| code != 0),
        Ending::Any => true,
    };
    if !is_right {
        let wanted = match program.ending {
            Ending::Ok => "\"ok\" and status 0".to_owned(),
            Ending::Exit(code) => format!("status {code}"),
            Ending::Signal(number) => format!("signal {number}"),
            Ending::Error => "a status that is not 0".to_owned(),
            Ending::Any => "any end".to_owned(),
        };
        return Some(format!("it ended with {status}, expected {wanted}"));
    }
    let missing = program.output.iter().find(|text| {
        let streams = [&outcome.stdout, &outcome.stderr];
        !streams.iter().any(|stream| stream.contains(text.as_str()))
    })?;
    Some(format!("it did not print {missing:?}"))
}

/// A program's output, and its threads when it was killed, for users.
#[must_use]
pub fn program_output(outcome: &Outcome) -> String {
    let threads = outcome.threads.iter();
    let threads = threads.map(|thread| format!("thread {thread}\n"));
    let mut output: String = threads.collect();
    for (name, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        if !text.is_empty() {
            // A program that finds errors in a loop finds many.
            let mut lines = text.lines();
            output += &format!("its {name}:\n");
            lines.by_ref().take(60).for_each(|line| {
                output += &format!("  {line}\n");
            });
            let rest = lines.count();
            if rest > 0 {
                output += &format!("  and {rest} lines\n");
            }
        }
    }
    output
}

/// Judges a run that must fail with a certain message: a check that cannot fail checks nothing.
///
/// # Errors
/// It passed, or failed with another message.
pub fn fails(program: &Program, outcome: &Outcome, reason: &str) -> Result<(), String> {
    let fault = judge(program, outcome).err();
    let fault = fault.ok_or_else(|| "it passed without a device".to_owned())?;
    match fault.contains(reason) {
        true => Ok(()),
        false => Err(format!("it did not say {reason:?}: {fault}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    /// The system's status of a process that exits, or is killed.
    fn outcome(code: i32, signal: i32, stdout: &str, stderr: &str) -> Outcome {
        Outcome {
            status: Some(ExitStatus::from_raw(code << 8 | signal)),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            threads: Vec::new(),
        }
    }

    fn check(description: &str, outcome: &Outcome) -> bool {
        let text = format!("/*\n{description}\n*/");
        let program = Program::parse("it.c", &text).expect("understood");
        judge(&program, outcome).is_ok()
    }

    #[test]
    fn by_default_a_program_says_ok() {
        assert!(check("", &outcome(0, 0, "ok\n", "")));
        assert!(check("", &outcome(0, 0, "more\nok\n", "a warning")));
        assert!(!check("", &outcome(0, 0, "", "")));
        assert!(!check("", &outcome(0, 0, "not ok\n", "")));
        assert!(!check("", &outcome(1, 0, "ok\n", "")));
        assert!(!check("", &outcome(0, 11, "ok\n", "")));
    }

    #[test]
    fn some_end_in_another_way() {
        assert!(check("ends: exit 3", &outcome(3, 0, "", "")));
        assert!(!check("ends: exit 3", &outcome(1, 0, "", "")));
        assert!(!check("ends: exit 3", &outcome(0, 3, "", "")));
        assert!(check("ends: signal 6", &outcome(0, 6, "", "")));
        assert!(!check("ends: signal 6", &outcome(6, 0, "", "")));
        assert!(!check("ends: signal 6", &outcome(0, 11, "", "")));
        assert!(check("ends: error", &outcome(1, 0, "", "")));
        assert!(!check("ends: error", &outcome(0, 0, "ok\n", "")));
        assert!(!check("ends: error", &outcome(0, 11, "", "")));
    }

    #[test]
    fn texts_are_printed_on_either_stream() {
        let wanted = "output: some text\noutput: and more";
        assert!(check(
            wanted,
            &outcome(0, 0, "here is some text\nok\n", "and more")
        ));
        assert!(!check(wanted, &outcome(0, 0, "some text\nok\n", "")));
    }

    #[test]
    fn who_hangs_has_failed() {
        let mut hangs = outcome(0, 0, "ok\n", "");
        hangs.status = None;
        assert!(!check("", &hangs));
        assert!(!check("ends: error", &hangs));
    }
}
