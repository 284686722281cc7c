//! CUDA C++ that clang compiles, run on the emulated driver with our runtime library: each of `cuda/`, without and
//! with optimisation. NVIDIA's headers and tools are not needed: `cuda/parts/runtime.h` declares the functions.
//!
//! - `REVOFF_CUDA_DIR`: the folder with `libcuda.so.1` and `libcudart.so.12` (`emulated` in that of `cargo xtask
//!   plugins --out ..`); without it nothing is run;
//! - `REVOFF_CLANG`: the compiler, if not the clang-22 of `PATH`;
//! - `REVOFF_TEST_SECONDS`: the time limit of a program (60).

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{Outcome, Program, complete, fails, folder, judge, limit, prepare, run, say, test};
use libtest_mimic::{Arguments, Trial};
use object::{Object, ObjectSymbol, SymbolKind};
use test_fatbin::{Image, Stored};

/// The optimisation levels, and how the text is stored.
const BUILDS: [(&str, Stored); 2] = [("-O2", Stored::Zstd), ("-O0", Stored::Plain)];

/// The architecture of the text; the GPU is a newer one.
const ARCH: u32 = 70;

/// The file that programs are linked with.
const RUNTIME: &str = "libcudart.so.12";

/// The functions of NVIDIA's library of CUDA 12.9.
const EXPORTS: &str = "parts/exports.txt";

/// The program to test the verdicts with.
const TRIED: &str = "vector_add";

/// The tests' shared state.
struct Bench {
    sources: PathBuf,
    scratch: PathBuf,
    libraries: PathBuf,
    clang: String,
    limit: Duration,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(sources: &Path) -> Result<Self, String> {
        let clang = env::var("REVOFF_CLANG").unwrap_or_default();
        let clang = match &*clang {
            "" => "clang-22".to_owned(),
            _ => clang,
        };
        let found = Command::new(&clang).arg("--version").output();
        found.map_err(|_| format!("no {clang} (apt-get install clang-22)"))?;
        let libraries = folder("REVOFF_CUDA_DIR", RUNTIME).ok_or("REVOFF_CUDA_DIR is not set")?;
        // Programs are run in other folders.
        let libraries = libraries.canonicalize();
        Ok(Self {
            sources: sources.to_owned(),
            scratch: Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda"),
            libraries: libraries.map_err(|error| format!("REVOFF_CUDA_DIR: {error}"))?,
            clang,
            limit: limit(),
        })
    }

    /// A call of the compiler for one side.
    fn compiler(&self, program: &Program, level: &str) -> Command {
        let mut clang = Command::new(&self.clang);
        clang.args([
            "-x",
            "cuda",
            "-nocudainc",
            "-nocudalib",
            "-std=c++17",
            level,
        ]);
        clang.args(["-Wall", "-Wextra", "-Werror", "-Wno-sign-compare"]);
        clang.arg(format!("--cuda-gpu-arch=sm_{ARCH}"));
        // The version of CUDA decides how a launch is compiled.
        clang.args(["-Xclang", "-target-sdk-version=12.9"]);
        clang.arg(self.sources.join(&program.file));
        clang
    }

    /// Builds a program as nvcc does: the text for the GPU, a fatbin with it, and the rest around that.
    fn build(&self, program: &Program, (level, stored): (&str, Stored)) -> Result<PathBuf, String> {
        let folder = self.scratch.join(&level[1..]);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let at = |kind: &str| folder.join(format!("{}.{kind}", program.name));
        let (ptx, fatbin, binary) = (at("ptx"), at("fatbin"), at("run"));
        let mut device = self.compiler(program, level);
        device.args(["--cuda-device-only", "-S", "--cuda-feature=+ptx63", "-o"]);
        complete(device.arg(&ptx))?;
        let mut text = fs::read(&ptx).map_err(|error| error.to_string())?;
        text.push(0);
        let image = Image {
            kind: 1,
            arch: ARCH,
            version: (6, 3),
            flags: 0,
            identifier: b"",
            options: None,
            bytes: &text,
            stored,
        };
        let written = fs::write(&fatbin, test_fatbin::write(&[image.entry()]));
        written.map_err(|error| error.to_string())?;
        let mut host = self.compiler(program, level);
        host.arg("--cuda-host-only");
        for argument in ["-fcuda-include-gpubinary".as_ref(), fatbin.as_os_str()] {
            host.arg("-Xclang").arg(argument);
        }
        let library = self.libraries.join(RUNTIME);
        host.args(["-Xlinker".as_ref(), library.as_os_str()]);
        complete(host.arg("-o").arg(&binary))?;
        Ok(binary)
    }

    fn run(&self, program: &Program, file: &Path, libraries: &Path) -> Result<Outcome, String> {
        let mut command = Command::new(file);
        prepare(&mut command, program);
        command.env("LD_LIBRARY_PATH", libraries);
        run(&mut command, self.limit).map_err(|error| format!("{command:?}: {error}"))
    }

    fn check(&self, program: &Program, build: (&str, Stored)) -> Result<(), String> {
        let file = self.build(program, build)?;
        judge(program, &self.run(program, &file, &self.libraries)?)
    }

    /// The runtime has the functions of NVIDIA's: a program that uses a missing one could not be linked.
    fn check_exports(&self) -> Result<(), String> {
        let stored = self.sources.join(EXPORTS);
        let stored = fs::read_to_string(&stored)
            .map_err(|error| format!("{}: {error}", stored.display()))?;
        let library = self.libraries.join(RUNTIME);
        let bytes = fs::read(&library).map_err(|error| error.to_string())?;
        let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
        let symbols = file
            .dynamic_symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let exported: BTreeSet<_> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
        let expected: BTreeSet<_> = stored.lines().collect();
        let missing: Vec<_> = expected.difference(&exported).collect();
        let more: Vec<_> = exported.difference(&expected).collect();
        match missing.is_empty() && more.is_empty() {
            true => Ok(()),
            false => Err(format!("missing: {missing:?}; not NVIDIA's: {more:?}")),
        }
    }

    /// Without a driver, the program must fail.
    fn guard(&self, program: &Program) -> Result<(), String> {
        let file = self.build(program, BUILDS[0])?;
        let alone = self.scratch.join("alone");
        let made = fs::create_dir_all(&alone)
            .and_then(|()| fs::copy(self.libraries.join(RUNTIME), alone.join(RUNTIME)))
            // No driver of the machine's own.
            .and_then(|_| fs::write(alone.join("libcuda.so.1"), ""));
        made.map_err(|error| format!("{}: {error}", alone.display()))?;
        fails(
            program,
            &self.run(program, &file, &alone)?,
            "cudaErrorInsufficientDriver",
        )
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda");
    let programs = match Program::all(&sources) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&sources).map(Arc::new);
    let found = bench.as_ref().ok();
    let mut trials: Vec<Trial> = Vec::new();
    for program in &programs {
        for build in BUILDS {
            let name = format!("{}::{}", &build.0[1..], program.name);
            let program = program.clone();
            trials.push(test(found, name, move |bench| bench.check(&program, build)));
        }
    }
    let tried = Program::named(&programs, TRIED);
    let name = "guard::no_driver".to_owned();
    trials.push(test(found, name, move |bench| bench.guard(&tried?)));
    let name = "exports::those_of_nvidia".to_owned();
    trials.push(test(found, name, Bench::check_exports));
    if let Err(reason) = &bench {
        let count = trials.len();
        say(&format!(
            "SKIPPED cuda, {count} tests counted as ignored: {reason}"
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
