//! Compares the cost of our libomptarget with LLVM's:
//!
//!     bench-libomptarget [--json] [--rounds N]
//!
//! Builds the programs of `tests/compat/bench` with clang and, if there is one, a rustc that
//! offloads, and runs them with both libraries alternately, so that other load of the machine
//! affects both. `REVOFF_LIBOMPTARGET_DIR` names the folder with ours. A figure is the median of
//! the rounds; nothing is judged.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use compat::{Build, Clang, LIBOMPTARGET, Program, Rustc, folder, prepare, run, say};
use serde_json::json;

const OURS: &str = "REVOFF_LIBOMPTARGET_DIR";

/// How long a run of a program may take.
const LIMIT: Duration = Duration::from_secs(300);

/// The measurements, in the order of the first round.
#[derive(Default)]
struct Figures {
    order: Vec<(String, u64)>,
    /// Nanoseconds in each round, of LLVM's library and of ours.
    times: BTreeMap<(String, u64), [Vec<f64>; 2]>,
}

impl Figures {
    /// Adds the lines of a run.
    fn add(&mut self, lines: &str, library: usize) -> Result<(), String> {
        for line in lines.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let parsed = match words[..] {
                [name, bytes, time] => bytes
                    .parse()
                    .ok()
                    .zip(time.parse().ok())
                    .map(|(bytes, time): (u64, f64)| ((name.to_owned(), bytes), time)),
                _ => None,
            };
            let (key, time) = parsed.ok_or_else(|| format!("not understood: {line:?}"))?;
            if !self.times.contains_key(&key) {
                self.order.push(key.clone());
            }
            self.times.entry(key).or_default()[library].push(time);
        }
        Ok(())
    }

    /// Name, bytes, and median nanoseconds of LLVM's library and of ours.
    fn medians(&self) -> impl Iterator<Item = (&str, u64, f64, f64)> {
        self.order.iter().map(|key| {
            let [stock, ours] = &self.times[key];
            (key.0.as_str(), key.1, median(stock), median(ours))
        })
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let mut rounds = 5;
    let mut as_json = false;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|number| number.parse().ok());
        match argument.as_str() {
            "--json" => as_json = true,
            "--rounds" => match number() {
                Some(number @ 1..) => rounds = number,
                _ => return usage("--rounds: a number from 1 on expected"),
            },
            _ => return usage(&format!("{argument}: not known")),
        }
    }
    let told = measure(rounds).and_then(|figures| {
        let text = if as_json {
            json(&figures)
        } else {
            table(&figures)
        };
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

fn usage(error: &str) -> ExitCode {
    say(&format!(
        "error: {error}\nusage: bench-libomptarget [--json] [--rounds N]"
    ));
    ExitCode::from(2)
}

fn measure(rounds: u32) -> Result<Figures, String> {
    let ours = folder(OURS, LIBOMPTARGET);
    let ours = ours.ok_or_else(|| format!("{OURS} is not set"))?;
    let ours = ours
        .canonicalize()
        .map_err(|error| format!("{OURS}: {error}"))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench");
    let clang = Clang::find(&sources, &env::temp_dir())?;
    let stock = clang.stock()?;
    let program = |file: &str| Program::parse(file, "");
    let mut programs = Vec::new();
    let one = program("offload.c")?;
    let built = clang.build(&one, Build::at("-O2"))?;
    programs.push((one, built));
    match Rustc::all().last() {
        Some(rustc) => {
            let one = program("rust.rs")?;
            let linked = stock.join(LIBOMPTARGET);
            let built = rustc.build(&one, &sources, &linked, &clang.folder().join("rustc"))?;
            programs.push((one, built));
        }
        None => say("SKIPPED rust-launch: no rustc 1.96 or 1.97"),
    }
    let mut figures = Figures::default();
    for round in 0..rounds {
        let mut libraries: Vec<(usize, &PathBuf)> =
            [&stock, &ours].into_iter().enumerate().collect();
        // The order alternates, since the second run finds caches warm.
        libraries.rotate_left(round as usize % 2);
        for (library, folder) in libraries {
            for (program, built) in &programs {
                let mut command = Command::new(format!("./{}", program.name));
                command.current_dir(built);
                prepare(&mut command, program);
                command.env("LD_LIBRARY_PATH", folder);
                let outcome = run(&mut command, LIMIT).map_err(|error| error.to_string())?;
                if !outcome.status.is_some_and(|status| status.success()) {
                    let (name, stderr) = (&program.name, &outcome.stderr);
                    let which = folder.display();
                    return Err(format!(
                        "{name} with {which}: {:?}\n{stderr}",
                        outcome.status
                    ));
                }
                figures.add(&outcome.stdout, library)?;
            }
        }
    }
    Ok(figures)
}

fn table(figures: &Figures) -> String {
    let mut text = format!(
        "{:<22}{:>10}{:>14}{:>14}{:>12}\n",
        "call", "bytes", "LLVM's, ns", "ours, ns", "ours/LLVM's"
    );
    for (name, bytes, stock, ours) in figures.medians() {
        let ratio = ours / stock;
        text += &format!("{name:<22}{bytes:>10}{stock:>14.0}{ours:>14.0}{ratio:>12.2}\n");
    }
    text
}

fn json(figures: &Figures) -> String {
    let calls: Vec<_> = figures
        .medians()
        .map(|(call, bytes, stock, ours)| {
            json!({
                "call": call,
                "bytes": bytes,
                "llvm_ns": stock,
                "ours_ns": ours,
                "ours_to_llvm": ours / stock,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "schema": 1, "calls": calls }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_of_rounds() {
        let mut figures = Figures::default();
        for (stock, ours) in [(10, 40), (30, 20), (20, 30)] {
            figures
                .add(&format!("b 8 {stock}.0\na 0 1.0\n"), 0)
                .expect("lines");
            figures
                .add(&format!("b 8 {ours}.0\na 0 2.0\n"), 1)
                .expect("lines");
        }
        let medians: Vec<_> = figures.medians().collect();
        assert_eq!(medians, [("b", 8, 20.0, 30.0), ("a", 0, 1.0, 2.0)]);
        assert!(table(&figures).contains("1.50"));
        assert!(json(&figures).contains("\"ours_to_llvm\": 1.5"));
        assert!(figures.add("b 8\n", 0).is_err());
    }
}
