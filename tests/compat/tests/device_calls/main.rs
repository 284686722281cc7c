//! OpenMP programs that clang compiles and whose target regions call host functions: each of
//! `device_calls/`, without and with optimisation, on the `host` device, on emulated GPUs, and
//! without devices. They are built like examples/openmp-c.
//!
//! - `REVOFF_LIBOMPTARGET_DIR`: the folder with our library (`cargo xtask plugins --out ..`),
//! - `REVOFF_TEST_PIECES`: the folder with the pieces for images (`cargo xtask images
//!   --pieces --arch sm_60,sm_70`): without either folder nothing is run;
//! - `REVOFF_CLANG`: the compiler, if not the clang-22 of `PATH`;
//! - `REVOFF_TEST_SECONDS`: the time limit of a program (60).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{
    Cache, Ending, LIBOMPTARGET, LLD, Outcome, Program, folder, judge, limit, prepare, run, say,
    test,
};
use libtest_mimic::Arguments;

/// The optimisation levels.
const LEVELS: [&str; 2] = ["-O2", "-O0"];

/// The GPUs of the images.
const GPUS: [&str; 2] = ["sm_60", "sm_70"];

/// The message of the program `calls` about a call that is not served:
/// `REVOFF_STATUS_NOT_OFFLOADED`.
const NOT_SERVED: &str = "statuses[i] is 6, expected ";

/// A way to run a program.
#[derive(Clone, Copy)]
struct Way {
    /// For users.
    name: &'static str,
    /// The value that matches a program's `only`.
    kind: &'static str,
    /// The kind of build.
    built: &'static str,
    /// `REVOFF_DEVICE`; `None` if its regions run on the host.
    device: Option<&'static str>,
    /// `REVOFF_DEPEND`, for programs with dependences.
    by: Option<&'static str>,
}

const fn way(
    name: &'static str,
    kind: &'static str,
    built: &'static str,
    device: Option<&'static str>,
) -> Way {
    Way {
        name,
        kind,
        built,
        device,
        by: None,
    }
}

/// The prefix of programs with dependent tasks.
const DEPEND: &str = "depend";

const WAYS: [Way; 7] = [
    way("host", "host", "host", Some("host")),
    way("emu_sm_60", "emu", "gpu", Some("emu:sm_60")),
    way("emu_sm_70", "emu", "gpu", Some("emu:sm_70")),
    way("amd", "amd", "amd", Some("emu")),
    way("no_device_host", "host", "host", None),
    way("no_device_gpu", "emu", "gpu", None),
    Way {
        by: Some("host"),
        ..way("emu_by_the_host", "emu", "gpu", Some("emu:sm_70"))
    },
];

impl Way {
    fn suits(self, program: &Program) -> bool {
        let only_amd = program.only.as_deref() == Some("amd");
        // Errors need a device.
        program.suits(self.kind)
            && only_amd == (self.kind == "amd")
            && (self.device.is_some() || program.ending == Ending::Ok)
            && (self.by.is_none() || program.name.starts_with(DEPEND))
    }
}

/// A program, the level of its build, and its way.
type Key = (String, &'static str, &'static str);

/// The tests' shared state.
struct Bench {
    sources: PathBuf,
    scratch: PathBuf,
    plugins: PathBuf,
    pieces: PathBuf,
    clang: String,
    limit: Duration,
    built: Cache<Key, PathBuf>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(sources: &Path, programs: &[Program]) -> Result<Self, String> {
        let clang = env::var("REVOFF_CLANG").unwrap_or_default();
        let clang = if clang.is_empty() {
            "clang-22".to_owned()
        } else {
            clang
        };
        for (tool, package) in [
            (clang.as_str(), "clang-22 libomp-22-dev"),
            ("llvm-offload-wrapper-22", "llvm-22"),
            ("clang-linker-wrapper-22", "clang-tools-22"),
            ("ld.lld-22", "lld-22"),
            ("make", "make"),
        ] {
            let found = Command::new(tool).arg("--version").output();
            found.map_err(|_| format!("no {tool} (apt-get install {package})"))?;
        }
        let mut where_is = Command::new(&clang);
        where_is.arg("-print-file-name=libomptarget.so");
        let said = where_is.output().map_err(|error| error.to_string())?.stdout;
        // clang repeats an unknown name.
        if !said.starts_with(b"/") {
            return Err("no libomptarget.so (apt-get install liboffload-22-dev)".to_owned());
        }
        let named = |variable: &str, file: &str| {
            let folder = folder(variable, file).ok_or_else(|| format!("{variable} is not set"))?;
            // Programs are built and run in other folders.
            let there = folder.canonicalize();
            there.map_err(|error| format!("{variable}={}: {error}", folder.display()))
        };
        let library = named("REVOFF_LIBOMPTARGET_DIR", LIBOMPTARGET)?;
        let pieces = named("REVOFF_TEST_PIECES", "include/revoff_openmp.h")?;
        for gpu in GPUS {
            let piece = pieces.join(gpu).join("revoff_piece.bc");
            assert!(piece.exists(), "REVOFF_TEST_PIECES: no {}", piece.display());
        }
        let keys = programs.iter().flat_map(|program| {
            LEVELS
                .into_iter()
                .flat_map(|level| WAYS.map(|way| (program.name.clone(), level, way.built)))
        });
        Ok(Self {
            sources: sources.to_owned(),
            scratch: Path::new(env!("CARGO_TARGET_TMPDIR")).join("device-calls"),
            plugins: library,
            pieces,
            clang,
            limit: limit(),
            built: Cache::new(keys),
        })
    }

