//! OpenMP programs that clang compiles for this machine's processor, run with LLVM's libomptarget
//! and with ours instead: each of `clang/`, without and with optimisation.
//!
//! - `REVOFF_LIBOMPTARGET_DIR`: the folder with ours (`cargo xtask plugins --out ..`). Without
//!   it the programs are run only with LLVM's, and nothing is compared.
//! - `REVOFF_CLANG`: the compiler, if not the clang-22 of `PATH`.
//! - `REVOFF_TEST_SECONDS`: the time limit of a program (60).

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use compat::{
    Build, Cache, Clang, Ending, Key, LIBOMPTARGET, Language, Outcome, Program, Reports, compare,
    folder, judge, limit, prepare, run, say, test,
};
use libtest_mimic::{Arguments, Trial};

/// The builds of each program.
const BUILDS: [Build; 2] = [Build::at("-O2"), Build::at("-O0")];

/// The variable that names the folder with our library.
const OURS: &str = "REVOFF_LIBOMPTARGET_DIR";

/// Programs for GCC without reverse offload.
const SHARED: [&str; 1] = ["../gcc/not_required.c"];

/// A library used instead of ours that never runs a region, to test the verdicts.
const STAND_IN: &str = "parts/stand_in.c";

/// The program to test the verdicts with.
const TRIED: &str = "map_kinds";

/// The program for the test of traces.
const TRACED: &str = "profiled";

/// A program without OpenMP, and a library with OpenMP that it loads.
const LOADER: [&str; 2] = ["parts/loads_tasks.c", "parts/tasks_alone.c"];

/// How often a program that hangs with LLVM's library is retried.
const TRIES: usize = 3;

/// The prefix of programs with dependent tasks. They are also run with ours before libomp, where it
/// sees the dependences.
const DEPEND: &str = "depend";

/// The level for all reports.
const ALL: &str = "-1";

/// The runs of a program: a plain one and, if it is compared, one with a report.
type Runs = Vec<Outcome>;

/// The place where a program finds a library.
#[derive(Clone, Copy)]
enum Place {
    /// In the place of LLVM's library.
    Usual,
    /// Before all other libraries.
    First,
}

/// The tests' shared state.
struct Bench {
    clang: Clang,
    stock: PathBuf,
    ours: Option<PathBuf>,
    limit: Duration,
    built: Cache<Key, PathBuf>,
    /// Runs with LLVM's library, with which ours are compared.
    runs: Cache<Key, Runs>,
}

