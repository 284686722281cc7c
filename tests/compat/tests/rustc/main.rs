//! Programs that rustc offloads, run with LLVM's libomptarget and with ours instead: each of
//! `rustc/`, by each installed rustc of a known version.
//!
//! The environment is that of the tests of clang's programs; that compiler also provides the path
//! of LLVM's library.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use compat::{
    Cache, Clang, LIBOMPTARGET, Program, Rustc, folder, judge, limit, prepare, run, say, test,
};
use libtest_mimic::{Arguments, Trial};

const OURS: &str = "REVOFF_LIBOMPTARGET_DIR";

/// The program whose numbers LLVM's library only handles correctly with a later rustc.
const SCALARS: (&str, u32) = ("scalars", 97);

/// The tests' shared state.
struct Bench {
    clang: Clang,
    sources: PathBuf,
    stock: PathBuf,
    ours: Option<PathBuf>,
    /// By version of rustc and name.
    built: Cache<(u32, String), PathBuf>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(sources: &Path, all: &[Rustc], programs: &[Program]) -> Result<Self, String> {
        let ours = folder(OURS, LIBOMPTARGET);
        let ours = ours.map(|ours| {
            ours.canonicalize()
                .map_err(|error| format!("{OURS}: {error}"))
        });
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let clang = Clang::find(sources, scratch)?;
        let keys = all.iter().flat_map(|rustc| {
            let names = programs.iter().map(|program| program.name.clone());
            names.map(|name| (rustc.version(), name))
        });
        Ok(Self {
            built: Cache::new(keys),
            stock: clang.stock()?,
            clang,
            sources: sources.to_owned(),
            ours: ours.transpose()?,
        })
    }

    /// Builds a program, and runs it with a library.
    fn judge(&self, rustc: &Rustc, program: &Program, library: &Path) -> Result<(), String> {
        let key = (rustc.version(), program.name.clone());
        let folder = self.built.get(&key, || {
            let linked = self.stock.join(LIBOMPTARGET);
            rustc.build(program, &self.sources, &linked, self.clang.folder())
        })?;
        let mut command = Command::new(format!("./{}", program.name));
        command.current_dir(folder);
        prepare(&mut command, program);
        command.env("LD_LIBRARY_PATH", library);
        let outcome =
            run(&mut command, limit()).map_err(|error| format!("{command:?}: {error}"))?;
        judge(program, &outcome)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("rustc");
    let programs: Vec<_> = match Program::all(&sources) {
        // The other sources are their kernels.
        Ok(programs) => programs
            .into_iter()
            .filter(|program| program.file.ends_with(".rs"))
            .collect(),
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let all = Rustc::all();
    let bench = Bench::new(&sources, &all, &programs).map(Arc::new);
    let found = bench.as_ref().ok();
    for version in [96, 97] {
        if !all.iter().any(|rustc| rustc.version() == version) {
            say(&format!(
                "SKIPPED rustc, {} tests not run: no rustc 1.{version}",
                2 * programs.len()
            ));
        }
    }
    let pairs = all.iter().flat_map(|rustc| {
        let programs = programs.iter();
        programs.map(move |program| pair(found, rustc, program))
    });
    // As with clang's programs, a pair shares a build.
    let (mut trials, ours): (Vec<_>, Vec<_>) = pairs.map(Into::into).unzip();
    trials.extend(ours);
    let compared = match &bench {
        Err(reason) => Err(reason.clone()),
        Ok(bench) if bench.ours.is_none() => Err(format!("{OURS} is not set")),
        Ok(_) => Ok(()),
    };
    let ignored = trials.iter().filter(|trial| trial.has_ignored_flag());
    if let Err(reason) = compared {
        let count = ignored.count();
        say(&format!(
            "SKIPPED rustc, {count} tests counted as ignored: {reason}"
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The tests of a program: with LLVM's library, and with ours.
fn pair(bench: Option<&Arc<Bench>>, rustc: &Rustc, program: &Program) -> [Trial; 2] {
    let version = rustc.version();
    let name = |library: &str| format!("{library}::rustc_1_{version}::{}", program.name);
    let is_right = program.name != SCALARS.0 || version >= SCALARS.1;
    let compared = bench.is_some_and(|bench| bench.ours.is_some());
    let (one, other) = (
        (rustc.clone(), program.clone()),
        (rustc.clone(), program.clone()),
    );
    [
        test(bench, name("llvm"), move |bench| {
            let told = bench.judge(&one.0, &one.1, &bench.stock);
            match (is_right, told) {
                (true, told) => told,
                // When LLVM's library is fixed, this exception can be removed.
                (false, Ok(())) => Err("LLVM's library gets its numbers right".to_owned()),
                (false, Err(_)) => Ok(()),
            }
        }),
        test(bench, name("ours"), move |bench| {
            let ours = bench.ours.as_deref().ok_or("what it needs is missing")?;
            bench.judge(&other.0, &other.1, ours)
        })
        .with_ignored_flag(!compared),
    ]
}
