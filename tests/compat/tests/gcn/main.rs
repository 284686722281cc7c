//! OpenMP programs that GCC compiles for AMD GPUs: each of `gcn/`, run with our plugin and with
//! GCC's own, and each of `gcc/`, run with ours. All run on emulated GPUs: for our plugin they are
//! its devices, for GCC's a library replaces AMD's runtime. Also tests of the properties of GCC's
//! images, with programs of `gcc/`.
//!
//! - `REVOFF_GCC_PLUGIN_DIR`: the folder with our plugin and the emulated runtime (`cargo xtask
//!   plugins --out ..`); without it nothing is run.
//! - `REVOFF_GCC_ROOT`, `REVOFF_GCC_VERSION`, `REVOFF_TEST_SECONDS`: as for `gcc`.
//! - `REVOFF_GCC_BUILT`: a folder with programs built earlier (`build-programs`), which
//!   are run instead, with our plugin, on the device that `REVOFF_TEST_DEVICE` names (`hsa:0`).
//!   This may be a GPU.

mod bad;
mod before;
mod image;
mod images;
mod shared;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{
    AMDGCN, Build, Built, Cache, Ending, Gcc, Key, Outcome, Program, folder, judge, limit, prepare,
    run, say, test,
};
use libtest_mimic::{Arguments, Trial};

/// The build of most programs, for the first of [`ARCHES`].
const BUILD: Build = Build::at("-O2");

/// The architecture of most tests.
const ARCH: &str = "gfx90a";

/// Further architectures, which run the programs [`ON_ALL`] only.
const MORE_ARCHES: [&str; 3] = ["gfx906", "gfx908", "gfx1100"];

/// Programs for each architecture: calls, text, teams and their memory.
const ON_ALL: [&str; 4] = ["calls", "many_calls", "printing", "region"];

/// The name by which plugins find AMD's runtime.
const ROCR: &str = "libhsa-runtime64.so.1";

/// The folder with the emulated runtime, beside our plugin.
const EMULATED: &str = "emulated";

/// The variable that lists the GPUs of the emulated runtime.
const GPUS: &str = "REVOFF_EMU_DEVICES";

/// The compute units of each emulated GPU, on every machine. Some programs have kernels that wait for
/// each other.
const UNITS: (&str, &str) = ("REVOFF_EMU_THREADS", "4");

/// The error that `calls` finds without a device.
const ON_THE_HOST: &str = "data.initial is 1, expected 0";

/// The plugin that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Gccs,
}

/// The GPUs that the plugin finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gpus {
    /// Two emulated GPUs, as devices of our plugin.
    Linked,
    /// Two emulated GPUs, through a library that replaces AMD's runtime.
    Library,
    /// None: instead of AMD's runtime there is an invalid file.
    Broken,
    /// Those of AMD's runtime.
    Real,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug)]
struct Place {
    side: Side,
    gpus: Gpus,
    arch: &'static str,
}

impl Place {
    /// Emulated GPUs of an architecture.
    const fn emulated(side: Side, arch: &'static str) -> Self {
        let gpus = match side {
            Side::Ours => Gpus::Linked,
            Side::Gccs => Gpus::Library,
        };
        Self { side, gpus, arch }
    }

    /// The build of programs for its GPUs.
    fn build(self) -> Build {
        Build {
            isa: Some(self.arch).filter(|arch| *arch != ARCH),
            ..BUILD
        }
    }
}

/// The tests' shared state.
struct Bench {
    gcc: Gcc,
    /// The folder with our plugin, as programs see it; likewise the other folders.
    plugin: PathBuf,
    broken: PathBuf,
    limit: Duration,
    built: Cache<Key, PathBuf>,
    /// Runs of programs with their target regions on the host.
    on_host: Cache<Key, Outcome>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(programs: &[Program], sources: &Path) -> Result<Self, String> {
        let variable = "REVOFF_GCC_PLUGIN_DIR";
        let plugin = folder(variable, AMDGCN.plugin).ok_or_else(|| {
            format!("{variable} is not set (cargo xtask plugins --out FOLDER builds the plugin)")
        })?;
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let gcc = Gcc::find_for(AMDGCN, &sources.join("gcn"), scratch)?;
        gcc.bring(&sources.join("gcc"), "gcc")?;
        let broken = scratch.join(format!("broken-{}", std::process::id()));
        let written = fs::create_dir_all(&broken).and_then(|()| fs::write(broken.join(ROCR), b""));
        written.map_err(|error| format!("{}: {error}", broken.display()))?;
        let brought = gcc.bring(&broken, "broken");
        // A copy is used.
        let _ = fs::remove_dir_all(&broken);
        let builds = [ARCH].iter().chain(&MORE_ARCHES);
        let builds = builds.map(|arch| Place::emulated(Side::Ours, arch).build());
        let builds: Vec<_> = builds.collect();
        Ok(Self {
            broken: brought?,
            plugin: gcc.bring(&plugin, "plugin")?,
            limit: limit(),
            built: Cache::of_programs(programs, &builds),
            on_host: Cache::of_programs(programs, &[BUILD]),
            gcc,
        })
    }

