//! Injected failures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::calls::are_uncounted;
use crate::process::{SettingError, lock};

/// The failing calls, from an environment variable: `FUNCTION:CALL=NUMBER` for the n-th call or,
/// with `*`, all others; a list with commas.
pub struct Faults {
    variable: &'static str,
    /// By function; read at the first use.
    calls: OnceLock<Result<Mutex<HashMap<String, Calls>>, SettingError>>,
    injected: AtomicU64,
}

/// The number of calls of a function so far, and the results of the n-th calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Calls {
    made: u64,
    fail: HashMap<u64, u32>,
    /// The result of all others, if set.
    fail_all: Option<u32>,
}

impl Faults {
    /// The failures in this environment variable.
    #[must_use]
    pub const fn of(variable: &'static str) -> Self {
        Self {
            variable,
            calls: OnceLock::new(),
            injected: AtomicU64::new(0),
        }
    }

    fn calls(&self) -> Result<&Mutex<HashMap<String, Calls>>, &SettingError> {
        let calls = self.calls.get_or_init(|| {
            let wanted = std::env::var(self.variable).unwrap_or_default();
            let calls = read(&wanted);
            calls.map(Mutex::new).map_err(|fault| SettingError {
                name: self.variable,
                value: fault.to_owned(),
                expected: "FUNCTION:CALL=NUMBER".to_owned(),
            })
        });
        calls.as_ref()
    }

    /// Checks that the variable is well-formed. No call fails otherwise.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self) -> Result<(), SettingError> {
        self.calls().map(drop).map_err(Clone::clone)
    }

    /// Whether calls fail.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.calls().is_ok_and(|calls| !lock(calls).is_empty())
    }

    /// A message for each function that was to fail and has not been called often enough, if its name is that of a
    /// function of this driver. For the end of the process.
    #[must_use]
    pub fn missed(&self, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
        // A thread may have been forked, or ended, while it counted a call.
        let Some(calls) = self.calls().ok().and_then(|calls| calls.try_lock().ok()) else {
            return Vec::new();
        };
        let ours = calls.iter().filter(|(name, _)| is_ours(name));
        let missed = ours.filter_map(|(name, calls)| {
            let first = calls.first_missed()?;
            let (variable, made) = (self.variable, calls.made);
            Some(format!(
                "{variable}={name}:{first}: calls of this function: {made}; check its name, or choose an earlier call"
            ))
        });
        missed.collect()
    }

    /// Counts a call of `function`; returns the injected error, if there is one.
    pub fn of_call(&self, function: &str) -> Option<u32> {
        if are_uncounted() {
            return None;
        }
        let mut calls = lock(self.calls().ok()?);
        let fault = calls.get_mut(function)?.next();
        if fault.is_some() {
            // Relaxed: a count that is read at the end.
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
        fault
    }

    /// The number of injected failures: a test with none has tested nothing.
    #[must_use]
    pub fn injected(&self) -> u64 {
        // Relaxed: read at the end.
        self.injected.load(Ordering::Relaxed)
    }
}

impl Calls {
    /// The first call that was to fail and has not been made.
    fn first_missed(&self) -> Option<String> {
        let later = self.fail.keys().filter(|&&call| call > self.made).min();
        let any = (self.fail_all.is_some() && self.made == 0).then(|| "*".to_owned());
        later.map(u64::to_string).or(any)
    }

    fn next(&mut self) -> Option<u32> {
        self.made += 1;
        self.fail.get(&self.made).copied().or(self.fail_all)
    }
}

/// Reads a list; the error is the invalid part.
fn read(wanted: &str) -> Result<HashMap<String, Calls>, &str> {
    let mut all: HashMap<String, Calls> = HashMap::new();
    for fault in wanted.split(',').filter(|fault| !fault.is_empty()) {
        let parts = || {
            let (function, rest) = fault.split_once(':')?;
            let (call, number) = rest.split_once('=')?;
            Some((function, call, number.parse().ok()?))
        };
        let (function, call, number) = parts().ok_or(fault)?;
        let calls = all.entry(function.to_owned()).or_default();
        match call {
            "*" => calls.fail_all = Some(number),
            call => drop(calls.fail.insert(call.parse().map_err(|_| fault)?, number)),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::uncounted;

    #[test]
    fn the_calls_that_are_named_fail() {
        let mut all = read("one:2=7,one:4=8,,each:*=9,each:2=10").expect("good form");
        let mut calls = |function: &str| {
            let calls = all.get_mut(function).expect("is named");
            [(); 4].map(|()| calls.next())
        };
        assert_eq!(calls("one"), [None, Some(7), None, Some(8)]);
        assert_eq!(calls("each"), [Some(9), Some(10), Some(9), Some(9)]);
    }

    #[test]
    fn an_uncounted_call_does_not_fail() {
        let faults = Faults {
            calls: OnceLock::from(Ok(Mutex::new(read("one:1=7").expect("good form")))),
            ..Faults::of("")
        };
        assert_eq!(uncounted(|| faults.of_call("one")), None);
        assert_eq!(faults.of_call("one"), Some(7));
    }

    #[test]
    fn calls_that_were_not_made_are_known() {
        let mut all = read("one:2=7,one:4=8,each:*=9").expect("good form");
        let missed =
            |all: &HashMap<String, Calls>| ["one", "each"].map(|name| all[name].first_missed());
        assert_eq!(missed(&all), [Some("2".to_owned()), Some("*".to_owned())]);
        for _ in 0..2 {
            for calls in all.values_mut() {
                let _ = calls.next();
            }
        }
        assert_eq!(missed(&all), [Some("4".to_owned()), None]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for fault in [
            "one",
            "one:2",
            "one=7",
            "one:two=7",
            "one:2=seven",
            "one:-1=7",
        ] {
            let wanted = format!("good:1=1,{fault}");
            assert_eq!(read(&wanted), Err(fault));
        }
    }
}
