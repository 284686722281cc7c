//! Complete OpenMP programs that clang compiles for GPUs: each of `clang_device/` prints the same
//! on an emulated GPU as on the host, for which it is compiled without offloading. Some of them also
//! run on an emulated AMD GPU.
//!
//! - `REVOFF_LIBOMPTARGET_DIR`: the folder with our library (`cargo xtask plugins --out ..`),
//! - `REVOFF_TEST_PIECES`: the folder with the pieces for images (`cargo xtask images
//!   --pieces --openmp-runtime .. --libdevice ..`): without either folder nothing is run;
//! - `REVOFF_CLANG`: the compiler, if not the clang-22 of `PATH`;
//! - `REVOFF_TEST_SECONDS`: the time limit of a program (60).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{
    LIBOMPTARGET, LLD, Language, Outcome, Program, complete, folder, limit, prepare,
    program_output, run, say, test,
};
use libtest_mimic::Arguments;

/// A program's target, and the device that runs it.
#[derive(Clone, Copy)]
struct Way {
    /// The architecture, which is the folder of its piece.
    arch: &'static str,
    /// The value that matches a program's `only`.
    kind: &'static str,
    level: &'static str,
    /// `REVOFF_DEVICE`.
    device: &'static str,
    /// The programs; all if empty.
    programs: &'static [&'static str],
}

/// The programs that call their host.
const CALLING: [&str; 1] = ["calls"];

const WAYS: [Way; 3] = [
    Way {
        arch: "sm_70",
        kind: "nvptx",
        level: "-O2",
        device: "emu:sm_70",
        programs: &[],
    },
    // All of the runtime stays in the image.
    Way {
        arch: "sm_70",
        kind: "nvptx",
        level: "-O0",
        device: "emu:sm_70",
        programs: &["several_parallel", "virtual_calls"],
    },
    Way {
        arch: "gfx90a",
        kind: "amdgcn",
        level: "-O2",
        device: "emu:gfx90a",
        programs: &[
            "arrays",
            "atomics",
            "calls",
            "critical",
            "distribute",
            "heap",
            "inheritance",
            "loops",
            "matrix",
            "reduce_arrays",
            "reduce_operators",
            "schedules",
            "several_parallel",
            "sharing",
            "sorting",
            "standard_library",
            "structs",
            "tasks",
            "templates",
            "two_levels",
            "virtual_calls",
        ],
    },
];

impl Way {
    fn suits(self, program: &Program) -> bool {
        program.suits(self.kind)
            && (self.programs.is_empty() || self.programs.contains(&&*program.name))
    }
}

/// The tests' shared state.
struct Bench {
    sources: PathBuf,
    scratch: PathBuf,
    plugins: PathBuf,
    pieces: PathBuf,
    clang: String,
    limit: Duration,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(sources: &Path) -> Result<Self, String> {
        let clang = env::var("REVOFF_CLANG").unwrap_or_default();
        let clang = if clang.is_empty() {
            "clang-22".to_owned()
        } else {
            clang
        };
        for (tool, package) in [
            (clang.as_str(), "clang-22 libomp-22-dev liboffload-22-dev"),
            ("clang-linker-wrapper-22", "clang-tools-22"),
            ("ld.lld-22", "lld-22"),
        ] {
            let found = Command::new(tool).arg("--version").output();
            found.map_err(|_| format!("no {tool} (apt-get install {package})"))?;
        }
        let named = |variable: &str, file: &str| {
            let folder = folder(variable, file).ok_or_else(|| format!("{variable} is not set"))?;
            let there = folder.canonicalize();
            there.map_err(|error| format!("{variable}={}: {error}", folder.display()))
        };
        let plugins = named("REVOFF_LIBOMPTARGET_DIR", LIBOMPTARGET)?;
        let pieces = named("REVOFF_TEST_PIECES", "include/revoff_openmp.h")?;
        for way in WAYS {
            let piece = pieces.join(way.arch).join("openmp.cfg");
            if !piece.exists() {
                return Err(format!(
                    "no {}: the pieces were made without LLVM 19's device runtime (Debian's \
                     libomp-19-dev, which ci/setup fetches)",
                    piece.display()
                ));
            }
        }
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clang-device");
        fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        Ok(Self {
            sources: sources.to_owned(),
            scratch,
            plugins,
            pieces,
            clang,
            limit: limit(),
        })
    }

