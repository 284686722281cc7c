//! Programs that a host launches as a library, without `revoff`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use host_rt::{Functions, Image, ProgramLimits, Services, ServicesBuilder, ServicesError};
use std_tests::{CHECKS, command};

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
    let path = String::from_utf8(output.stdout).unwrap();
    Image::open(PathBuf::from(path.trim_end())).unwrap()
}

fn check(name: &str) -> ServicesBuilder {
    Services::builder().arguments(["checks", name])
}

#[test]
fn a_program_writes_to_its_launcher() {
    let limits = ProgramLimits {
        threads: 3,
        heap_statistics: true,
        ..ProgramLimits::default()
    };
    let (stdout, stderr) = (Text::default(), Text::default());
    let builder = check("too-many-threads")
        .stdout(stdout.clone())
        .stderr(stderr.clone());
    let services = builder.build().unwrap();
    let runtime = limits.runtime("host").build().unwrap();
    let launch = services.launch(&runtime, &image(), Functions::new(), &limits);
    launch.unwrap().wait().unwrap();
    assert_eq!(services.exit_status(), Some(0));
    assert!(stdout.get().starts_with("2 threads: "), "{}", stdout.get());
    assert_eq!(stderr.get(), "");
    let heap = services.heap().unwrap();
    assert!(heap.statistics.unwrap().allocations > 0, "{heap:?}");
    // The services belong to that program.
    let again = services.launch(&runtime, &image(), Functions::new(), &limits);
    assert!(matches!(again, Err(ServicesError::Launched)));
}

#[test]
fn the_status_of_a_program_that_panics_outlives_its_launch() {
    let limits = ProgramLimits::default();
    let stderr = Text::default();
    let builder = check("panic")
        .stdout(Text::default())
        .stderr(stderr.clone());
    let services = builder.build().unwrap();
    let runtime = limits.runtime("host").build().unwrap();
    let launch = services.launch(&runtime, &image(), Functions::new(), &limits);
    launch.unwrap().wait().unwrap_err();
    assert_eq!(services.exit_status(), Some(101));
    let text = stderr.get();
    assert!(text.contains("a panic with text in it"), "{text}");
}

#[test]
fn invalid_limits_are_errors() {
    let default = ProgramLimits::default();
    let launch = |image: &Image, limits: &ProgramLimits| {
        let services = check("text").build().unwrap();
        let runtime = limits.runtime("host").build().unwrap();
        let launch = services.launch(&runtime, image, Functions::new(), limits);
        launch.map(drop).unwrap_err()
    };
    let checks = image();
    let threads = ProgramLimits {
        threads: 0,
        ..default.clone()
    };
    let error = launch(&checks, &threads);
    assert!(matches!(error, ServicesError::NoThreads), "{error}");
    let stack = ProgramLimits {
        stack: 1000,
        ..default
    };
    let error = launch(&checks, &stack);
    assert!(matches!(error, ServicesError::Stack { bytes: 1000 }));
}
