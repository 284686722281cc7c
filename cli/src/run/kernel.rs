//! Runs a kernel of an image.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use revoff_host::bus_cost::{CountCosts, Report};
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::count::{Count, Names};
use revoff_host::{CallError, Grid, Image, KernelArg, LaunchError, Runtime, RuntimeError};
use serde::Serialize;

use super::arg::Param;
use super::{Options, functions};
use crate::error::MissingFunction;
use crate::output;

#[derive(Debug, Serialize)]
struct Answer<'a> {
    image: &'a str,
    kernel: &'a str,
    device: &'a str,
    /// The requested wire.
    wire: Option<&'static str>,
    teams: u32,
    threads: u32,
    /// From start to end; absent if the kernel or a call failed.
    seconds: Option<f64>,
    requests: u64,
    serving_threads: usize,
    missing_functions: &'a [String],
    outputs: Vec<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Report<'a>>,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Output {
    path: String,
    bytes: u64,
}

/// Runs one kernel.
pub(super) fn run(options: &Options, path: &Path) -> anyhow::Result<()> {
    let image = open(options, path)?;
    let mut builder = Runtime::builder(&options.device);
    if let Some(wire) = options.wire {
        builder = builder.wire(wire);
    }
    if let Some(traced) = options.trace {
        traced.check(options.teams, options.threads, "--teams, --threads")?;
        builder = builder.trace(traced.to_stderr());
    }
    let counted = Arc::new(Mutex::new(None));
    if let Some(entry) = &options.costs {
        let sink = Arc::clone(&counted);
        builder = builder.costs(CountCosts {
            entry: entry.clone(),
            sink: Arc::new(move |_, costs| {
                *sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(costs.clone());
            }),
        });
    }
    let runtime = builder.build()?;
    let image = runtime.select(&image)?;
    let found = functions::find(&image, &options.functions)?;
    let name = match &options.kernel {
        Some(name) => name.clone(),
        None => only_kernel(&image)?,
    };
    let kernel = runtime.load(&image, &found.functions)?.kernel(&name)?;
    let params = options
        .args
        .iter()
        .map(|arg| Param::new(&runtime, arg))
        .collect::<Result<Vec<_>, _>>()?;
    let args: Vec<&dyn KernelArg> = params.iter().map(|param| param as &dyn KernelArg).collect();
    let grid = Grid {
        teams: options.teams,
        threads: options.threads,
    };
    // SAFETY: the user asserts on the command line that the code is a kernel with these parameters,
    // as the help text requires; the buffers live until `wait` has returned, or the launch has not
    // begun.
    let launch = unsafe { kernel.launch(grid, &args)? };
    let ended = launch
        .wait()
        .map_err(|error| explain(error, &found.missing));
    let flushed = flush_c();

    let counted = counted
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let mut answer = Answer {
        image: image.name(),
        kernel: &name,
        device: &options.device,
        wire: options.wire.and_then(WireKind::name),
        teams: grid.teams,
        threads: grid.threads,
        seconds: ended.as_ref().ok().map(|report| report.time.as_secs_f64()),
        requests: runtime.requests(),
        serving_threads: runtime.threads(),
        missing_functions: &found.missing,
        outputs: Vec::new(),
        costs: counted.as_ref().map(Report::new),
        error: ended.as_ref().err().map(ToString::to_string),
    };
    // The buffers of a failed kernel are not results.
    if ended.is_ok() {
        for param in &params {
            answer
                .outputs
                .extend(param.save()?.map(|(path, bytes)| Output { path, bytes }));
        }
    }
    report(options.json, &answer)?;
    ended?;
    flushed.context("cannot write the output of host functions in C")
}

/// The error, with this command's remedy if the kernel called a function of `missing`, which no
/// library exports.
fn explain(launch: LaunchError, missing: &[String]) -> anyhow::Error {
    let call = match &launch {
        LaunchError::Call { first, .. } => Some(first),
        LaunchError::Fault { failed_call, .. } => failed_call.as_ref(),
        _ => None,
    };
    match call {
        Some(CallError::NoSuchFunction { name: Some(_), .. }) => MissingFunction {
            launch,
            missing: missing.to_vec(),
        }
        .into(),
        _ => RuntimeError::from(launch).into(),
    }
}

/// The only kernel of an image.
fn only_kernel(image: &Image) -> anyhow::Result<String> {
    let names: Vec<_> = image.kernels()?.into_iter().map(|k| k.name).collect();
    let image_name = image.name();
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] if image.is_opaque() => {
            bail!("only a driver can list the kernels of {image_name}: name one (--kernel)")
        }
        [] => bail!("{image_name} has no kernels"),
        _ => bail!(
            "{image_name} has several kernels, name one (--kernel): {}",
            Names(&names)
        ),
    }
}

/// The image, with the parts that belong to it.
fn open(options: &Options, path: &Path) -> Result<Image, RuntimeError> {
    let image = Image::open(path)?;
    if options.link.is_empty() {
        return Ok(image);
    }
    let mut parts = vec![image];
    for path in &options.link {
        parts.push(Image::open(path)?);
    }
    Ok(Image::link(path.display().to_string(), parts)?)
}

/// Flushes the output of host functions in C, before this command prints. An error if some was lost, also before.
fn flush_c() -> io::Result<()> {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: null stands for all streams; the C library locks each. The declaration is that of C's headers; the variable
    // holds the address of a stream that the C library keeps until the process ends, even if a function has closed its file,
    // and whose lock `ferror` takes. Code that assigns to the variable answers for the stream that it assigns.
    let [now, before] = unsafe { [libc::fflush(std::ptr::null_mut()), libc::ferror(stdout)] };
    match (now, before) {
        (0, 0) => Ok(()),
        (0, _) => Err(io::Error::other("text was lost before")),
        _ => Err(io::Error::last_os_error()),
    }
}

fn report(json: bool, answer: &Answer<'_>) -> anyhow::Result<()> {
    if json {
        return output::json(answer);
    }
    if let Some(seconds) = answer.seconds {
        // Not an answer: those are what the kernel and its host functions print.
        output::say(&format!(
            "kernel `{}` ended after {:.1} ms: {} of {}, {}",
            answer.kernel,
            seconds * 1e3,
            Count(answer.teams.into(), "team"),
            Count(answer.threads.into(), "thread"),
            Count(answer.requests, "call"),
        ));
    }
    if let Some(costs) = &answer.costs {
        output::note(&costs.render()?);
    }
    Ok(())
}
