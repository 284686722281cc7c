//! OpenMP programs that GCC compiles, run with our plugin instead of GCC's own: each of `gcc/`,
//! without and with optimisation. Programs that are compared with the host are built in more ways.
//!
//! - `REVOFF_GCC_PLUGIN_DIR`: the folder with the plugin (`cargo xtask plugins --out ..`);
//!   without it nothing is run.
//! - `REVOFF_GCC_ROOT`: a folder with a system that has a GCC (`ci/gcc-root`), if the
//!   machine's own is not used.
//! - `REVOFF_GCC_BUILT`: a folder with programs built earlier (`build-programs`), which
//!   are run without a compiler.
//! - `REVOFF_GCC_VERSION`: 13 to 16, to use another version than the newest.
//! - `REVOFF_GCC_OWN_LIBGOMP`: 1 links programs with the libgomp of the compiler's
//!   version. By default they use the system's, which is the newest version's.
//! - `REVOFF_TEST_DEVICE`: devices, with commas between them (`emu`). On `none` the programs
//!   themselves are tested: their target regions run on the host, without a plugin.
//! - `REVOFF_GCC_BUILDS`: `all` builds the programs that are compared with the host at each level
//!   of optimisation for each architecture, instead of in four ways, and runs the others with and without
//!   optimisation on each device. By default several devices share these: the first runs optimised programs, the
//!   second those that are not.
//! - `REVOFF_TEST_SECONDS`: the time limit of a program (60).

mod bad;
mod driver_calls;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{
    Build, Built, Cache, Ending, Gcc, Key, MANDATORY, Outcome, PLUGIN, Program, compare_with_host,
    fails, folder, judge, limit, prepare, run, say, test,
};
use libtest_mimic::{Arguments, Trial};

/// The builds of each program; programs built earlier have only the first.
const BUILDS: [Build; 2] = [Build::at("-O2"), Build::at("-O0")];

/// The builds of programs that are compared with the host. Those for CI come first and cover each
/// level and each architecture.
const COMPARED: [Build; 8] = [
    Build::at("-O2"),
    Build::at("-O0"),
    Build::at("-O1"),
    Build::at("-O3"),
    for_ampere("-O3"),
    for_ampere("-O0"),
    for_ampere("-O1"),
    for_ampere("-O2"),
];

/// The number of these for CI.
const COMPARED_IN_CI: usize = 5;

/// For devices from sm_80 on.
const fn for_ampere(level: &'static str) -> Build {
    Build {
        level,
        isa: Some("sm_80"),
    }
}

/// Programs that also work with GCC's own plugin, which runs on the emulated driver. Most others need what
/// its plugin lacks: docs/gcc.md lists it.
const WITH_GCCS_PLUGIN: [&str; 13] = [
    "allocators",
    "bill",
    "host_libc",
    "indirect",
    "many_requests",
    "maps_absent",
    "maps_present",
    "nested_calls",
    "no_data",
    "numbers",
    "recursion",
    "several_regions",
    "struct_members",
];

/// The folder with the emulated driver, beside our plugin.
const EMULATED: &str = "emulated";

/// The name for no device.
const NONE: &str = "none";

/// The origin of the programs.
enum Origin {
    Gcc(Gcc),
    Built(Built),
}

impl Origin {
    /// The compiler's name, for users.
    fn name(&self) -> String {
        match self {
            Self::Gcc(gcc) => gcc.name(),
            Self::Built(built) => format!("{}, before", built.name()),
        }
    }

    fn lacks(&self, program: &Program) -> Option<String> {
        match self {
            Self::Gcc(gcc) => gcc.lacks(program),
            Self::Built(_) => None,
        }
    }

    fn build(&self, program: &Program, build: Build) -> Result<PathBuf, String> {
        match self {
            Self::Gcc(gcc) => gcc.build(program, build),
            Self::Built(built) => built.program(program, build),
        }
    }

    /// Copies a folder to where programs find it; returns the path inside the root.
    fn bring(&self, folder: &Path, name: &str) -> Result<PathBuf, String> {
        match self {
            Self::Gcc(gcc) => gcc.bring(folder, name),
            Self::Built(_) => {
                fs::canonicalize(folder).map_err(|error| format!("{}: {error}", folder.display()))
            }
        }
    }

