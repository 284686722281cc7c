//! Compares the cost of dependent tasks, resolved by devices and by libomp:
//!
//!     bench-depend [--rounds N]
//!
//! Builds `tests/compat/bench/depend.c` with clang, and runs it in two pairs of ways, alternately:
//! on an emulated GPU with `REVOFF_DEPEND=host` and `=device`, and, built for the host, with LLVM's
//! library and with ours before libomp. `REVOFF_LIBOMPTARGET_DIR` names the folder with ours,
//! `REVOFF_TEST_PIECES` the folder with the pieces for GPU images, without which the first pair is
//! left out. A figure is the median of the rounds, and a ratio the median of their ratios; nothing
//! is judged.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use compat::{Build, Clang, LIBOMPTARGET, Program, folder, prepare, run, say};

/// How long a run of the program may take.
const LIMIT: Duration = Duration::from_secs(300);

/// The option for the number of rounds.
const ROUNDS: &str = "--rounds";

/// A way to run the program: its name and its environment.
type Way = (&'static str, Vec<(&'static str, PathBuf)>);

/// Two ways, and the program that is run in both.
struct Pair {
    title: &'static str,
    program: PathBuf,
    ways: [Way; 2],
}

/// Nanoseconds of each shape in each round, in both ways.
type Times = BTreeMap<String, [Vec<f64>; 2]>;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let rounds = match &arguments[..] {
        [] => Some(5),
        [name, number] if name == ROUNDS => number.parse().ok().filter(|&rounds| rounds > 0),
        _ => None,
    };
    let Some(rounds) = rounds else {
        say(&format!(
            "error: {arguments:?} not understood\nusage: bench-depend [{ROUNDS} N]"
        ));
        return ExitCode::from(2);
    };
    let told = measure(rounds).and_then(|text| {
        let written = std::io::stdout().write_all(text.as_bytes());
        written.map_err(|error| error.to_string())
    });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn named(variable: &str, file: &str) -> Result<PathBuf, String> {
    let folder = folder(variable, file).ok_or_else(|| format!("{variable} is not set"))?;
    let there = folder.canonicalize();
    there.map_err(|error| format!("{variable}: {error}"))
}

fn measure(rounds: usize) -> Result<String, String> {
    let ours = named("REVOFF_LIBOMPTARGET_DIR", LIBOMPTARGET)?;
    let compat = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clang = Clang::find(&compat.join("bench"), &env::temp_dir())?;
    let program = Program::parse("depend.c", "")?;
    let mut pairs = Vec::new();
    match named("REVOFF_TEST_PIECES", "include/revoff_openmp.h") {
        Ok(pieces) => {
            let by = |who: &str| {
                vec![
                    ("LD_LIBRARY_PATH", ours.clone()),
                    ("REVOFF_DEVICE", "emu:sm_70".into()),
                    ("REVOFF_DEPEND", who.into()),
                ]
            };
            pairs.push(Pair {
                title: "emu, ours",
                program: for_a_gpu(compat, &pieces, clang.folder())?,
                ways: [("by the host", by("host")), ("by the device", by("device"))],
            });
        }
        Err(reason) => say(&format!("SKIPPED emu: {reason}")),
    }
    let first = vec![
        ("LD_LIBRARY_PATH", ours.clone()),
        ("LD_PRELOAD", ours.join(LIBOMPTARGET)),
    ];
    pairs.push(Pair {
        title: "host",
        program: clang.build(&program, Build::at("-O2"))?.join(&program.name),
        ways: [
            ("LLVM's", vec![("LD_LIBRARY_PATH", clang.stock()?)]),
            ("ours, first", first),
        ],
    });
    let mut text = String::new();
    for pair in &pairs {
        let mut times = Times::new();
        for round in 0..rounds {
            // The order alternates, since the second run finds caches warm.
            for way in [round % 2, (round + 1) % 2] {
                let mut command = Command::new(&pair.program);
                prepare(&mut command, &program);
                command.env("KMP_WARNINGS", "0");
                command.envs(pair.ways[way].1.iter().map(|(name, value)| (name, value)));
                let outcome = run(&mut command, LIMIT).map_err(|error| error.to_string())?;
                if !outcome.status.is_some_and(|status| status.success()) {
                    let (title, stderr) = (pair.ways[way].0, &outcome.stderr);
                    return Err(format!("{title}: {:?}\n{stderr}", outcome.status));
                }
                add(&mut times, &outcome.stdout, way)?;
            }
        }
        text += &table(pair, &times);
    }
    Ok(text)
}

/// Builds the program for a GPU, like programs that call the host.
fn for_a_gpu(compat: &Path, pieces: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut make = Command::new("make");
    make.current_dir(folder).args(["--always-make", "-f"]);
    make.arg(compat.join("device_calls/Makefile"));
    make.arg(format!("VPATH={}", compat.join("bench").display()));
    make.arg(format!("PIECES={}", pieces.display()));
    make.args(["CFLAGS=-O2", "ARCHES=sm_70", "depend.gpu"]);
    let output = make.output().map_err(|error| format!("make: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("make depend.gpu: {stderr}"));
    }
    Ok(folder.join("depend.gpu"))
}

/// Adds the lines of a run.
fn add(times: &mut Times, lines: &str, way: usize) -> Result<(), String> {
    for line in lines.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let time = match words[..] {
            [_, _, time] => time.parse().ok(),
            _ => None,
        };
        let time = time.ok_or_else(|| format!("not understood: {line:?}"))?;
        times.entry(words[0].to_owned()).or_default()[way].push(time);
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn table(pair: &Pair, times: &Times) -> String {
    let [(first, _), (second, _)] = &pair.ways;
    let mut text = format!(
        "{:<12}{:>18}{:>18}{:>8}\n",
        pair.title,
        format!("{first}, ns"),
        format!("{second}, ns"),
        "ratio"
    );
    for (name, [before, after]) in times {
        let ratios = before
            .iter()
            .zip(after)
            .map(|(before, after)| after / before);
        let ratio = median(ratios.collect());
        let (before, after) = (median(before.clone()), median(after.clone()));
        text += &format!("{name:<12}{before:>18.0}{after:>18.0}{ratio:>8.2}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_rounds() {
        let mut times = Times::new();
        for (before, after) in [(10, 20), (40, 10), (10, 15)] {
            add(&mut times, &format!("chain 5 {before}.0\n"), 0).expect("a line");
            add(&mut times, &format!("chain 5 {after}.0\n"), 1).expect("a line");
        }
        let pair = Pair {
            title: "it",
            program: PathBuf::new(),
            ways: [("one", Vec::new()), ("other", Vec::new())],
        };
        let text = table(&pair, &times);
        assert!(text.contains("1.50\n"), "{text}");
        assert!(add(&mut times, "chain 5\n", 0).is_err());
    }
}
