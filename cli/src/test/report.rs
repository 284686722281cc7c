//! The report about the tests of one program, in the form of Rust's test harness.

use std::path::Path;
use std::time::Instant;

use crate::output;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Ignored,
    /// With its output.
    Failed(String),
}

/// Counts the outcomes, and prints them as they come.
pub(super) struct Report {
    begin: Instant,
    passed: usize,
    ignored: usize,
    failures: Vec<(String, String)>,
}

impl Report {
    pub(super) fn begin(source: &Path, device: &str, tests: usize) -> anyhow::Result<Self> {
        output::note(&format!("     Running {} on {device}\n", source.display()));
        let plural = if tests == 1 { "" } else { "s" };
        output::print(&format!("\nrunning {tests} test{plural}\n"))?;
        Ok(Self {
            begin: Instant::now(),
            passed: 0,
            ignored: 0,
            failures: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, name: &str, outcome: Outcome) -> anyhow::Result<()> {
        let word = match outcome {
            Outcome::Ok => {
                self.passed += 1;
                "ok"
            }
            Outcome::Ignored => {
                self.ignored += 1;
                "ignored"
            }
            Outcome::Failed(text) => {
                self.failures.push((name.to_owned(), text));
                "FAILED"
            }
        };
        output::print(&format!("test {name} ... {word}\n"))
    }

    /// Prints the failures and the sum. Returns whether all tests passed.
    pub(super) fn end(self) -> anyhow::Result<bool> {
        let mut text = String::new();
        if !self.failures.is_empty() {
            text.push_str("\nfailures:\n");
            for (name, said) in &self.failures {
                text.push_str(&format!("\n---- {name} ----\n{}\n", said.trim_end()));
            }
            text.push_str("\nfailures:\n");
            for (name, _) in &self.failures {
                text.push_str(&format!("    {name}\n"));
            }
        }
        let is_ok = self.failures.is_empty();
        text.push_str(&format!(
            "\ntest result: {}. {} passed; {} failed; {} ignored; finished in {:.2}s\n\n",
            if is_ok { "ok" } else { "FAILED" },
            self.passed,
            self.failures.len(),
            self.ignored,
            self.begin.elapsed().as_secs_f64()
        ));
        output::print(&text)?;
        Ok(is_ok)
    }
}