    /// Compiles a program with options; returns the executable.
    fn build(&self, program: &Program, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let file = self.scratch.join(format!("{}.{name}", program.name));
        let mut clang = Command::new(&self.clang);
        clang
            .args(options)
            .args(["-Wall", "-Wno-pass-failed", "-Wno-openmp-mapping"]);
        clang.arg("-o").arg(&file);
        clang.arg(self.sources.join(&program.file));
        if program.language == Language::Cxx {
            clang.args(["-std=c++17", "-lstdc++"]);
        }
        complete(clang.arg("-lm"))?;
        Ok(file)
    }

    fn run(&self, file: &Path, program: &Program, device: Option<&str>) -> Result<Outcome, String> {
        let mut command = Command::new(file);
        prepare(&mut command, program);
        command.env("KMP_WARNINGS", "0");
        // On the host, more threads than processors would spin in each barrier.
        command.env("OMP_WAIT_POLICY", "passive");
        if let Some(device) = device {
            command.env("LD_LIBRARY_PATH", &self.plugins);
            command.env("REVOFF_DEVICE", device);
            command.env("OMP_TARGET_OFFLOAD", "MANDATORY");
        }
        let outcome = run(&mut command, self.limit);
        let outcome = outcome.map_err(|error| format!("{command:?}: {error}"))?;
        match outcome.status {
            Some(status) if status.success() && !outcome.stdout.is_empty() => Ok(outcome),
            _ => {
                let fault = format!("{command:?}: {:?}", outcome.status);
                Err(format!("{fault}\n{}", program_output(&outcome)))
            }
        }
    }

    /// Whether a program prints the same as on the host.
    fn check(&self, program: &Program, way: Way) -> Result<(), String> {
        let name = format!("{}{}", way.arch, way.level);
        let config = if CALLING.contains(&&*program.name) {
            "openmp-calls.cfg"
        } else {
            "openmp.cfg"
        };
        let config = self.pieces.join(way.arch).join(config);
        let config = format!("--config={}", config.display());
        let file = self.build(program, &name, &[&config, way.level])?;
        let device = way.device;
        let ours = self.run(&file, program, Some(device))?;
        let include = format!("-I{}", self.pieces.join("include").display());
        let name = format!("host{}-{}", way.level, way.arch);
        let options = ["-fopenmp", LLD, &include];
        let host = self.build(program, &name, &options)?;
        let host = self.run(&host, program, None)?;
        if host.stdout != ours.stdout {
            return Err(format!(
                "it does not print what it does on the host\n== host:\n{}\n== {device}:\n{}",
                program_output(&host),
                program_output(&ours)
            ));
        }
        Ok(())
    }

    /// A program that prints where it runs must be detected as different: its region runs on the
    /// device.
    fn guard(&self) -> Result<(), String> {
        let mut program = Program::parse("differs.c", "")?;
        program.file = "parts/differs.c".to_owned();
        match self.check(&program, WAYS[0]) {
            Err(told) if told.starts_with("it does not print what") => Ok(()),
            found => Err(format!("the difference was not found: {found:?}")),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("clang_device");
    let programs = match Program::all(&sources) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&sources).map(Arc::new);
    let mut trials = Vec::new();
    for program in &programs {
        for way in WAYS.into_iter().filter(|way| way.suits(program)) {
            let name = format!("{}::{}::{}", way.arch, &way.level[1..], program.name);
            let program = program.clone();
            trials.push(test(bench.as_ref().ok(), name, move |bench| {
                bench.check(&program, way)
            }));
        }
    }
    let guard = "guard::a_difference_is_found".to_owned();
    trials.push(test(bench.as_ref().ok(), guard, Bench::guard));
    if let Err(reason) = &bench {
        say(&format!(
            "SKIPPED clang_device, {} tests counted as ignored: {reason}",
            trials.len()
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