    /// The folder with AMD's own runtime, if there is one: where `ci/gcc-root` puts it, or the
    /// system's.
    fn rocr(&self) -> Option<PathBuf> {
        let system = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
        let mut folders = [PathBuf::from("/opt/rocr"), system.into()].into_iter();
        folders.find(|folder| self.gcc.outside(folder).join(ROCR).exists())
    }

    /// Builds a program, once.
    fn build(&self, program: &Program, build: Build) -> Result<&Path, String> {
        let make = || self.gcc.build(program, build);
        let built = self.built.get(&(program.name.clone(), build), make);
        built.map(PathBuf::as_path)
    }

    /// Runs a program's file in a folder.
    fn run(
        &self,
        program: &Program,
        (folder, file): (&Path, &str),
        place: Place,
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        let mut folders = Vec::new();
        if place.side == Side::Ours {
            folders.push(self.plugin.clone());
        }
        // After our plugin, since GCC's may be beside the runtime.
        match place.gpus {
            Gpus::Linked => {}
            Gpus::Library => folders.push(self.plugin.join(EMULATED)),
            Gpus::Broken => folders.push(self.broken.clone()),
            Gpus::Real => folders.push(self.rocr().ok_or("no ROCr")?),
        }
        let folders = env::join_paths(folders).map_err(|error| error.to_string())?;
        let command = self.gcc.command(folder, &format!("./{file}"));
        let arch = place.arch;
        run_with(command, program, self.limit, |command| {
            command.env("LD_LIBRARY_PATH", folders);
            command.env("OMP_TARGET_OFFLOAD", "mandatory");
            // libgomp also loads the plugin for NVIDIA GPUs, which finds none in this list.
            command.env(GPUS, format!("{arch},{arch}"));
            command.env(UNITS.0, UNITS.1);
            if place.gpus == Gpus::Linked {
                command.env("REVOFF_DEVICE", format!("emu:{arch},emu:{arch}"));
            }
            change(command);
        })
    }

    /// Builds and runs a program.
    fn run_on(&self, place: Place, program: &Program) -> Result<Outcome, String> {
        let folder = self.build(program, place.build())?;
        self.run(program, (folder, &program.name), place, |_| {})
    }
}

/// Runs a program by `command`, changed by `change`.
fn run_with(
    mut command: Command,
    program: &Program,
    limit: Duration,
    change: impl FnOnce(&mut Command),
) -> Result<Outcome, String> {
    prepare(&mut command, program);
    change(&mut command);
    run(&mut command, limit).map_err(|error| format!("{command:?}: {error}"))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if let Some(built) = Built::find() {
        // If the environment names programs, they must be run.
        return match built.and_then(before::trials) {
            Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = Program::all(&sources.join("gcn"));
    let found = found.and_then(|programs| Ok((programs, shared::programs(sources)?)));
    let (programs, shared) = match found {
        Ok(found) => found,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&[&programs[..], &shared].concat(), sources).map(Arc::new);
    let mut trials = Vec::new();
    for program in &programs {
        for side in [Side::Ours, Side::Gccs] {
            let arches = match ON_ALL.contains(&&*program.name) {
                true => &MORE_ARCHES[..],
                false => &[],
            };
            for arch in [ARCH].iter().chain(arches) {
                let place = Place::emulated(side, arch);
                trials.extend(trial(bench.as_ref().ok(), place, program));
            }
        }
    }
    trials.extend(shared::trials(bench.as_ref().ok(), &shared));
    trials.extend(bad::trials(bench.as_ref().ok(), &programs));
    trials.extend(images::trials(bench.as_ref().ok(), &shared));
    match &bench {
        Ok(bench) => say(&format!("compiled by {}", bench.gcc.name())),
        Err(reason) => say(&format!(
            "SKIPPED compat for AMD GPUs, {} tests counted as ignored: {reason}",
            trials.len()
        )),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The test of a program, if its result does not vary.
fn trial(bench: Option<&Arc<Bench>>, place: Place, program: &Program) -> Option<Trial> {
    let mut program = program.clone();
    let side = match place.side {
        Side::Ours => "ours",
        Side::Gccs => "gccs",
    };
    if let (Side::Gccs, Some(ending)) = (place.side, program.stock) {
        program.ending = ending;
    }
    if program.ending == Ending::Any {
        return None;
    }
    let name = format!("{side}::{}::{}", place.arch, program.name);
    let lacks = bench.and_then(|bench| bench.gcc.lacks(&program));
    let cannot = skipped(&name, lacks) || bench.is_none();
    let trial = test(bench, name, move |bench| {
        judge(&program, &bench.run_on(place, &program)?)
    });
    Some(trial.with_ignored_flag(cannot))
}

/// Whether a test must be skipped, with a printed reason.
fn skipped(name: &str, lacks: Option<String>) -> bool {
    if let Some(reason) = &lacks {
        say(&format!("SKIPPED compat, {name}: {reason}"));
    }
    lacks.is_some()
}
