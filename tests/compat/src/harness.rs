//! What the tests of all compilers share.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};

use crate::{Build, Program};

/// Programs that are built once, by the first who asks.
pub struct Cache {
    built: HashMap<(String, Build), OnceLock<Result<PathBuf, String>>>,
}

impl Cache {
    /// With a place for each program, built in each way.
    #[must_use]
    pub fn new(programs: &[Program], builds: &[Build]) -> Self {
        let keys = programs.iter().flat_map(|program| {
            let keys = builds.iter().map(|&build| (program.name.clone(), build));
            keys.map(|key| (key, OnceLock::new()))
        });
        Self {
            built: keys.collect(),
        }
    }

    /// The folder with a program, that `make` builds if nobody has.
    ///
    /// # Errors
    /// What `make` said.
    pub fn get(
        &self,
        program: &Program,
        build: Build,
        make: impl FnOnce() -> Result<PathBuf, String>,
    ) -> Result<&Path, String> {
        let built = self.built[&(program.name.clone(), build)].get_or_init(make);
        built.as_deref().map_err(Clone::clone)
    }
}

/// Gives a command the environment that its program asks for, and no other for OpenMP.
pub fn prepare(command: &mut Command, program: &Program) {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if ["OMP_", "KMP_", "LIBOMPTARGET_"]
            .iter()
            .any(|start| name.starts_with(start))
        {
            command.env_remove(&*name);
        }
    }
    let variables = program.environment.iter();
    command.envs(variables.map(|(name, value)| (name, value)));
}

/// The folder that a variable names, which must have a file; `None` if it names none.
///
/// # Panics
/// There is no such file: whoever names the folder wants the tests to run.
#[must_use]
pub fn folder(variable: &str, file: &str) -> Option<PathBuf> {
    let folder = env::var_os(variable).filter(|folder| !folder.is_empty())?;
    let folder = PathBuf::from(folder);
    assert!(
        folder.join(file).exists(),
        "{variable}={}: no {file} there",
        folder.display()
    );
    Some(folder)
}

/// How long a program may take.
///
/// # Panics
/// The environment says what is no number.
#[must_use]
pub fn limit() -> Duration {
    let name = "REVOFF_TEST_SECONDS";
    let seconds = env::var(name).unwrap_or_else(|_| "60".to_owned());
    let seconds = seconds.parse();
    Duration::from_secs(seconds.unwrap_or_else(|_| panic!("{name}: a number of seconds expected")))
}

/// A test that needs what all of them share; ignored where that is missing.
pub fn test<B: Send + Sync + 'static>(
    bench: Option<&Arc<B>>,
    name: String,
    run: impl FnOnce(&B) -> Result<(), String> + Send + 'static,
) -> Trial {
    let found = bench.cloned();
    let is_missing = found.is_none();
    Trial::test(name, move || {
        let bench = found.ok_or("what it needs is missing")?;
        run(&bench).map_err(Failed::from)
    })
    .with_ignored_flag(is_missing)
}

/// Tells people something that no test's result has.
#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
pub fn say(what: &str) {
    eprintln!("{what}");
}
