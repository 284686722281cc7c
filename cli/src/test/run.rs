//! Runs the tests of one program.
//!
//! A panic ends the program. The harness therefore runs many tests in one launch, and reports each to a
//! file; if the program ends before the last one, the test that ran then is run once more in a launch of
//! its own, in which the harness knows whether it should panic. The other tests go on in another launch.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::Options;
use super::report::{Outcome, Report};

/// Tests of one launch. More lose more time where one does not end.
const TESTS_PER_LAUNCH: usize = 200;

/// The variable that makes the harness run one test, and the status by which the program then reports
/// success: `SECONDARY_TEST_INVOKER_VAR` and `TR_OK` in library/test of Rust.
const ONE_TEST: &str = "__RUST_TEST_INVOKE";
const ONE_TEST_PASSED: i32 = 50;

/// The harness's options that select tests. Its others say how it runs tests and prints their results,
/// which this command does.
const HARNESS_OPTIONS: [&str; 5] = [
    "--exact",
    "--skip",
    "--ignored",
    "--include-ignored",
    "--list",
];

/// Time between two looks at the report of a program that runs.
const INTERVAL: Duration = Duration::from_millis(10);

/// Launches programs.
pub(super) struct Runner {
    /// `revoff`, and its options before the image.
    command: PathBuf,
    options: Vec<OsString>,
    /// The working directory: that of the package, as with cargo.
    folder: PathBuf,
    timeout: Option<Duration>,
    /// For the reports of the harness.
    scratch: TempDir,
    harness: Vec<OsString>,
}

/// A program with tests.
pub(super) struct TestProgram<'a> {
    runner: &'a Runner,
    image: PathBuf,
}

impl Runner {
    pub(super) fn new(options: &Options, folder: &Path) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir().context("a folder for the reports of tests")?;
        let mut all = vec![
            "run".into(),
            "--device".into(),
            options.device.clone().into(),
        ];
        all.extend(options.limits.options()?);
        if options.limits.permissions.is_restricted() {
            all.extend(["--allow-write".into(), scratch.path().into()]);
        }
        for option in &options.harness {
            let name = option.to_string_lossy();
            let name = name.split('=').next().unwrap_or_default();
            if name.starts_with('-') && !HARNESS_OPTIONS.contains(&name) {
                bail!(
                    "`{name}` is no option of `revoff test` behind `--`: those are {}",
                    HARNESS_OPTIONS.join(", ")
                );
            }
        }
        let is_for_run = |option: &&OsString| {
            let options = ["--ignored", "--include-ignored"];
            options.iter().any(|it| *it == option.as_os_str())
        };
        Ok(Self {
            command: env::current_exe().context("the path of this command")?,
            options: all,
            folder: folder.to_owned(),
            timeout: options.timeout.map(Duration::from_secs),
            scratch,
            harness: options.harness.iter().filter(is_for_run).cloned().collect(),
        })
    }
}

impl<'a> TestProgram<'a> {
    pub(super) fn new(runner: &'a Runner, image: PathBuf) -> Self {
        Self { runner, image }
    }

