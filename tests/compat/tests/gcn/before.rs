//! Programs built earlier, on the device that the environment names.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use compat::{AMDGCN, Built, Outcome, Program, fails, folder, judge, limit, say, test};
use libtest_mimic::Trial;

use crate::{BUILD, ON_THE_HOST, run_with};

/// The tests' shared state.
struct Bench {
    built: Built,
    plugin: PathBuf,
    device: String,
    limit: Duration,
}

/// A test for each program; and a test that one detects where it runs.
///
/// # Errors
/// There are no programs, or no plugin to run them with.
pub(crate) fn trials(built: Built) -> Result<Vec<Trial>, String> {
    let programs = Program::all(&built.sources())?;
    let variable = "REVOFF_GCC_PLUGIN_DIR";
    let plugin = folder(variable, AMDGCN.plugin).ok_or_else(|| format!("{variable} is not set"))?;
    // The programs are run in other folders.
    let plugin = plugin
        .canonicalize()
        .map_err(|error| format!("{variable}={}: {error}", plugin.display()))?;
    say(&format!("compiled by {}, before", built.name()));
    let bench = Arc::new(Bench {
        built,
        plugin,
        device: env::var("REVOFF_TEST_DEVICE").unwrap_or_else(|_| "hsa:0".to_owned()),
        limit: limit(),
    });
    let device = bench.device.replace(':', "_");
    let program = Program::named(&programs, "calls");
    let guard = test(
        Some(&bench),
        "guard::on_the_host".to_owned(),
        move |bench| on_the_host(bench, &program?),
    );
    let trials = programs.into_iter().map(|program| {
        let name = format!("{device}::{}", program.name);
        test(Some(&bench), name, move |bench| {
            let outcome = bench.run(&program, |command| {
                command.env("OMP_TARGET_OFFLOAD", "mandatory");
            })?;
            judge(&program, &outcome)
        })
    });
    Ok(trials.chain([guard]).collect())
}

/// The error that the program finds without a device.
fn on_the_host(bench: &Bench, program: &Program) -> Result<(), String> {
    let outcome = bench.run(program, |command| {
        command.env("OMP_TARGET_OFFLOAD", "disabled");
    })?;
    fails(program, &outcome, ON_THE_HOST)
}

impl Bench {
    /// Runs a program, changed by `change`.
    fn run(&self, program: &Program, change: impl FnOnce(&mut Command)) -> Result<Outcome, String> {
        let folder = self.built.program(program, BUILD)?;
        let name = format!("./{}", program.name);
        let command = self.built.command(&folder, &name, Some(&self.plugin));
        run_with(command, program, self.limit, |command| {
            command.env("REVOFF_DEVICE", &self.device);
            change(command);
        })
    }
}