    /// A command that runs a program with a plugin.
    fn command(&self, folder: &Path, program: &str, plugin: Option<&Path>) -> Command {
        match self {
            Self::Gcc(gcc) => {
                let mut command = gcc.command(folder, program);
                command.envs(plugin.map(|plugin| ("LD_LIBRARY_PATH", plugin)));
                command
            }
            Self::Built(built) => built.command(folder, program, plugin),
        }
    }
}

/// The tests' shared state.
struct Bench {
    from: Origin,
    /// The folder with the plugin, as programs see it; `None` if only `none` is requested.
    plugin: Option<PathBuf>,
    /// A folder with an invalid plugin.
    no_plugin: PathBuf,
    decoy: PathBuf,
    limit: Duration,
    built: Cache<Key, PathBuf>,
    /// Runs of programs with their target regions on the host.
    on_host: Cache<Key, Outcome>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(
        from: Result<Origin, String>,
        programs: &[Program],
        devices: &[String],
    ) -> Result<Self, String> {
        let plugin = devices.iter().any(|device| device != NONE).then(plugin);
        let plugin = plugin.transpose()?;
        let from = from?;
        let plugin = plugin.map(|folder| from.bring(&folder, "plugin"));
        // GCC's own plugin might find a GPU.
        let decoy = env::temp_dir().join(format!("compat-decoy-{}", std::process::id()));
        let written = fs::create_dir_all(&decoy).and_then(|()| fs::write(decoy.join(PLUGIN), ""));
        written.map_err(|error| format!("{}: {error}", decoy.display()))?;
        let no_plugin = from.bring(&decoy, "no-plugin")?;
        Ok(Self {
            plugin: plugin.transpose()?,
            no_plugin,
            decoy,
            limit: limit(),
            built: Cache::of_programs(programs, &COMPARED),
            on_host: Cache::of_programs(programs, &COMPARED),
            from,
        })
    }

    /// The compiler, unless the programs were built earlier.
    fn gcc(&self) -> Option<&Gcc> {
        match &self.from {
            Origin::Gcc(gcc) => Some(gcc),
            Origin::Built(_) => None,
        }
    }

    /// Builds a program, once.
    fn build(&self, program: &Program, build: Build) -> Result<&Path, String> {
        let make = || self.from.build(program, build);
        let built = self.built.get(&(program.name.clone(), build), make);
        built.map(PathBuf::as_path)
    }

    /// Builds a program and runs it with a plugin, changed by `change`.
    fn run(
        &self,
        program: &Program,
        build: Build,
        plugin: Option<&Path>,
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        self.run_file(program, build, &program.name, plugin, change)
    }

    /// Builds a program, and runs a file beside it.
    fn run_file(
        &self,
        program: &Program,
        build: Build,
        file: &str,
        plugin: Option<&Path>,
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        let folder = self.build(program, build)?;
        let name = format!("./{file}");
        let mut command = self.from.command(folder, &name, plugin);
        prepare(&mut command, program);
        change(&mut command);
        run(&mut command, self.limit).map_err(|error| format!("{command:?}: {error}"))
    }

    fn run_on(&self, device: &str, program: &Program, build: Build) -> Result<Outcome, String> {
        let plugin = self.plugin.as_deref().filter(|_| device != NONE);
        self.run(program, build, plugin, |command| {
            match plugin {
                Some(_) => command
                    .env("OMP_TARGET_OFFLOAD", "mandatory")
                    .env("REVOFF_DEVICE", device),
                None => command
                    .env("OMP_TARGET_OFFLOAD", "disabled")
                    .env("COMPAT_ON_HOST", "1"),
            };
        })
    }

