//! Prints the SHA-256 digests of files, as `sha256sum` does, computed by a kernel.
//!
//! The kernel (`kernel/`) has no access to files: its threads ask the host for the next file and
//! for chunks of it, and return the digest, all through the functions declared in `calls/`.

mod files;
mod options;
mod progress;
#[cfg(feature = "mpi")]
mod ranks;
mod summary;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use digest_calls::{NextFile, ReadChunk, Report};
use examples::Kernel;
use revoff_host::{Functions, Grid, Runtime};

use crate::files::Files;
use crate::options::Options;
use crate::summary::Summary;

const KERNEL: Kernel = Kernel {
    folder: "digest/kernel",
    host: env!("REVOFF_IMAGE_DIGEST"),
};

/// The number of call times kept per device thread.
const SAMPLES: u64 = 4096;

fn main() -> ExitCode {
    examples::show_errors();
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            options::complain(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Digests everything; returns whether all files could be read.
fn run(options: &Options) -> anyhow::Result<bool> {
    #[cfg(feature = "mpi")]
    if options.mpi {
        return ranks::run(options);
    }
    let files = Arc::new(Files::find(&options.paths));
    let summary = digest(options, &files)?;
    summary::print(options.json, &files, &summary)?;
    Ok(files.failures() == 0)
}

/// Digests files on the device.
fn digest(options: &Options, files: &Arc<Files>) -> anyhow::Result<Summary> {
    let runtime = Runtime::builder(&options.device).build()?;
    let image = KERNEL.image(&runtime, options.image.as_deref())?;

    let progress = progress::bar(files.total_bytes());
    let mut functions = Functions::new();
    {
        let files = Arc::clone(files);
        functions.add(NextFile::bind(move || files.next()))?;
    }
    {
        let (files, progress) = (Arc::clone(files), progress.clone());
        functions.add(ReadChunk::bind(move |file, buffer| {
            let read = files.read(file, buffer);
            if let Some(n) = read {
                progress.inc(n.into());
            }
            read.unwrap_or(digest_calls::FAILED)
        }))?;
    }
    {
        let files = Arc::clone(files);
        functions.add(Report::bind(move |file, digest| {
            files.report(file, *digest)
        }))?;
    }

    let kernel = runtime.load(&image, &functions)?.kernel("digest")?;
    let grid = Grid {
        teams: options.teams,
        threads: options.threads,
    };
    let workers = u64::from(options.teams) * u64::from(options.threads);
    let sized = |bytes: u64| {
        workers.checked_mul(bytes).ok_or_else(|| {
            anyhow::anyhow!("{workers} device threads with {bytes} bytes each: too much memory")
        })
    };
    let buffers = runtime.alloc(sized(options.chunk)?)?;
    let times = runtime.alloc(sized(SAMPLES * 4)?)?;
    let counts = runtime.alloc(sized(8)?)?;
    // SAFETY: the parameters are the kernel's, and the buffers have the sizes that
    // it documents for this grid and live until `wait` returns.
    let launch =
        unsafe { kernel.launch(grid, &[&buffers, &options.chunk, &times, &SAMPLES, &counts])? };
    let report = launch.wait()?;
    progress.finish_and_clear();

    let mut per_thread = vec![0u64; workers as usize];
    counts.read(0, &mut per_thread)?;
    let mut samples = vec![0u32; (workers * SAMPLES) as usize];
    times.read(0, &mut samples)?;
    let summary = Summary::new(files, &report, &per_thread, &samples, SAMPLES as usize);
    Ok(summary)
}
