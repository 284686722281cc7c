//! Prints the lines of files that contain one of several texts, like `grep -abHF`, found by a
//! kernel.
//!
//! Host and kernel call each other. The host launches the kernel (`kernel/`) with its own slices; a
//! file is copied to the device once, for all patterns. The kernel calls the host for each matching
//! line, and the result tells it whether to continue. Both are declared in `calls/`.

mod options;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use examples::Kernel;
use revoff_host::targets::count::Count;
use revoff_host::{Functions, Grid, Runtime};
use search_calls::{Found, STOP, Search, Tally};

use crate::options::{Options, say};

const KERNEL: Kernel = Kernel {
    folder: "search/kernel",
    host: env!("REVOFF_IMAGE_SEARCH"),
};

/// Lines of the current file, by start and end.
type Lines = Arc<Mutex<BTreeSet<(u64, u64)>>>;

fn main() -> ExitCode {
    examples::show_errors();
    match run(&Options::parse()) {
        Ok(status) => status,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let lines = Lines::default();
    let mut functions = Functions::new();
    {
        let (lines, quiet) = (Arc::clone(&lines), options.quiet);
        functions.add(Found::bind(move |start, end| {
            lock(&lines).insert((start, end));
            if quiet { STOP } else { 0 }
        }))?;
    }
    let runtime = Runtime::open(&options.device)?;
    let image = KERNEL.image(&runtime, options.image.as_deref())?;
    let program = runtime.load(&image, &functions)?;
    let search = program.bind::<Search>()?;
    let grid = Grid {
        teams: options.teams,
        threads: options.threads,
    };

    let mut tallies = vec![Tally::default(); options.teams as usize * options.threads as usize];
    let mut sum = Tally::default();
    let (mut any, mut all_read) = (false, true);
    let mut out = BufWriter::new(io::stdout().lock());
    for path in &options.files {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) => {
                say(&format!("{}: {error}", path.display()));
                all_read = false;
                continue;
            }
        };
        // It stays on the device for all patterns.
        let text = runtime.map_to(&text)?;
        for pattern in &options.patterns {
            search.launch(grid, &text, pattern.as_bytes(), &mut tallies)?;
            for tally in &tallies {
                sum.lines += tally.lines;
                sum.matches += tally.matches;
            }
        }
        let found = std::mem::take(&mut *lock(&lines));
        any |= !found.is_empty();
        if !options.quiet {
            print(&mut out, path, &text, &found)?;
        }
    }
    out.flush()?;
    if options.stats {
        let copied = runtime.transfers();
        say(&format!(
            "{}, {} match{}, {}, {} to the device in {}",
            Count(sum.lines, "line"),
            sum.matches,
            if sum.matches == 1 { "" } else { "es" },
            Count(runtime.requests(), "call"),
            Count(copied.to_bytes, "byte"),
            if copied.to == 1 {
                "1 copy".to_owned()
            } else {
                format!("{} copies", copied.to)
            }
        ));
    }
    Ok(match (all_read, any) {
        (false, _) => ExitCode::from(2),
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(1),
    })
}

fn print(
    out: &mut impl Write,
    path: &Path,
    text: &[u8],
    found: &BTreeSet<(u64, u64)>,
) -> io::Result<()> {
    for &(start, end) in found {
        // They came from a device, which may send anything.
        let Some(line) = text.get(start as usize..end as usize) else {
            let what = format!(
                "the kernel found a line from {start} to {end}, which is not a line of the text"
            );
            return Err(io::Error::other(what));
        };
        out.write_all(path.as_os_str().as_bytes())?;
        write!(out, ":{start}:")?;
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// No panic leaves the set inconsistent.
fn lock(lines: &Lines) -> std::sync::MutexGuard<'_, BTreeSet<(u64, u64)>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}