    /// Runs a program with GCC's own plugin on the emulated driver, which says the same as with ours.
    fn test_with_gccs_plugin(&self, program: &Program) -> Result<(), String> {
        let emulated = self.plugin.as_ref().map(|plugin| plugin.join(EMULATED));
        let emulated = emulated.ok_or("no folder with the emulated driver")?;
        let theirs = self.run(program, BUILDS[0], Some(&emulated), |command| {
            command.env("OMP_TARGET_OFFLOAD", "mandatory");
        })?;
        judge(program, &theirs)?;
        let ours = self.run_on("emu", program, BUILDS[0])?;
        judge(program, &ours)?;
        if theirs.stdout == ours.stdout {
            return Ok(());
        }
        Err(format!(
            "with GCC's plugin it prints {:?}, with ours {:?}",
            theirs.stdout, ours.stdout
        ))
    }

    /// Runs a program, and judges how it ended.
    fn test(&self, device: &str, program: &Program, build: Build) -> Result<(), String> {
        let outcome = self.run_on(device, program, build)?;
        judge(program, &outcome)?;
        if !program.is_compared || device == NONE {
            return Ok(());
        }
        let key = (program.name.clone(), build);
        let on_host = || self.run_on(NONE, program, build);
        compare_with_host(self.on_host.get(&key, on_host)?, &outcome)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // If it cannot be removed, it was not created.
        let _ = fs::remove_dir_all(&self.decoy);
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let every = match every() {
        Ok(every) => every,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let (sources, builds, from) = match Built::find() {
        // If the environment names programs, they must be run.
        Some(Err(error)) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
        Some(Ok(built)) => (built.sources(), [1, 1], Ok(Origin::Built(built))),
        None => {
            let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("gcc");
            let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
            let gcc = Gcc::find(&sources, scratch);
            let compared = if every {
                COMPARED.len()
            } else {
                COMPARED_IN_CI
            };
            (sources, [BUILDS.len(), compared], gcc.map(Origin::Gcc))
        }
    };
    let programs = match Program::all(&sources) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let devices = env::var("REVOFF_TEST_DEVICE").unwrap_or_else(|_| "emu".to_owned());
    let devices: Vec<_> = devices.split(',').map(str::to_owned).collect();
    let bench = Bench::new(from, &programs, &devices).map(Arc::new);
    let mut trials = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let fits = |program: &&Program| device != NONE || program.ending != Ending::Error;
        for program in programs.iter().filter(fits) {
            let builds = match program.is_compared {
                false => &BUILDS[..builds[0]],
                true => &COMPARED[..builds[1]],
            };
            // Several devices share the builds of programs that fit all: each is run once.
            let shares = !every && !program.is_compared && program.only.is_none();
            let is_here = |at: usize| !shares || at % devices.len() == number % builds.len();
            let builds = builds.iter().enumerate().filter(|(at, _)| is_here(*at));
            for (_, &build) in builds.filter(|(_, build)| runs(device, **build)) {
                trials.push(trial(bench.as_ref().ok(), device, build, program));
            }
        }
    }
    trials.extend(guards(bench.as_ref().ok(), &programs));
    // Programs built earlier are run where there is a GPU.
    let is_emulated = devices.iter().any(|device| device.starts_with("emu"));
    if is_emulated && bench.as_ref().map_or(true, |bench| bench.gcc().is_some()) {
        trials.extend(with_gccs_plugin(bench.as_ref().ok(), &programs));
        trials.push(driver_calls(bench.as_ref().ok(), &programs));
    }
    // For programs built earlier there is no GCC to check their contents.
    let from_gcc = bench.as_ref().map_or(true, |bench| bench.gcc().is_some());
    if from_gcc && devices.iter().any(|device| device != NONE) {
        trials.extend(bad(bench.as_ref().ok(), &programs));
    }
    match &bench {
        Ok(bench) => say(&format!("compiled by {}", bench.from.name())),
        Err(reason) => say(&format!(
            "SKIPPED compat, {} tests counted as ignored: {reason}",
            trials.len()
        )),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Whether `REVOFF_GCC_BUILDS` requests every build.
fn every() -> Result<bool, String> {
    match env::var("REVOFF_GCC_BUILDS").as_deref() {
        Err(_) | Ok("") => Ok(false),
        Ok("all") => Ok(true),
        Ok(text) => Err(format!(
            "REVOFF_GCC_BUILDS={text}: expected `all`, or nothing"
        )),
    }
}

/// Whether a device is new enough for what is built in this way.
fn runs(device: &str, build: Build) -> bool {
    let of = |name: &str| name.split_once("sm_")?.1.parse::<u32>().ok();
    let (device, isa) = (of(device), build.isa.and_then(of));
    device.is_none_or(|device| isa.is_none_or(|isa| isa <= device))
}

/// The test of a program.
fn trial(bench: Option<&Arc<Bench>>, device: &str, build: Build, program: &Program) -> Trial {
    let (place, level) = (device.replace(':', "_"), build.folder());
    let name = format!("{place}::{level}::{}", program.name);
    let lacks = match &program.only {
        Some(only) if device != NONE && !program.suits(device) => {
            Some(format!("it is for devices of kind `{only}`"))
        }
        _ => bench.and_then(|bench| bench.from.lacks(program)),
    };
    if let Some(reason) = &lacks {
        say(&format!("SKIPPED compat, {name}: {reason}"));
    }
    let (device, program) = (device.to_owned(), program.clone());
    test(bench, name, move |bench| {
        bench.test(&device, &program, build)
    })
    .with_ignored_flag(bench.is_none() || lacks.is_some())
}

/// The tests of GCC's own plugin on the emulated driver.
fn with_gccs_plugin(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let trial = |name: &&str| {
        let title = format!("gccs_plugin::{name}");
        let program = Program::named(programs, name);
        test(bench, title, move |bench| {
            bench.test_with_gccs_plugin(&program?)
        })
        .with_ignored_flag(bench.is_none())
    };
    WITH_GCCS_PLUGIN.iter().map(trial).collect()
}

/// The test of what a call to the host costs in calls of the driver.
fn driver_calls(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Trial {
    let program = Program::named(programs, driver_calls::PROGRAM);
    let title = "gccs_plugin::driver_calls".to_owned();
    test(bench, title, move |bench| {
        bench.test_driver_calls(&program?)
    })
    .with_ignored_flag(bench.is_none())
}

/// The tests of error messages.
fn bad(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let trial = |case: &'static bad::Case| {
        let title = case.title();
        let lacks = bench.and_then(|bench| case.lacks(bench.gcc()));
        if let Some(reason) = &lacks {
            say(&format!("SKIPPED compat, {title}: {reason}"));
        }
        let program = Program::named(programs, case.program);
        test(bench, title, move |bench| case.run(bench, &program?))
            .with_ignored_flag(bench.is_none() || lacks.is_some())
    };
    bad::CASES.iter().map(trial).collect()
}

/// The errors that programs find without a device: a check that cannot fail checks nothing.
fn guards(bench: Option<&Arc<Bench>>, programs: &[Program]) -> [Trial; 2] {
    let on_the_host = Program::named(programs, "no_data");
    let without = on_the_host.clone();
    let on_the_host = move |bench: &Bench| {
        let on_the_host = on_the_host?;
        let outcome = bench.run(&on_the_host, BUILDS[0], None, |command| {
            command.env("OMP_TARGET_OFFLOAD", "disabled");
        })?;
        fails(&on_the_host, &outcome, "initial is 1, expected 0")
    };
    let without = move |bench: &Bench| {
        let without = without?;
        let no_plugin = Some(bench.no_plugin.as_path());
        let outcome = bench.run(&without, BUILDS[0], no_plugin, |command| {
            command.env("OMP_TARGET_OFFLOAD", "mandatory");
        })?;
        fails(&without, &outcome, MANDATORY)
    };
    let heeds = bench.is_some_and(|bench| bench.gcc().is_none_or(Gcc::heeds_mandatory));
    [
        test(bench, "guard::on_the_host".to_owned(), on_the_host)
            .with_ignored_flag(bench.is_none()),
        test(bench, "guard::without_a_plugin".to_owned(), without).with_ignored_flag(!heeds),
    ]
}

/// The folder with the plugin.
fn plugin() -> Result<PathBuf, String> {
    let name = "REVOFF_GCC_PLUGIN_DIR";
    folder(name, PLUGIN).ok_or_else(|| {
        format!("{name} is not set (cargo xtask plugins --out FOLDER builds the plugin)")
    })
}
