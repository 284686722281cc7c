//! Code shared by the tests of all compilers.

use std::collections::HashMap;
use std::env;
use std::hash::Hash;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};

use crate::{Build, Program};

/// Values created once per key, by the first thread that needs one.
pub struct Cache<K, V> {
    made: HashMap<K, OnceLock<Result<V, String>>>,
}

/// A program, built in one way.
pub type Key = (String, Build);

impl<V> Cache<Key, V> {
    /// A cache with an entry for each program, built in each way.
    #[must_use]
    pub fn of_programs(programs: &[Program], builds: &[Build]) -> Self {
        Self::new(
            programs
                .iter()
                .flat_map(|program| builds.iter().map(|&build| (program.name.clone(), build))),
        )
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    /// A cache with an entry for each key.
    pub fn new(keys: impl IntoIterator<Item = K>) -> Self {
        let keys = keys.into_iter();
        Self {
            made: keys.map(|key| (key, OnceLock::new())).collect(),
        }
    }

    /// The value for a key, which `make` creates if it does not exist.
    ///
    /// # Errors
    /// The error of `make`, or the key is unknown.
    pub fn get(&self, key: &K, make: impl FnOnce() -> Result<V, String>) -> Result<&V, String> {
        let place = self.made.get(key).ok_or("nobody was to make it")?;
        place.get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

/// Sets the environment that a program's description requires, and clears other OpenMP variables.
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

/// The folder named by a variable, which must have a file; `None` if it is not set.
///
/// # Panics
/// There is no such file: if the variable is set, the tests must run.
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

/// The time limit of a program.
///
/// # Panics
/// The environment's value is not a number.
#[must_use]
pub fn limit() -> Duration {
    let name = "REVOFF_TEST_SECONDS";
    let seconds = env::var(name).unwrap_or_else(|_| "60".to_owned());
    let seconds = seconds.parse();
    Duration::from_secs(seconds.unwrap_or_else(|_| panic!("{name}: a number of seconds expected")))
}

/// A test that needs shared state; ignored if that is missing.
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

/// Prints a message that is not part of a test's result.
#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
pub fn say(what: &str) {
    eprintln!("{what}");
}
