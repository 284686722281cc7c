//! Programs built earlier by `build-programs`, in a folder that may have been copied to a machine
//! without a compiler.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Build, Program};

/// The variable that names the folder.
const BUILT: &str = "REVOFF_GCC_BUILT";

/// A file in the folder with the compiler's name, for users.
pub const BY: &str = "by";

/// In the folder: the sources, whose first comments are read.
pub const SOURCES: &str = "src";

/// In the folder, optional: a script that runs a program if this machine's libraries are
/// unsuitable. Its arguments are the folder with the plugin and the program.
const START: &str = "start";

/// Programs built earlier.
pub struct Built {
    folder: PathBuf,
    by: String,
}

impl Built {
    /// The programs in the folder that the environment names, if it does.
    ///
    /// # Errors
    /// The folder has none.
    pub fn find() -> Option<Result<Self, String>> {
        let folder = env::var_os(BUILT).filter(|folder| !folder.is_empty())?;
        Some(Self::open(Path::new(&folder)))
    }

    fn open(folder: &Path) -> Result<Self, String> {
        let opened = fs::canonicalize(folder).and_then(|folder| {
            let by = fs::read_to_string(folder.join(BY))?.trim().to_owned();
            Ok(Self { folder, by })
        });
        opened.map_err(|error| {
            format!(
                "{BUILT}={}: no programs that were built: {error}",
                folder.display()
            )
        })
    }

    /// The compiler's name, for users.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.by
    }

    /// The folder with the programs' sources.
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.folder.join(SOURCES)
    }

    /// The folder with a program.
    ///
    /// # Errors
    /// It was not built.
    pub fn program(&self, program: &Program, build: Build) -> Result<PathBuf, String> {
        let folder = self.folder.join(build.folder()).join(&program.name);
        match folder.join(&program.name).exists() {
            true => Ok(folder),
            false => Err(format!("{} has no {}", folder.display(), program.name)),
        }
    }

    /// A command that runs a program with a plugin.
    #[must_use]
    pub fn command(&self, folder: &Path, program: &str, plugin: Option<&Path>) -> Command {
        let start = self.folder.join(START);
        let mut command = if start.exists() {
            let mut command = Command::new(start);
            command.arg(plugin.unwrap_or(Path::new("")));
            command.arg(program);
            command
        } else {
            let mut command = Command::new(program);
            command.envs(plugin.map(|plugin| ("LD_LIBRARY_PATH", plugin)));
            command
        };
        command.current_dir(folder);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{run, write_executable};
    use std::time::Duration;

    /// A folder with a program that prints its plugin.
    fn folder(name: &str) -> PathBuf {
        let name = format!("compat-built-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        let program = folder.join("O2/one");
        fs::create_dir_all(&program).expect("a folder");
        fs::write(folder.join(BY), "somebody\n").expect("written");
        script(&program.join("one"), "echo plugin=$LD_LIBRARY_PATH");
        folder
    }

    fn script(path: &Path, text: &str) {
        let script = format!("#!/bin/sh\n{text}\n");
        write_executable(path, script.as_bytes()).expect("written");
    }

    fn said(built: &Built) -> String {
        let program = Program::parse("one.c", "").expect("understood");
        let folder = built.program(&program, Build::at("-O2"));
        let folder = folder.expect("it was built");
        let mut command = built.command(&folder, "./one", Some(Path::new("/a/plugin")));
        let outcome = run(&mut command, Duration::from_secs(60)).expect("it runs");
        outcome.stdout
    }

    #[test]
    fn programs_are_found_and_run() {
        let folder = folder("run");
        let built = Built::open(&folder).expect("programs");
        assert_eq!(built.name(), "somebody");
        assert_eq!(said(&built), "plugin=/a/plugin\n");
        let other = Program::parse("two.c", "").expect("understood");
        let missing = built.program(&other, Build::at("-O2"));
        assert!(missing.expect_err("nobody built it").contains("no two"));
        fs::remove_dir_all(&folder).expect("removed");
        assert!(Built::open(&folder).is_err());
    }

    #[test]
    fn what_starts_them_is_given_the_plugin() {
        let folder = folder("start");
        script(
            &folder.join(START),
            "LD_LIBRARY_PATH=started:$1; export LD_LIBRARY_PATH; exec \"$2\"",
        );
        let built = Built::open(&folder).expect("programs");
        assert_eq!(said(&built), "plugin=started:/a/plugin\n");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
