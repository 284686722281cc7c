//! `revoff run`: runs a kernel of an image.

mod arg;
mod functions;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, bail};
use clap::Args;
use host_rt::bus_cost::CountCosts;
use host_rt::device::{self, Trace};
use host_rt::shared_abi::wire::WireKind;
use host_rt::targets::count::{Count, Names};
use host_rt::{CallError, Grid, Image, KernelArg, LaunchError, Runtime, RuntimeError};
use serde::Serialize;

use self::arg::{Arg, Param};
use crate::error::MissingFunction;
use crate::{costs, output};

#[derive(Debug, Args)]
#[command(after_help = "\
Parameters are written FORM:VALUE, in the kernel's order:
  u8 u16 u32 u64 i8 i16 i32 i64  a number, e.g. u32:5 i64:-3 u64:0xff
  f32 f64                        a number, e.g. f64:1.5
  buf:BYTES                      the address of so many zeroes, e.g. buf:4K
  file:PATH                      the address of the file's bytes
  out:BYTES:PATH                 as buf; written to the file when the kernel ends
  inout:PATH                     as file; written back when the kernel has ended

A library for --functions exports, for each function that the image calls, one
of the same name: void NAME(void **args). Each of args is the address of an
argument's bytes, or, where the call passes a value in place of an address
(firstprivate, up to 8 bytes), that value itself. A function that is declared in
Rust gets one more, where its result goes: docs/guide.md, \"From C\".

Examples:
  revoff run libhello.so u32:7
  revoff run sort.so --kernel sort --teams 8 --threads 32 inout:numbers.bin u64:1000
  revoff run hello.so --kernel hello --functions ./hello_host.so --teams 4
  revoff run kernel.ptx --link revoff.ptx --device cuda:0 --kernel hello
  revoff run kernel.ptx --device emu:sm_70 --trace 0.31 --threads 32 --kernel hello

Images for the `host` device and libraries for --functions are code that runs in
this process with your rights, from the moment they are loaded: name only those
that you would run as a program. Nothing checks that parameters and functions in
C have the types that the other side expects. The number and size of parameters
is checked where the image describes its kernel.

Exit status: 0 success; 1 the kernel, or a call that it made, failed; 2 the command
line, the environment or a file is invalid.")]
pub(crate) struct Options {
    /// The image
    image: PathBuf,

    /// Another part that the device links to the image (PTX, cubins); may be repeated
    #[arg(long, value_name = "IMAGE")]
    link: Vec<PathBuf>,

    /// The kernel; optional if the image has only one
    #[arg(long)]
    kernel: Option<String>,

    /// The device that runs it
    #[arg(long, default_value = "host", help = format!("The device that runs it: {}", device::names()))]
    device: String,

    /// The wire that carries its calls: native, gcc-ring, gcn-queue or gcc-slot [default: native; for images
    /// of GCC gcc-slot]
    #[arg(long, value_parser = host_rt::wire_by_name)]
    wire: Option<WireKind>,

    /// Teams of device threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    teams: u32,

    /// Device threads of a team
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,

    /// Print each instruction that one device thread executes, with its result, to the standard
    /// error; for the device `emu`
    #[arg(long, value_name = "TEAM.THREAD", value_parser = traced)]
    trace: Option<(u32, u32)>,

    /// Count what the kernel does on the bus between device and host, and the same for each call of
    /// a function; printed to the standard error; for the device `emu`
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = costs::ENTRY)]
    costs: Option<String>,

    /// A shared library with host functions; may be repeated
    #[arg(long, value_name = "LIBRARY")]
    functions: Vec<PathBuf>,

    /// Print one JSON object about the run, after the output of the kernel and its functions
    #[arg(long)]
    json: bool,

    /// The kernel's parameters
    #[arg(value_name = "FORM:VALUE")]
    args: Vec<Arg>,
}

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
    costs: Option<costs::Report<'a>>,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Output {
    path: String,
    bytes: u64,
}

/// Runs one kernel.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let image = open(options)?;
    let mut builder = Runtime::builder(&options.device);
    if let Some(wire) = options.wire {
        builder = builder.wire(wire);
    }
    if let Some((team, thread)) = options.trace {
        builder = builder.trace(Trace {
            team,
            thread,
            sink: Arc::new(|line| {
                // The reader may have closed the pipe.
                let _ = writeln!(std::io::stderr(), "{line}");
            }),
        });
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
    if let Some((team, thread)) = options.trace
        && (team >= options.teams || thread >= options.threads)
    {
        bail!(
            "--trace {team}.{thread}: the launch has {} of {}, counted from 0 (--teams, --threads)",
            Count(options.teams.into(), "team"),
            Count(options.threads.into(), "thread")
        );
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
    flush_c();

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
        costs: counted.as_ref().map(costs::Report::new),
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
    ended.map(drop)
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

/// `2.31`: thread 31 of team 2.
fn traced(text: &str) -> anyhow::Result<(u32, u32)> {
    let wrong = || anyhow!("`{text}` is no TEAM.THREAD, such as 0.31");
    let (team, thread) = text.split_once('.').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok((number(team)?, number(thread)?))
}

/// The image, with the parts that belong to it.
fn open(options: &Options) -> Result<Image, RuntimeError> {
    let image = Image::open(&options.image)?;
    if options.link.is_empty() {
        return Ok(image);
    }
    let mut parts = vec![image];
    for path in &options.link {
        parts.push(Image::open(path)?);
    }
    Ok(Image::link(options.image.display().to_string(), parts)?)
}

/// Flushes the output of host functions in C, before this command prints.
fn flush_c() {
    // SAFETY: null stands for all streams; the C library locks each.
    unsafe { libc::fflush(std::ptr::null_mut()) };
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