impl Bench {
    /// # Errors
    /// The missing part; a description.
    fn new(sources: &Path, programs: &[Program]) -> Result<Self, String> {
        let ours = folder(OURS, LIBOMPTARGET);
        let ours = ours.map(|ours| {
            ours.canonicalize()
                .map_err(|error| format!("{OURS}: {error}"))
        });
        let clang = Clang::find(sources, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        Ok(Self {
            stock: clang.stock()?,
            clang,
            ours: ours.transpose()?,
            limit: limit(),
            built: Cache::of_programs(programs, &BUILDS),
            runs: Cache::of_programs(programs, &BUILDS),
        })
    }

    /// Runs a program with a library.
    fn run(
        &self,
        program: &Program,
        build: Build,
        library: &Path,
        place: Place,
    ) -> Result<Runs, String> {
        let folder = self.built.get(&(program.name.clone(), build), || {
            self.clang.build(program, build)
        })?;
        let once = |info: Option<&str>| {
            let mut command = Command::new(format!("./{}", program.name));
            command.current_dir(folder);
            prepare(&mut command, program);
            command.env("LD_LIBRARY_PATH", library);
            if let Place::First = place {
                command.env("LD_PRELOAD", library.join(LIBOMPTARGET));
                // By default, libomp resolves all dependences on `host` devices.
                command.env("REVOFF_DEPEND", "device");
            }
            command.envs(info.map(|info| ("LIBOMPTARGET_INFO", info)));
            run(&mut command, self.limit).map_err(|error| format!("{command:?}: {error}"))
        };
        let mut runs = vec![once(None)?];
        // LLVM's may hang while it reports on several threads.
        if program.reports != Reports::Free {
            runs.push(once(Some(ALL))?);
        }
        Ok(runs)
    }

    /// The runs of a program with LLVM's library, made once.
    fn stock(&self, program: &Program, build: Build) -> Result<&Runs, String> {
        self.runs.get(&(program.name.clone(), build), || {
            // LLVM's hangs sometimes, which is not an error of ours.
            let mut tries = (0..TRIES).map(|_| self.run(program, build, &self.stock, Place::Usual));
            let ended = |runs: &Result<Runs, _>| {
                let runs = runs.as_ref();
                runs.is_ok_and(|runs: &Runs| runs.iter().all(|run| run.status.is_some()))
            };
            let mut last = Err("it was not run".to_owned());
            while !ended(&last)
                && let Some(next) = tries.next()
            {
                last = next;
            }
            last
        })
    }

    /// Judges a program with LLVM's library.
    fn judge_stock(&self, program: &Program, build: Build) -> Result<(), String> {
        let mut expected = program.clone();
        if let Some(ending) = program.stock {
            expected.ending = ending;
            expected.output.clear();
        }
        let runs = self.stock(program, build)?;
        runs.iter().try_for_each(|run| judge(&expected, run))
    }

    /// Judges a program with a library, and compares it with LLVM's.
    fn judge(
        &self,
        program: &Program,
        build: Build,
        library: &Path,
        place: Place,
    ) -> Result<(), String> {
        let ours = self.run(program, build, library, place)?;
        ours.iter().try_for_each(|ours| judge(program, ours))?;
        if program.stock == Some(Ending::Any) {
            return Ok(());
        }
        let stock = self.stock(program, build)?;
        let mut pairs = stock.iter().zip(&ours);
        pairs.try_for_each(|(stock, ours)| compare(program, stock, ours))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("clang");
    let programs = match programs(&sources) {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let bench = Bench::new(&sources, &programs).map(Arc::new);
    let found = bench.as_ref().ok();
    // Errors are tested in one build only.
    let builds = || {
        BUILDS.iter().flat_map(|&build| {
            let fits = move |program: &&Program| build == BUILDS[0] || program.ending == Ending::Ok;
            programs
                .iter()
                .filter(fits)
                .map(move |program| (build, program))
        })
    };
    // Ours uses LLVM's builds: alternating would make one wait for the other.
    let defined = builds().filter(|(_, program)| program.stock != Some(Ending::Any));
    let mut trials: Vec<_> = defined
        .map(|(build, program)| with_stock(found, build, program))
        .collect();
    let plain = trials.len();
    trials.extend(builds().map(|(build, program)| with_ours(found, build, program)));
    let depending = programs
        .iter()
        .filter(|program| program.name.starts_with(DEPEND));
    let first: Vec<_> = depending
        .flat_map(|program| BUILDS.map(|build| before_libomp(found, build, program)))
        .collect();
    let compared = trials.len() - plain + first.len();
    trials.extend(first);
    trials.extend(guards(found, &programs));
    trials.push(profile(found, &programs));
    trials.push(loaded_alone(found));
    match &bench {
        Ok(bench) => {
            say(&format!("compiled by {}", bench.clang.name()));
            if bench.ours.is_none() {
                say(&format!(
                    "SKIPPED clang, {} comparisons counted as ignored: {OURS} is not set \
                     (cargo xtask plugins --out FOLDER builds the library)",
                    compared
                ));
            }
        }
        Err(reason) => say(&format!(
            "SKIPPED clang, {} tests counted as ignored: {reason}",
            trials.len()
        )),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The programs that clang compiles.
fn programs(sources: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Program::all(sources)?;
    for file in SHARED {
        let text = std::fs::read_to_string(sources.join(file));
        let text = text.map_err(|error| format!("{file}: {error}"))?;
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut program = Program::parse(name, &text)?;
        program.file = file.to_owned();
        programs.push(program);
    }
    // None of clang's programs is in Fortran, which needs another driver.
    match programs
        .iter()
        .find(|program| program.language == Language::Fortran)
    {
        Some(program) => Err(format!("{}: clang compiles no Fortran", program.file)),
        None => Ok(programs),
    }
}

/// The test of a program with LLVM's library.
fn with_stock(bench: Option<&Arc<Bench>>, build: Build, program: &Program) -> Trial {
    let name = format!("llvm::{}::{}", build.folder(), program.name);
    let program = program.clone();
    test(bench, name, move |bench| bench.judge_stock(&program, build))
}

/// The test of a program with ours.
fn with_ours(bench: Option<&Arc<Bench>>, build: Build, program: &Program) -> Trial {
    let name = format!("ours::{}::{}", build.folder(), program.name);
    let compared = bench.is_some_and(|bench| bench.ours.is_some());
    let program = program.clone();
    test(bench, name, move |bench| {
        let ours = bench.ours.as_deref().ok_or("what it needs is missing")?;
        bench.judge(&program, build, ours, Place::Usual)
    })
    .with_ignored_flag(!compared)
}

/// The additional test of a program with dependences: with ours before libomp.
fn before_libomp(bench: Option<&Arc<Bench>>, build: Build, program: &Program) -> Trial {
    let name = format!("before_libomp::{}::{}", build.folder(), program.name);
    let compared = bench.is_some_and(|bench| bench.ours.is_some());
    let program = program.clone();
    test(bench, name, move |bench| {
        let ours = bench.ours.as_deref().ok_or("what it needs is missing")?;
        bench.judge(&program, build, ours, Place::First)
    })
    .with_ignored_flag(!compared)
}

/// Ours is loaded before a libomp that came with a library and is invisible to others.
fn loaded_alone(bench: Option<&Arc<Bench>>) -> Trial {
    let compared = bench.is_some_and(|bench| bench.ours.is_some());
    let name = "before_libomp::loaded_alone".to_owned();
    test(bench, name, move |bench| {
        let ours = bench.ours.as_deref().ok_or("what it needs is missing")?;
        let program = Program::parse(LOADER[0], "")?;
        let mut command = Command::new("./loader");
        command.current_dir(bench.clang.loader(LOADER[0], LOADER[1])?);
        prepare(&mut command, &program);
        command.env("LD_PRELOAD", ours.join(LIBOMPTARGET));
        command.env("REVOFF_DEPEND", "device");
        let ran = run(&mut command, bench.limit).map_err(|error| error.to_string())?;
        judge(&program, &ran)
    })
    .with_ignored_flag(!compared)
}

/// Wrong libraries must be detected.
fn guards(bench: Option<&Arc<Bench>>, programs: &[Program]) -> [Trial; 2] {
    let fails = |told: Result<(), String>, reason: &str| {
        let told = told.err().ok_or("it passed")?;
        match told.contains(reason) {
            true => Ok(()),
            false => Err(format!("it did not say {reason:?}: {told}")),
        }
    };
    let one = Program::named(programs, TRIED);
    let other = one.clone();
    [
        test(bench, "guard::runs_on_the_host".to_owned(), move |bench| {
            let library = bench.clang.stand_in(STAND_IN)?;
            let told = bench.judge(&one?, BUILDS[0], &library, Place::Usual);
            fails(told, "it ended with")
        }),
        test(bench, "guard::no_library".to_owned(), move |bench| {
            let library = bench.clang.folder().join("none");
            let written = std::fs::create_dir_all(&library)
                .and_then(|()| std::fs::write(library.join(LIBOMPTARGET), ""));
            written.map_err(|error| format!("{}: {error}", library.display()))?;
            let told = bench.judge(&other?, BUILDS[0], &library, Place::Usual);
            fails(told, "file too short")
        }),
    ]
}

/// The trace of a program with ours has its copy to the device, the kernel, and the copy back, in
/// this order; also the routines that it calls, totals, and its thread's name. `NONE` is the field
/// of a missing event.
static NONE: serde_json::Value = serde_json::Value::Null;

fn profile(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Trial {
    let compared = bench.is_some_and(|bench| bench.ours.is_some());
    let program = Program::named(programs, TRACED);
    let name = "profile::copies_around_the_kernel".to_owned();
    test(bench, name, move |bench| {
        let program = program?;
        let ours = bench.ours.as_deref().ok_or("what it needs is missing")?;
        let build = BUILDS[0];
        let folder = bench.built.get(&(program.name.clone(), build), || {
            bench.clang.build(&program, build)
        })?;
        let file = folder.join("trace.json");
        let mut command = Command::new(format!("./{}", program.name));
        command.current_dir(folder);
        prepare(&mut command, &program);
        command.env("LD_LIBRARY_PATH", ours);
        command.env("LIBOMPTARGET_PROFILE", &file);
        let ran = run(&mut command, bench.limit).map_err(|error| error.to_string())?;
        judge(&program, &ran)?;
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let trace: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let events = trace["traceEvents"].as_array();
        let first = |name: &str| {
            let mut events = events.into_iter().flatten();
            events.find(|event| event["name"] == name)?["ts"].as_f64()
        };
        let has = |name: &str| match first(name) {
            Some(_) => Ok(()),
            None => Err(format!("no {name}: {text}")),
        };
        has("omp_target_memcpy")?;
        has("omp_target_alloc")?;
        has("omp_target_free")?;
        let find = |name: &str| {
            let mut events = events.into_iter().flatten();
            events.find(|event| event["name"] == name).unwrap_or(&NONE)
        };
        let (total, thread) = (find("Total Kernel Target"), find("thread_name"));
        let is_counted = total["args"]["count"] == 1 && total["dur"].as_f64() > Some(0.0);
        let is_named = thread["args"]["name"] == program.name.as_str();
        if !is_counted || !is_named {
            return Err(format!("total: {total}; thread: {thread}"));
        }
        if trace["beginningOfTime"]
            .as_u64()
            .is_none_or(|time| time == 0)
        {
            return Err(format!("no beginningOfTime: {text}"));
        }
        match (
            first("HostToDev"),
            first("Kernel Target"),
            first("DevToHost"),
        ) {
            (Some(to), Some(kernel), Some(from)) if to < kernel && kernel < from => Ok(()),
            _ => Err(format!("not in order: {text}")),
        }
    })
    .with_ignored_flag(!compared)
}
