//! Helpers of the command's tests.
#![allow(dead_code, reason = "no test uses all of it")]

pub(crate) mod image;

use std::path::PathBuf;
use std::process::{Command, Output};

/// The built command, without environment variables that change its behaviour.
pub(crate) fn revoff() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_revoff"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("REVOFF_") || text.starts_with("GOMP_") {
            command.env_remove(name);
        }
    }
    command
}

/// An empty folder of this test's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// The output and exit status of a command.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    let output = command.output().expect("the command runs");
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    Ended {
        code: status.code(),
        stdout: String::from_utf8(stdout).expect("UTF-8 on the standard output"),
        stderr: String::from_utf8(stderr).expect("UTF-8 on the standard error"),
    }
}

impl Ended {
    /// Returns the standard output; fails unless the command succeeded and wrote nothing to
    /// standard error.
    #[track_caller]
    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stderr, "");
        self.stdout
    }

    /// Fails unless the command ended with status 2, named itself and each of `words` in its
    /// message, and wrote nothing to standard output.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        self.failed(2, words);
    }

    /// Like [`refused`](Self::refused), with exit status `code`.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.starts_with("revoff: "), "{}", self.stderr);
        for word in words {
            assert!(
                self.stderr.contains(word),
                "no `{word}` in: {}",
                self.stderr
            );
        }
    }
}