    /// A launch of the program.
    fn launch<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.runner.command);
        command
            .args(&self.runner.options)
            .arg("--program")
            .arg(&self.image)
            .arg("--")
            .args(arguments)
            .current_dir(&self.runner.folder)
            .env("CARGO_MANIFEST_DIR", &self.runner.folder)
            // For the harness's unstable options.
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove(ONE_TEST);
        command
    }

    /// The names of the selected tests, in the order in which the harness runs them.
    pub(super) fn list(
        &self,
        filters: &[String],
        harness: &[OsString],
    ) -> anyhow::Result<Vec<String>> {
        let mut arguments: Vec<&OsStr> = harness.iter().map(OsString::as_os_str).collect();
        arguments.retain(|argument| *argument != "--list");
        arguments.extend(["--list", "--format=terse"].map(OsStr::new));
        arguments.extend(filters.iter().map(OsStr::new));
        let output = self.launch(arguments).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!(
                "the tests cannot be listed ({}):\n{}",
                output.status,
                said(&output)
            );
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let name = |line: &str| {
            let name = line
                .strip_suffix(": test")
                .or(line.strip_suffix(": benchmark"));
            name.map(str::to_owned)
        };
        Ok(text.lines().filter_map(name).collect())
    }

    /// Runs the tests with these names.
    pub(super) fn run(&self, names: &[String], report: &mut Report) -> anyhow::Result<()> {
        let mut rest = names;
        while !rest.is_empty() {
            let some = &rest[..rest.len().min(TESTS_PER_LAUNCH)];
            let done = self.run_some(some, report)?;
            rest = &rest[done..];
        }
        Ok(())
    }

    /// Runs tests in one launch, and the one that ends it in another. Returns how many were run.
    fn run_some(&self, names: &[String], report: &mut Report) -> anyhow::Result<usize> {
        let log = self.runner.scratch.path().join("results");
        // Before the launch, since the program may not get that far.
        fs::write(&log, "").with_context(|| log.display().to_string())?;
        let mut command = self.launch([
            "-Zunstable-options",
            "--force-run-in-process",
            "--test-threads=1",
            "--exact",
            "--logfile",
        ]);
        command.arg(&log).args(&self.runner.harness).args(names);
        let mut done = 0;
        let mut failed = Vec::new();
        let mut results = Results::new(&log);
        let end = self.wait(&mut command, || {
            let mut is_new = false;
            for line in results.next()? {
                let Some(name) = names.get(done).filter(|name| line.ends_with(*name)) else {
                    continue;
                };
                done += 1;
                is_new = true;
                match &line[..line.len() - name.len()] {
                    "ok " => report.add(name, Outcome::Ok)?,
                    text if text.starts_with("ignored") => report.add(name, Outcome::Ignored)?,
                    text if text.starts_with("failed") => failed.push(name),
                    // The figures of a benchmark.
                    _ => report.add(name, Outcome::Ok)?,
                }
            }
            Ok(is_new)
        })?;
        for name in failed {
            report.add(name, self.run_one(name)?)?;
        }
        let Some(name) = names.get(done) else {
            return Ok(done);
        };
        let outcome = match end {
            End::Exit(..) => self.run_one(name)?,
            End::Timeout(text) => Outcome::Failed(text),
        };
        report.add(name, outcome)?;
        Ok(done + 1)
    }

    /// Runs one test in a launch of its own.
    fn run_one(&self, name: &str) -> anyhow::Result<Outcome> {
        let mut command = self.launch::<&str>([]);
        command.env(ONE_TEST, name);
        Ok(match self.wait(&mut command, || Ok(false))? {
            End::Exit(status, _) if status.code() == Some(ONE_TEST_PASSED) => Outcome::Ok,
            End::Exit(_, text) | End::Timeout(text) => Outcome::Failed(text),
        })
    }

    /// Runs a program to its end. `poll` is called all the time; if it returns true, a test has ended,
    /// and the next one has its own time.
    fn wait(
        &self,
        command: &mut Command,
        mut poll: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<End> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("this command, for a launch")?;
        let output = [
            child.stdout.take().map(collect),
            child.stderr.take().map(collect),
        ];
        let mut begin = Instant::now();
        let status = loop {
            let status = child.try_wait()?;
            if poll()? {
                begin = Instant::now();
            }
            if let Some(status) = status {
                break Some(status);
            }
            if self
                .runner
                .timeout
                .is_some_and(|time| begin.elapsed() > time)
            {
                stop(&mut child)?;
                break None;
            }
            thread::sleep(INTERVAL);
        };
        let mut text = String::new();
        for collected in output.into_iter().flatten() {
            let bytes = collected.join().unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        Ok(match status {
            Some(status) => End::Exit(status, text),
            None => {
                let time = self.runner.timeout.unwrap_or_default().as_secs();
                End::Timeout(format!(
                    "{text}stopped: it did not end within {time} s (--timeout)"
                ))
            }
        })
    }
}

/// How a launch ended, with its output.
enum End {
    Exit(ExitStatus, String),
    Timeout(String),
}

fn stop(child: &mut Child) -> anyhow::Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Reads all of a stream, so that the program never waits for a reader.
fn collect(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output is everything before an error.
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

/// The lines of the harness's report, as they come.
struct Results<'a> {
    log: &'a Path,
    read: usize,
}

impl<'a> Results<'a> {
    fn new(log: &'a Path) -> Self {
        Self { log, read: 0 }
    }

    /// The complete lines since the last call.
    fn next(&mut self) -> anyhow::Result<Vec<String>> {
        let bytes = fs::read(self.log).with_context(|| self.log.display().to_string())?;
        let new = bytes.get(self.read..).unwrap_or_default();
        let end = new.iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(0, |at| at + 1);
        self.read += end;
        let text = String::from_utf8_lossy(&new[..end]);
        Ok(text.lines().map(str::to_owned).collect())
    }
}
