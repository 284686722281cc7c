//! OpenMP programs that GCC compiles for AMD GPUs: each of `gcn/`, run with our plugin and with
//! GCC's own, on the stand-in for AMD's runtime. No GPU instruction runs there: a kernel is a
//! handwritten function in `gcn/kernels/`, which uses the tables and variables of the image that
//! GCC made. So only the host's side is tested. Also tests of the properties of such images, with
//! programs of `gcc/`.
//!
//! - `REVOFF_GCC_PLUGIN_DIR`: the folder with our plugin (`cargo xtask plugins --out ..`);
//!   without it only GCC's is run.
//! - `REVOFF_GCC_ROOT`, `REVOFF_GCC_VERSION`, `REVOFF_TEST_SECONDS`: as for `gcc`.
//! - `REVOFF_GCC_BUILT`: a folder with programs built earlier (`build-programs`), which
//!   are run instead, with our plugin, on the device that `REVOFF_TEST_DEVICE` names (`hsa:0`).
//!   This may be a GPU.

mod bad;
mod before;
mod image;
mod images;

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

/// The build of programs: kernels get the same arguments at any level.
const BUILD: Build = Build::at("-O2");

/// The name by which plugins find AMD's runtime.
const ROCR: &str = "libhsa-runtime64.so.1";

/// Names the simulated kernels to the stand-in; nothing else reads it.
const KERNELS: &str = "REVOFF_HSA_STAND_IN_KERNELS";

/// The error that `calls` finds without a device.
const ON_THE_HOST: &str = "data.initial is 1, expected 0";

/// The plugin that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Gccs,
}

/// The runtime that the plugin finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runtime {
    StandIn,
    /// An invalid file.
    Broken,
    /// AMD's.
    Real,
}

