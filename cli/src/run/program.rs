//! Builds and runs a program with Rust's `std`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use host_rt::shared_abi::wire::WireKind;
use host_rt::targets::DeviceArch;
use host_rt::targets::arch::{self, Arch};
use host_rt::{Functions, Grid, Image, KernelArg, Runtime, Services};
use image_build::device::Toolchain;
use image_build::program::{self, Program, StdTarget};

use super::arg;

/// How to build and run a program.
#[derive(Debug, Args)]
#[group(id = "programs", multiple = true, conflicts_with = "image")]
#[command(next_help_heading = "Programs")]
pub(crate) struct Options {
    /// The manifest of the program's crate [default: Cargo.toml]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,

    /// The program, if the crate has several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// The architecture that the program is built for [default: sm_70 on NVIDIA GPUs]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,

    /// The most threads of the program at a time, each a warp of its own
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    warps: u32,

    /// The program's heap, in device memory
    #[arg(long, default_value = "256M", value_name = "BYTES", value_parser = arg::size)]
    heap: u64,

    /// The stack of each thread, on NVIDIA GPUs
    #[arg(long, default_value = "1M", value_name = "BYTES", value_parser = arg::size)]
    stack: u64,

    /// Allow the program to read the files of a folder, instead of all files; may be repeated
    #[arg(long, value_name = "FOLDER")]
    allow_read: Vec<PathBuf>,

    /// Allow the program to read and change the files of a folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    allow_write: Vec<PathBuf>,

    /// Allow the program to use the network with a host: a name or an IP address, with a port or
    /// without (`example.com`, `127.0.0.1:80`, `[::1]:80`); also to listen there. May be repeated
    #[arg(long, value_name = "HOST")]
    allow_net: Vec<String>,

    /// Allow the program to start commands, which have your rights: no restriction applies to them
    #[arg(long)]
    allow_run: bool,

    /// Allow the program only what other options allow; each of them implies this
    #[arg(long)]
    deny_all: bool,

    /// The program's arguments
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// The architecture for all NVIDIA GPUs: the oldest that Rust's atomics exist for. Drivers compile
/// its PTX for newer ones.
const NVIDIA: &str = "sm_70";

/// The smallest stack, which has room for the report of an overflow.
const MIN_STACK: u64 = 32 << 10;

/// The kernel that calls `main`, in device-std/src/start.rs.
const KERNEL: &str = "revoff_main";

/// Builds the program and runs it. Returns only after an error: a program that ends is the end of this
/// process, with the same status.
pub(super) fn run(device: &str, wire: Option<WireKind>, options: &Options) -> anyhow::Result<()> {
    // Each thread of the program may wait in a call, for another one of the program.
    let mut builder = Runtime::builder(device).threads(options.warps as usize);
    if let Some(wire) = wire {
        builder = builder.wire(wire);
    }
    let runtime = builder.build()?;
    let program = build(options, device, &runtime.arch())?;

    let mut functions = Functions::new();
    services(options, &program)?.add_to(&mut functions)?;
    let kernel = runtime
        .load(&Image::open(&program.image)?, &functions)?
        .kernel(KERNEL)?;
    let heap = runtime
        .alloc(options.heap)
        .with_context(|| format!("the program's heap (--heap {})", options.heap))?;
    let words = runtime.alloc(u64::from(options.warps) * 8)?;
    let is_nvidia = matches!(
        runtime.arch(),
        DeviceArch::Nvidia(_) | DeviceArch::Emulated(_)
    );
    // Other devices have stacks of their own.
    let stack = if is_nvidia {
        options.stack.max(MIN_STACK).next_multiple_of(16)
    } else {
        1
    };
    let stacks = runtime
        .alloc(u64::from(options.warps) * stack)
        .with_context(|| format!("{} stacks (--warps, --stack {stack})", options.warps))?;
    let args: [&dyn KernelArg; 5] = [
        &heap.address(),
        &heap.bytes(),
        &words.address(),
        &stacks.address(),
        &stack,
    ];
    let grid = Grid {
        teams: options.warps,
        threads: 1,
    };
    // SAFETY: the kernel of `device-std` has these parameters. The memory lives until `wait` has
    // returned.
    let launch = unsafe { kernel.launch(grid, &args)? };
    launch.wait()?;
    bail!("the program ended without an exit status");
}

/// Builds the program for the device.
fn build(options: &Options, device: &str, device_arch: &DeviceArch) -> anyhow::Result<Program> {
    let find = |name: &str| -> anyhow::Result<StdTarget> { Ok(StdTarget::Gpu(arch::find(name)?)) };
    let target = match (device_arch, &options.arch) {
        (DeviceArch::Host(_), None) => StdTarget::Host,
        (DeviceArch::Host(_), Some(arch)) => {
            bail!("--arch {arch}: the device `{device}` is this machine")
        }
        (_, Some(arch)) => find(arch)?,
        (DeviceArch::Nvidia(_) | DeviceArch::Emulated(_), None) => find(NVIDIA)?,
        (DeviceArch::Amd(target), None) => find(&target.processor)?,
    };
    let arches: Vec<&Arch> = match target {
        StdTarget::Host => vec![],
        StdTarget::Gpu(arch) => vec![arch],
    };
    let manifest = options
        .manifest_path
        .as_deref()
        .unwrap_or(Path::new("Cargo.toml"));
    let folder = match manifest.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let toolchain = Toolchain::find(&arches)?;
    Ok(program::build(
        &toolchain,
        target,
        folder,
        options.bin.as_deref(),
    )?)
}

/// What the program may do.
fn services(options: &Options, program: &Program) -> anyhow::Result<Arc<Services>> {
    let mut arguments = vec![program.image.clone().into_os_string()];
    arguments.extend(options.arguments.iter().cloned());
    let mut builder = Services::builder()
        .arguments(arguments)
        .environment(env::vars_os())
        .program(&program.image)
        .on_exit(exit);
    let is_restricted = options.deny_all
        || !options.allow_read.is_empty()
        || !options.allow_write.is_empty()
        || !options.allow_net.is_empty()
        || options.allow_run;
    if !is_restricted {
        builder = builder
            .allow_all_files()
            .allow_all_network()
            .allow_commands();
    }
    for folder in &options.allow_read {
        builder = builder.allow_read(folder);
    }
    for folder in &options.allow_write {
        builder = builder.allow_write(folder);
    }
    for host in &options.allow_net {
        builder = builder.allow_net(host);
    }
    if options.allow_run {
        builder = builder.allow_commands();
    }
    Ok(builder.build()?)
}

/// Ends this process with the program's status: other threads of the program, and what the device
/// still does, end with it.
fn exit(status: i32) {
    // SAFETY: ends the process without destructors and exit handlers, which may not run beside device
    // threads. They have nothing to save: services buffer no output.
    unsafe { libc::_exit(status) }
}
