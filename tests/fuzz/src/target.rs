//! A target.

use std::time::Duration;

use crate::input::Tally;

/// How long anything may take that ends: longer, and it hangs.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A function of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
    /// Bytes to mutate.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Whether they are read: seeds that are not would only test the first check.
    pub is_valid: fn(&[u8]) -> bool,
    /// How many calls of a parser take as long as one of this: a test calls it the less often.
    pub cost: u64,
    /// Its counts in this process so far, if much of its input could be rejected.
    pub tally: Option<fn() -> Tally>,
}