/// The tests' shared state.
struct Bench {
    gcc: Gcc,
    /// The folder with our plugin, as programs see it; likewise the other folders.
    plugin: Option<PathBuf>,
    stand_in: PathBuf,
    broken: PathBuf,
    limit: Duration,
    built: Cache<Key, PathBuf>,
    kernels: Cache<String, PathBuf>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(programs: &[Program], sources: &Path) -> Result<Self, String> {
        let plugin = folder("REVOFF_GCC_PLUGIN_DIR", AMDGCN.plugin);
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let gcc = Gcc::find_for(AMDGCN, &sources.join("gcn"), scratch)?;
        gcc.bring(&sources.join("gcc"), "gcc")?;
        let library = hsa_standin::loader::library();
        let library = library.map_err(|error| format!("no stand-in for ROCr: {error}"))?;
        let bring = |name, content: &[u8]| {
            let folder = scratch.join(format!("{name}-{}", std::process::id()));
            let written =
                fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(ROCR), content));
            written.map_err(|error| format!("{}: {error}", folder.display()))?;
            let brought = gcc.bring(&folder, name);
            // A copy is used.
            let _ = fs::remove_dir_all(&folder);
            brought
        };
        let bytes = fs::read(&library);
        let bytes = bytes.map_err(|error| format!("{}: {error}", library.display()))?;
        Ok(Self {
            stand_in: bring("stand-in", &bytes)?,
            broken: bring("broken", b"")?,
            plugin: plugin
                .map(|folder| gcc.bring(&folder, "plugin"))
                .transpose()?,
            limit: limit(),
            built: Cache::of_programs(programs, &[BUILD]),
            kernels: Cache::new(programs.iter().map(|program| program.name.clone())),
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
    fn build(&self, program: &Program) -> Result<&Path, String> {
        let make = || self.gcc.build(program, BUILD);
        let built = self.built.get(&(program.name.clone(), BUILD), make);
        built.map(PathBuf::as_path)
    }

    /// Builds the kernels of a program, once.
    fn kernels(&self, program: &Program) -> Result<&Path, String> {
        let make = || {
            self.gcc
                .build_library(&format!("kernels/{}.c", program.name))
        };
        let built = self.kernels.get(&program.name, make);
        built.map(PathBuf::as_path)
    }

    /// Runs a program's file in a folder.
    fn run(
        &self,
        program: &Program,
        (folder, file): (&Path, &str),
        (side, runtime): (Side, Runtime),
        change: impl FnOnce(&mut Command),
    ) -> Result<Outcome, String> {
        let mut folders = Vec::new();
        if side == Side::Ours {
            folders.push(self.plugin.clone().ok_or("no plugin of ours")?);
        }
        // After the others, since GCC's plugin may be beside the runtime.
        folders.push(match runtime {
            Runtime::StandIn => self.stand_in.clone(),
            Runtime::Broken => self.broken.clone(),
            Runtime::Real => self.rocr().ok_or("no ROCr")?,
        });
        let folders = env::join_paths(folders).map_err(|error| error.to_string())?;
        let command = self.gcc.command(folder, &format!("./{file}"));
        run_with(
            command,
            program,
            self.kernels(program)?,
            self.limit,
            |command| {
                command.env("LD_LIBRARY_PATH", folders);
                command.env("OMP_TARGET_OFFLOAD", "mandatory");
                change(command);
            },
        )
    }

    /// Builds and runs a program on the stand-in.
    fn run_on(&self, side: Side, program: &Program) -> Result<Outcome, String> {
        let folder = self.build(program)?;
        let what = (folder, &*program.name);
        self.run(program, what, (side, Runtime::StandIn), |_| {})
    }
}

/// Runs a program by `command`, with its simulated kernels, changed by `change`.
fn run_with(
    mut command: Command,
    program: &Program,
    kernels: &Path,
    limit: Duration,
    change: impl FnOnce(&mut Command),
) -> Result<Outcome, String> {
    prepare(&mut command, program);
    command.env(KERNELS, kernels);
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
    let programs = match found {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&programs, sources).map(Arc::new);
    let mut trials = Vec::new();
    for program in &programs {
        trials.push(trial(bench.as_ref().ok(), Side::Ours, program));
        // A varying result cannot be tested.
        if program.stock != Some(Ending::Any) {
            trials.push(trial(bench.as_ref().ok(), Side::Gccs, program));
        }
    }
    trials.extend(bad::trials(bench.as_ref().ok(), &programs));
    trials.extend(images::trials(bench.as_ref().ok(), sources));
    match &bench {
        Ok(bench) => {
            say(&format!("compiled by {}", bench.gcc.name()));
            if bench.plugin.is_none() {
                say("SKIPPED compat for AMD GPUs, our plugin: REVOFF_GCC_PLUGIN_DIR is not set");
            }
        }
        Err(reason) => say(&format!(
            "SKIPPED compat for AMD GPUs, {} tests counted as ignored: {reason}",
            trials.len()
        )),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The test of a program.
fn trial(bench: Option<&Arc<Bench>>, side: Side, program: &Program) -> Trial {
    let place = match side {
        Side::Ours => "ours",
        Side::Gccs => "gccs",
    };
    let mut program = program.clone();
    if let (Side::Gccs, Some(ending)) = (side, program.stock) {
        program.ending = ending;
    }
    let name = format!("{place}::{}", program.name);
    let lacks = bench.and_then(|bench| bench.gcc.lacks(&program));
    let cannot = skipped(&name, lacks) || misses(bench, side);
    test(bench, name, move |bench| {
        judge(&program, &bench.run_on(side, &program)?)
    })
    .with_ignored_flag(cannot)
}

/// Whether a test must be skipped, with a printed reason.
fn skipped(name: &str, lacks: Option<String>) -> bool {
    if let Some(reason) = &lacks {
        say(&format!("SKIPPED compat, {name}: {reason}"));
    }
    lacks.is_some()
}

/// Whether all tests of a side must be skipped.
fn misses(bench: Option<&Arc<Bench>>, side: Side) -> bool {
    bench.is_none_or(|bench| side == Side::Ours && bench.plugin.is_none())
}
