//! Tests of Rust's `std` on devices: what they share.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;

/// The command `revoff`, built.
///
/// # Panics
/// It does not build.
pub fn command() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // Named by its package, it would be compiled again, with other features of its dependencies.
        cargo(
            &["build", "--quiet", "--bin", "revoff"].map(OsStr::new),
            concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        );
        // Cargo puts programs beside the folder of the tests.
        let test = env::current_exe().expect("this test has a path");
        let deps = test.parent().expect("a folder");
        deps.with_file_name("revoff")
    })
}

/// Runs cargo in a folder.
///
/// # Panics
/// It fails.
pub fn cargo(arguments: &[&OsStr], folder: &str) {
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .status()
        .expect("cargo runs");
    assert!(
        status.success(),
        "cargo {arguments:?} in {folder}: {status}"
    );
}

/// A package of programs, which are built for devices and for this machine.
pub struct Package {
    folder: &'static str,
}

/// The program whose first argument names a check.
pub const CHECKS: Package = Package {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/program"),
};

/// The example programs.
pub const EXAMPLES: Package = Package {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/std"),
};

/// The example with a pool of threads.
pub const PRIMES: Package = Package {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/primes"),
};

impl Package {
    /// A file or a folder in it.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        Path::new(self.folder).join(path)
    }

    /// `revoff run` of a program, with more options.
    #[must_use]
    pub fn on(&self, device: &str, program: &str, options: &[&str]) -> Command {
        let mut command = Command::new(command());
        command
            .args(["run", "--device", device, "--bin", program])
            .arg("--manifest-path")
            .arg(self.path("Cargo.toml"))
            .args(options);
        command
    }

    /// A program on this machine.
    ///
    /// # Panics
    /// It does not build.
    #[must_use]
    pub fn here(&self, program: &str) -> Command {
        let target = self.path("target");
        cargo(
            &[
                "build".as_ref(),
                "--quiet".as_ref(),
                "--target-dir".as_ref(),
                target.as_os_str(),
            ],
            self.folder,
        );
        Command::new(target.join("debug").join(program))
    }
}

/// The devices for a test: those that `REVOFF_TEST_DEVICE` names, with commas between them, or else the `usual` ones.
#[must_use]
pub fn devices(usual: &[&str]) -> Vec<String> {
    let named = env::var("REVOFF_TEST_DEVICE");
    let named = named.unwrap_or_else(|_| usual.join(","));
    named.split(',').map(str::to_owned).collect()
}

/// `revoff run` of the program with checks on a device, with more options.
#[must_use]
pub fn on(device: &str, options: &[&str]) -> Command {
    CHECKS.on(device, "checks", options)
}

/// Runs a command with the input and the environment that some checks need.
///
/// # Panics
/// It does not start.
pub fn run(command: &mut Command) -> Output {
    command
        .env("REVOFF_CHECK", "a value")
        .env_remove("REVOFF_NOT_SET");
    run_with(command, &[b"a line\n", &[7; 100_000][..]].concat())
}

/// Runs a command with this input.
///
/// # Panics
/// It does not start.
pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
    // Whatever the caller's is.
    if !command.get_envs().any(|(name, _)| name == "RUST_BACKTRACE") {
        command.env_remove("RUST_BACKTRACE");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut to = child.stdin.take().expect("it is piped");
    // A program may write before it has read everything.
    thread::scope(|scope| {
        scope.spawn(move || {
            // One that reads nothing may have ended.
            let _ = to.write_all(input);
        });
        child.wait_with_output().expect("it runs")
    })
}

/// A program's exit status and what it printed.
#[must_use]
pub fn shown(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
