//! Findings of checks: locations in files with messages.

use std::fmt;

use anyhow::{Result, bail};

/// A violation of a rule, printed like a compiler error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path relative to the workspace.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: error: {}", self.file, self.line, self.message)
    }
}

/// Fails with all findings, one per line, if there are any.
pub(crate) fn report(mut findings: Vec<Finding>) -> Result<()> {
    findings.sort();
    findings.dedup();
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    bail!("{}\n{} errors", lines.join("\n"), lines.len())
}
