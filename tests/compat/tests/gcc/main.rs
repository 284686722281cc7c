//! OpenMP programs that GCC compiles, run with our plugin in the place of GCC's own: each
//! of `gcc/`, without and with optimisation, on each device.
//!
//! - `REVOFF_GCC_PLUGIN_DIR`: the folder with the plugin (`cargo xtask plugins --out ..`);
//!   without it nothing is run.
//! - `REVOFF_GCC_ROOT`: a folder with a system that has a GCC (`ci/gcc-root`), if the
//!   machine's own is not to be taken.
//! - `REVOFF_GCC_VERSION`: 13 to 16, if not the newest is to be taken.
//! - `REVOFF_GCC_OWN_LIBGOMP`: 1, if programs are to be linked with the libgomp of the
//!   compiler's version, and not use the system's, which is the newest's.
//! - `REVOFF_TEST_DEVICE`: devices, with commas between them (`emu`). On `none` the programs
//!   themselves are tried: their target regions run on the host, without a plugin.
//! - `REVOFF_TEST_SECONDS`: how long a program may take (60).

mod bad;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use compat::{Build, Ending, Gcc, Outcome, PLUGIN, Program, judge, run};
use libtest_mimic::{Arguments, Failed, Trial};

const BUILDS: [Build; 2] = [Build { level: "-O2" }, Build { level: "-O0" }];

/// The device of which there is none.
const NONE: &str = "none";

/// What the tests share.
struct Bench {
    gcc: Gcc,
    /// The folder with the plugin, as programs see it; none where only `none` is asked for.
    plugin: Option<PathBuf>,
    /// A folder whose plugin is none.
    no_plugin: PathBuf,
    limit: Duration,
    built: HashMap<(String, Build), OnceLock<Result<PathBuf, String>>>,
}

