//! Each function of a driver that a device calls fails in turn. A run without failures lists the functions.

use std::collections::BTreeMap;
use std::env;

use conformance::{Target, child, process};
use emu_driver::calls;

use crate::session::{Session, acting};

/// The variables that make a call fail, and count calls.
const FAIL: &str = "REVOFF_EMU_FAIL";
const COUNT: &str = "REVOFF_EMU_CALLS";

/// How often a process uses a device. The call that fails belongs to one of the first uses.
const USES: u32 = 6;

/// How often it does so after the use in which a call has failed, at most.
const USES_AFTER: u32 = 2;

/// The functions of a driver.
pub(crate) struct FailingCalls {
    /// The test that uses a device, in a process of its own, by [`repeat`](Self::repeat).
    pub(crate) user: &'static str,
    /// Environments in which, together, it calls all functions.
    pub(crate) environments: &'static [&'static [(&'static str, &'static str)]],
    /// They start the driver, once: their failure is that of all uses, and of a bystander.
    pub(crate) at_start: &'static [&'static str],
    /// A use may succeed without them, or without one of their calls.
    pub(crate) tolerated: &'static [&'static str],
    /// They are looked up, and not called by a use without failures.
    pub(crate) never_called: &'static [&'static str],
    /// They return no status.
    pub(crate) infallible: &'static [&'static str],
}

/// A call that fails.
pub(crate) struct Fault {
    /// The function, and with its call's number.
    pub(crate) function: String,
    call: String,
    pub(crate) code: u32,
}

/// The call that fails in this process.
pub(crate) fn fault() -> Option<Fault> {
    let text = env::var(FAIL).ok()?;
    let (call, code) = text.split_once('=')?;
    let (function, _) = call.split_once(':')?;
    Some(Fault {
        function: function.to_owned(),
        call: call.to_owned(),
        code: code.parse().ok()?,
    })
}

impl Fault {
    fn is_one_of(&self, calls: &[&str]) -> bool {
        (calls.iter()).any(|&name| name == self.function || name == self.call)
    }
}

impl FailingCalls {
    /// Makes the n-th call of each function fail that is called so often, each in a process of its own.
    pub(crate) fn fail(&self, call: u64, code: u32) {
        let mut counts = BTreeMap::new();
        let mut failed = Vec::new();
        for environment in self.environments {
            let counting = [environment, &[(COUNT, "1")][..]].concat();
            let output = child::run(self.user, &counting).expect("uses without failures");
            for (function, count) in output.lines().filter_map(read_count) {
                // Called for the bystander, uncounted.
                let count = count.max(self.at_start.contains(&function).into());
                let known = counts.entry(function.to_owned()).or_insert(0);
                let is_new = *known < call && count >= call;
                *known = count.max(*known);
                if !is_new || self.infallible.contains(&function) {
                    continue;
                }
                let fault = format!("{function}:{call}={code}");
                let failing = [environment, &[(FAIL, fault.as_str())][..]].concat();
                if let Err(what) = child::run(self.user, &failing) {
                    failed.push(format!("{fault}: {what}"));
                }
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
        let unused = counts.iter().filter(|(_, count)| **count == 0);
        let unused: Vec<_> = unused.map(|(function, _)| function).collect();
        assert_eq!(unused, self.never_called, "functions that are not called");
    }

    /// Uses a device repeatedly. A use fails if one of its calls does, unless that is tolerated, and never otherwise.
    /// After each use, a bystander, which is another GPU of the same driver, works. During a use it is idle: its calls
    /// could be those that fail, which are numbered for the process and not for a GPU.
    ///
    /// After a use, the number `held` of objects is the one before it, unless a call failed in it and that `leaks`.
    pub(crate) fn repeat(
        &self,
        target: &Target,
        faults: impl Fn() -> u64,
        held: impl Fn() -> u64,
        leaks: bool,
        mut use_it: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
    ) {
        let fault = fault();
        let is_one_of = |calls: &[&str]| fault.as_ref().is_some_and(|fault| fault.is_one_of(calls));
        // Without a bystander, the driver starts in the first use.
        let bystander = (!is_one_of(self.at_start))
            .then(|| calls::uncounted(|| Session::new(target, &acting(|what| what))));
        let mut last = USES - 1;
        for time in 0..USES {
            let (faults_before, held_before) = (faults(), held());
            let result = use_it();
            // Threads of the use free objects after it. The bystander waits for them: calls during its work are not
            // counted, and do not fail.
            let left = process::settle(
                || match leaks && faults() > faults_before {
                    true => held_before,
                    false => held(),
                },
                held_before,
            );
            let has_failed = faults() > faults_before;
            if has_failed || (is_one_of(self.at_start) && faults() > 0) {
                let is_reported = result.is_err() || is_one_of(self.tolerated);
                assert!(is_reported, "use {time} has no error");
            } else {
                result.unwrap_or_else(|error| panic!("use {time}: {error}"));
            }
            assert_eq!(left, held_before, "objects held after use {time}");
            if let Some(bystander) = &bystander {
                calls::uncounted(|| bystander.works());
            }
            if has_failed {
                last = last.min(time + USES_AFTER);
            }
            if time == last {
                break;
            }
        }
        // A fault that did not happen has tested nothing.
        assert_eq!(faults(), u64::from(fault.is_some()), "calls that failed");
        calls::counted().iter().for_each(print_count);
    }
}

#[expect(clippy::print_stderr, reason = "the process that counts reads it")]
fn print_count((function, count): (&String, &u64)) {
    eprintln!("counted {function} {count}");
}

/// Reads a line that [`print_count`] has printed.
fn read_count(line: &str) -> Option<(&str, u64)> {
    let (function, count) = line.strip_prefix("counted ")?.split_once(' ')?;
    Some((function, count.parse().ok()?))
}
