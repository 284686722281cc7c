//! Calls that are to fail: `REVOFF_STAND_IN_FAIL`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use crate::code::Code;
use crate::lock;

/// Calls of a function so far, and what the n-th answers.
#[derive(Default)]
struct Calls {
    made: u64,
    fail: HashMap<u64, Code>,
}

static FAULTS: LazyLock<Mutex<HashMap<String, Calls>>> = LazyLock::new(|| {
    let wanted = std::env::var("REVOFF_STAND_IN_FAIL").unwrap_or_default();
    let mut faults: HashMap<String, Calls> = HashMap::new();
    for fault in wanted.split(',').filter(|fault| !fault.is_empty()) {
        let Some((function, call, code)) = read(fault) else {
            panic!("REVOFF_STAND_IN_FAIL: `{fault}` is not of the form FUNCTION:CALL=RESULT")
        };
        let calls = faults.entry(function.to_owned()).or_default();
        calls.fail.insert(call, code);
    }
    Mutex::new(faults)
});

fn read(fault: &str) -> Option<(&str, u64, Code)> {
    let (function, rest) = fault.split_once(':')?;
    let (call, code) = rest.split_once('=')?;
    Some((function, call.parse().ok()?, Code(code.parse().ok()?)))
}

/// Counts a call of `function`; says what it is to answer if that is an error.
pub(crate) fn of_call(function: &str) -> Option<Code> {
    let mut faults = lock(&FAULTS);
    let calls = faults.get_mut(function)?;
    calls.made += 1;
    let fault = calls.fail.get(&calls.made).copied();
    if fault.is_some() {
        INJECTED.fetch_add(1, Ordering::Relaxed);
    }
    fault
}

/// Calls that have failed because they were to: none, and a test has tested nothing.
#[unsafe(no_mangle)]
extern "C" fn revoff_stand_in_faults() -> u64 {
    // Relaxed: asked when all is over.
    INJECTED.load(Ordering::Relaxed)
}

static INJECTED: AtomicU64 = AtomicU64::new(0);