impl Bench {
    /// # Errors
    /// What is missing, in words.
    fn new(programs: &[Program], devices: &[String]) -> Result<Self, String> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let plugin = devices.iter().any(|device| device != NONE).then(plugin);
        let plugin = plugin.transpose()?;
        let gcc = Gcc::find(&sources(), scratch)?;
        let plugin = plugin.map(|folder| gcc.bring(&folder, "plugin"));
        // In GCC's own place might be one that finds a GPU.
        let decoy = scratch.join(format!("compat-decoy-{}", std::process::id()));
        let written = fs::create_dir_all(&decoy).and_then(|()| fs::write(decoy.join(PLUGIN), ""));
        written.map_err(|error| format!("{}: {error}", decoy.display()))?;
        let no_plugin = gcc.bring(&decoy, "no-plugin")?;
        let _ = fs::remove_dir_all(&decoy);
        let keys = programs.iter().flat_map(|program| {
            let keys = BUILDS.iter().map(|&build| (program.name.clone(), build));
            keys.map(|key| (key, OnceLock::new()))
        });
        Ok(Self {
            plugin: plugin.transpose()?,
            no_plugin,
            limit: limit(),
            built: keys.collect(),
            gcc,
        })
    }

    /// Builds a program, once.
    fn build(&self, program: &Program, build: Build) -> Result<&Path, String> {
        let built = &self.built[&(program.name.clone(), build)];
        let built = built.get_or_init(|| self.gcc.build(program, build));
        built.as_deref().map_err(Clone::clone)
    }

    /// Builds a program and runs it, where `change` says.
    fn run(
        &self,
        program: &Program,
        build: Build,
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        self.run_file(program, build, &program.name, change)
    }

    /// Builds a program, and runs a file beside it.
    fn run_file(
        &self,
        program: &Program,
        build: Build,
        file: &str,
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        let folder = self.build(program, build)?;
        let mut command = self.gcc.command(folder, &format!("./{file}"));
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("OMP_") {
                command.env_remove(name);
            }
        }
        command.envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        );
        change(&mut command);
        run(&mut command, self.limit).map_err(|error| format!("{command:?}: {error}"))
    }

    fn run_on(&self, device: &str, program: &Program, build: Build) -> Result<Outcome, String> {
        self.run(program, build, |command| {
            match &self.plugin {
                Some(plugin) if device != NONE => command
                    .env("OMP_TARGET_OFFLOAD", "mandatory")
                    .env("LD_LIBRARY_PATH", plugin)
                    .env("REVOFF_DEVICE", device),
                _ => command
                    .env("OMP_TARGET_OFFLOAD", "disabled")
                    .env("COMPAT_ON_HOST", "1"),
            };
        })
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let programs = match Program::all(&sources()) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let devices = env::var("REVOFF_TEST_DEVICE").unwrap_or_else(|_| "emu".to_owned());
    let devices: Vec<_> = devices.split(',').map(str::to_owned).collect();
    let bench = Bench::new(&programs, &devices).map(Arc::new);
    let mut trials = Vec::new();
    for device in &devices {
        for build in BUILDS {
            let fits = |program: &&Program| device != NONE || program.ending != Ending::Error;
            for program in programs.iter().filter(fits) {
                trials.push(trial(bench.as_ref().ok(), device, build, program));
            }
        }
    }
    if let Some(program) = programs.iter().find(|program| program.name == "no_data") {
        trials.extend(guards(bench.as_ref().ok(), program));
    }
    if devices.iter().any(|device| device != NONE) {
        trials.extend(bad(bench.as_ref().ok(), &programs));
    }
    match &bench {
        Ok(bench) => say(&format!("compiled by {}", bench.gcc.name())),
        Err(reason) => say(&format!(
            "SKIPPED compat, {} tests counted as ignored: {reason}",
            trials.len()
        )),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The test that a program is.
fn trial(bench: Option<&Arc<Bench>>, device: &str, build: Build, program: &Program) -> Trial {
    let level = build.level.trim_start_matches('-');
    let name = format!("{}::{level}::{}", device.replace(':', "_"), program.name);
    let lacks = bench.and_then(|bench| bench.gcc.lacks(program));
    if let Some(reason) = &lacks {
        say(&format!("SKIPPED compat, {name}: {reason}"));
    }
    let (device, program) = (device.to_owned(), program.clone());
    test(bench, name, move |bench| {
        judge(&program, &bench.run_on(&device, &program, build)?)
    })
    .with_ignored_flag(bench.is_none() || lacks.is_some())
}

/// What is said of what is wrong.
fn bad(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let trial = |case: &'static bad::Case| {
        let title = case.title();
        let lacks = bench.and_then(|bench| case.lacks(&bench.gcc));
        if let Some(reason) = &lacks {
            say(&format!("SKIPPED compat, {title}: {reason}"));
        }
        let program = programs.iter().find(|program| program.name == case.program);
        let program = program.cloned();
        test(bench, title, move |bench| match &program {
            Some(program) => case.run(bench, program),
            None => Err(format!("no program {}", case.program)),
        })
        .with_ignored_flag(bench.is_none() || lacks.is_some())
    };
    bad::CASES.iter().map(trial).collect()
}

/// What the programs find wrong where no device is: a check that cannot fail checks nothing.
fn guards(bench: Option<&Arc<Bench>>, program: &Program) -> [Trial; 2] {
    let on_the_host = program.clone();
    let without = program.clone();
    let on_the_host = move |bench: &Bench| {
        let outcome = bench.run(&on_the_host, BUILDS[0], |command| {
            command.env("OMP_TARGET_OFFLOAD", "disabled");
        })?;
        fails(&on_the_host, &outcome, "initial is 1, expected 0")
    };
    let without = move |bench: &Bench| {
        let outcome = bench.run(&without, BUILDS[0], |command| {
            command
                .env("OMP_TARGET_OFFLOAD", "mandatory")
                .env("LD_LIBRARY_PATH", &bench.no_plugin);
        })?;
        fails(&without, &outcome, bad::MANDATORY)
    };
    let heeds = bench.is_some_and(|bench| bench.gcc.heeds_mandatory());
    [
        test(bench, "guard::on_the_host".to_owned(), on_the_host)
            .with_ignored_flag(bench.is_none()),
        test(bench, "guard::without_a_plugin".to_owned(), without).with_ignored_flag(!heeds),
    ]
}

/// Whether a run failed, and said why.
fn fails(program: &Program, outcome: &Outcome, reason: &str) -> Result<(), String> {
    let told = judge(program, outcome).err();
    let told = told.ok_or_else(|| "it passed without a device".to_owned())?;
    match told.contains(reason) {
        true => Ok(()),
        false => Err(format!("it did not say {reason:?}: {told}")),
    }
}

fn test(
    bench: Option<&Arc<Bench>>,
    name: String,
    run: impl FnOnce(&Bench) -> Result<(), String> + Send + 'static,
) -> Trial {
    let bench = bench.cloned();
    Trial::test(name, move || {
        let bench = bench.ok_or("what it needs is missing")?;
        run(&bench).map_err(Failed::from)
    })
}

/// The folder with the plugin.
fn plugin() -> Result<PathBuf, String> {
    let name = "REVOFF_GCC_PLUGIN_DIR";
    let folder = env::var_os(name).filter(|folder| !folder.is_empty());
    let folder = folder.map(PathBuf::from).ok_or_else(|| {
        format!("{name} is not set (cargo xtask plugins --out FOLDER builds the plugin)")
    })?;
    // Whoever names it wants the tests to run.
    assert!(
        folder.join(PLUGIN).exists(),
        "{name}={}: no {PLUGIN} there",
        folder.display()
    );
    Ok(folder)
}

/// How long a program may take.
fn limit() -> Duration {
    let name = "REVOFF_TEST_SECONDS";
    let seconds = env::var(name).unwrap_or_else(|_| "60".to_owned());
    let seconds = seconds.parse();
    Duration::from_secs(seconds.unwrap_or_else(|_| panic!("{name}: a number of seconds expected")))
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gcc")
}

#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
fn say(what: &str) {
    eprintln!("{what}");
}