    /// Builds a program, once.
    fn build(&self, program: &Program, level: &'static str, way: Way) -> Result<&Path, String> {
        let key = (program.name.clone(), level, way.built);
        let built = self.built.get(&key, || {
            let folder = self.scratch.join(&level[1..]);
            fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            let file = format!("{}.{}", program.name, way.built);
            let mut make = Command::new("make");
            make.current_dir(&folder).args(["--always-make", "-f"]);
            make.arg(self.sources.join("Makefile"));
            make.arg(format!("VPATH={}", self.sources.display()));
            make.arg(format!("PIECES={}", self.pieces.display()));
            make.arg(format!("CLANG={}", self.clang));
            make.arg(format!("ARCHES={}", GPUS.join(" ")));
            make.arg(format!("CFLAGS={level} -Wall -Wextra -Werror"));
            make.arg(format!("LDFLAGS={LLD}"));
            let output = make.arg(&file).output();
            let output = output.map_err(|error| format!("make: {error}"))?;
            if !output.status.success() {
                return Err(format!(
                    "make {file}: {}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
            Ok(folder.join(file))
        });
        built.map(PathBuf::as_path)
    }

    /// Runs a program with a library, or with LLVM's.
    fn run(&self, file: &Path, program: &Program, way: Way, ours: bool) -> Result<Outcome, String> {
        let mut command = Command::new(file);
        prepare(&mut command, program);
        // LLVM's runtime warns if a machine has fewer cores than a region requests.
        command.env("KMP_WARNINGS", "0");
        if ours {
            command.env("LD_LIBRARY_PATH", &self.plugins);
        } else {
            command.env_remove("LD_LIBRARY_PATH");
        }
        match way.device {
            Some(device) => command.env("REVOFF_DEVICE", device),
            None => command.env("OMP_TARGET_OFFLOAD", "DISABLED"),
        };
        command.envs(way.by.map(|by| ("REVOFF_DEPEND", by)));
        run(&mut command, self.limit).map_err(|error| format!("{command:?}: {error}"))
    }

    /// Judges a program.
    fn check(&self, program: &Program, level: &'static str, way: Way) -> Result<(), String> {
        let file = self.build(program, level, way)?;
        judge(program, &self.run(file, program, way, true)?)
    }

    /// LLVM's own library does not serve the calls, which must be detected.
    fn guard(&self, program: &Program) -> Result<(), String> {
        let file = self.build(program, LEVELS[0], WAYS[0])?;
        match judge(program, &self.run(file, program, WAYS[0], false)?) {
            Ok(()) => Err("with LLVM's library it passed".to_owned()),
            // Other errors, such as a missing library, do not count.
            Err(told) if told.contains(NOT_SERVED) => Ok(()),
            Err(told) => Err(format!("it did not say {NOT_SERVED:?}: {told}")),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("device_calls");
    let programs = match Program::all(&sources) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&sources, &programs).map(Arc::new);
    let mut trials = Vec::new();
    for program in &programs {
        for way in WAYS.into_iter().filter(|way| way.suits(program)) {
            for level in LEVELS {
                let name = format!("{}::{}::{}", way.name, &level[1..], program.name);
                let program = program.clone();
                trials.push(test(bench.as_ref().ok(), name, move |bench| {
                    bench.check(&program, level, way)
                }));
            }
        }
    }
    let calls = Program::named(&programs, "calls");
    let name = "guard::calls_that_nobody_serves".to_owned();
    trials.push(test(bench.as_ref().ok(), name, move |bench| {
        bench.guard(&calls?)
    }));
    if let Err(reason) = &bench {
        say(&format!(
            "SKIPPED device_calls, {} tests counted as ignored: {reason}",
            trials.len()
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
