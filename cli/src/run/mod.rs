//! `revoff run`: runs a program, or a kernel of an image.

mod arg;
mod functions;
mod heap;
pub(crate) mod isolated;
mod kernel;
pub(crate) mod program;
mod traced;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::Args;
use revoff_host::bus_cost::ENTRY;
use revoff_host::device;
use revoff_host::shared_abi::wire::WireKind;

use self::arg::Arg;
use self::traced::Traced;

#[derive(Debug, Args)]
#[command(after_help = "\
Without an image, this builds the program of the crate in this folder, with the
whole of Rust's std, and runs its main on the device. The program has your rights,
unless options restrict them. Its exit status is that of this command.

  revoff run
  revoff run --device emu -- program arguments < input > output
  revoff run --allow-read data --allow-net localhost:8080
  revoff run --isolated --allow-read data

With an image, this runs a kernel.

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
that you would run as a program, or run them with --isolated. Nothing checks that parameters and functions in
C have the types that the other side expects. The number and size of parameters
is checked where the image describes its kernel.

Exit status: 0 success; 1 the kernel, or a call that it made, failed; 2 the command
line, the environment or a file is invalid.")]
pub(crate) struct Options {
    /// The image with a kernel; without it, the program in this folder runs
    #[arg(conflicts_with_all = program::names())]
    image: Option<PathBuf>,

    /// Another part that the device links to the image (PTX, cubins); may be repeated
    #[arg(long, value_name = "IMAGE", requires = "image", conflicts_with_all = program::names())]
    link: Vec<PathBuf>,

    /// The kernel; optional if the image has only one
    #[arg(long, requires = "image", conflicts_with_all = program::names())]
    kernel: Option<String>,

    /// The device that runs it
    #[arg(long, default_value = "host", help = format!("The device that runs it: {}", device::names()))]
    device: String,

    /// The wire that carries its calls: native, gcc-ring, gcn-queue or gcc-slot [default: native; for images
    /// of GCC gcc-slot]
    #[arg(long, value_parser = revoff_host::wire_by_name)]
    wire: Option<WireKind>,

    /// Teams of device threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), requires = "image", conflicts_with_all = program::names())]
    teams: u32,

    /// Device threads of a team
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), requires = "image", conflicts_with_all = program::names())]
    threads: u32,

    /// Print each instruction that one device thread executes, with its result, to the standard
    /// error; for emulated GPUs. A program has --warps teams of one thread
    #[arg(long, value_name = "TEAM.THREAD", value_parser = Traced::read)]
    trace: Option<Traced>,

    /// Count what the kernel does on the bus between device and host, and the same for each call of
    /// a function; printed to the standard error; for the device `emu`
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = ENTRY, requires = "image", conflicts_with_all = program::names())]
    costs: Option<String>,

    /// A shared library with host functions; may be repeated
    #[arg(long, value_name = "LIBRARY", requires = "image", conflicts_with_all = program::names())]
    functions: Vec<PathBuf>,

    /// Run in a process of its own, with no files but those that this command line names, and no
    /// network unless --allow-net names a host. A crash of it is an error. A program is built before,
    /// with your rights
    #[arg(long)]
    isolated: bool,

    /// Print one JSON object about the run, after the output of the kernel and its functions
    #[arg(long, requires = "image", conflicts_with_all = program::names())]
    json: bool,

    /// The kernel's parameters
    #[arg(value_name = "FORM:VALUE")]
    args: Vec<Arg>,

    // The last: it has the arguments behind `--`.
    #[command(flatten)]
    program: program::Options,
}

/// Runs the image that the options name, or the program in this folder. Returns the exit status.
pub(crate) fn run(options: &Options) -> anyhow::Result<u8> {
    if let Some(image) = &options.image {
        let given = options.program.permissions().given();
        if let Some(given) = given.filter(|_| !options.isolated) {
            bail!(
                "{given}: an image has your rights, unless it runs with --isolated: add that, or leave out {given}"
            );
        }
        ensure!(
            image.try_exists().unwrap_or(true),
            "there is no image {}; arguments of the program in this folder follow `--`",
            image.display()
        );
        let code = std::iter::once(image)
            .chain(&options.link)
            .chain(&options.functions);
        let timeline = env::var_os("REVOFF_TRACE").map(PathBuf::from);
        arg::check_results(&options.args, code.chain(&timeline))?;
    }
    if options.isolated {
        return isolated::run(options);
    }
    run_here(options, None).map(|()| 0)
}

/// Runs it in this process: the image that the options name, or `program`, or the program in this folder.
fn run_here(options: &Options, program: Option<&Path>) -> anyhow::Result<()> {
    match &options.image {
        Some(image) => kernel::run(options, image),
        None => program::run(options, program),
    }
}
