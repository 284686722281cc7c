//! Programs that a host launches as a library, without `revoff`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use revoff_host::{Functions, Image, ProgramLimits, Services, ServicesError};
use std_tests::{CHECKS, command, shown};

/// A text that others write.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Text {
    fn get(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// The image of the checks for the `host` device.
fn image() -> Image {
    let output = Command::new(command())
        .args(["build", "--manifest-path"])
        .arg(CHECKS.path("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let path = String::from_utf8(output.stdout).unwrap();
    Image::open(PathBuf::from(path.trim_end())).unwrap()
}

/// A program that has ended.
struct Ended {
    services: Arc<Services>,
    launch: revoff_host::Result<()>,
    stdout: String,
    stderr: String,
}

/// Runs a check on the `host` device.
fn run(check: &str, limits: &ProgramLimits) -> Result<Ended, ServicesError> {
    let (stdout, stderr) = (Text::default(), Text::default());
    let builder = Services::builder()
        .arguments(["checks", check])
        .stdout(stdout.clone())
        .stderr(stderr.clone());
    let services = builder.build()?;
    let runtime = limits.runtime("host").build()?;
    let launch = services.launch(&runtime, &image(), Functions::new(), limits)?;
    Ok(Ended {
        launch: launch.wait().map(drop).map_err(Into::into),
        services,
        stdout: stdout.get(),
        stderr: stderr.get(),
    })
}

#[test]
fn a_program_writes_to_its_launcher() {
    let limits = ProgramLimits {
        threads: 3,
        heap_statistics: true,
        ..ProgramLimits::default()
    };
    let ended = run("too-many-threads", &limits).unwrap();
    ended.launch.unwrap();
    let (services, stdout) = (ended.services, ended.stdout);
    assert_eq!(services.exit_status(), Some(0));
    assert!(stdout.starts_with("2 threads: "), "{stdout}");
    assert_eq!(ended.stderr, "");
    let heap = services.heap().unwrap();
    assert!(heap.statistics.unwrap().allocations > 0, "{heap:?}");
    // The services belong to that program.
    let runtime = limits.runtime("host").build().unwrap();
    let again = services.launch(&runtime, &image(), Functions::new(), &limits);
    assert!(matches!(again, Err(ServicesError::Launched)));
}

#[test]
fn a_launch_ends_with_the_program() {
    for (check, status, stderr) in [
        ("exit", 7, ""),
        ("panic", 101, "a panic with text in it"),
        // Another thread uses the stack of a third, which waits, after the program's end.
        ("scope-panics", 101, "in a scope"),
        ("detached", 0, ""),
    ] {
        let ended = run(check, &ProgramLimits::default()).unwrap();
        assert!(ended.launch.is_err(), "{check}");
        assert_eq!(ended.services.exit_status(), Some(status), "{check}");
        assert!(ended.stderr.contains(stderr), "{check}: {}", ended.stderr);
    }
}

#[test]
fn invalid_limits_are_errors() {
    let default = ProgramLimits::default();
    for threads in [0, u32::MAX] {
        let limits = ProgramLimits {
            threads,
            ..default.clone()
        };
        let error = run("text", &limits).map(drop).unwrap_err();
        assert!(matches!(error, ServicesError::Threads { .. }), "{error}");
    }
    for stack in [0, 1000, u64::MAX] {
        let limits = ProgramLimits {
            stack,
            ..default.clone()
        };
        let error = run("text", &limits).map(drop).unwrap_err();
        assert!(matches!(error, ServicesError::Stack { .. }), "{error}");
    }
}
