//! Builds and runs a program with Rust's `std`.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process;

use anyhow::{Context, bail};
use host_rt::targets::DeviceArch;
use host_rt::targets::arch::{self, Arch};
use host_rt::{Functions, Grid, Image, KernelArg, Runtime, Services};
use image_build::device::Toolchain;
use image_build::program::{self, Program, StdTarget};

use super::Options;

/// The architecture for all NVIDIA GPUs: the oldest that Rust's atomics exist for. Drivers compile
/// its PTX for newer ones.
const NVIDIA: &str = "sm_70";

/// The smallest stack, which has room for the report of an overflow.
const MIN_STACK: u64 = 32 << 10;

/// The kernel that calls `main`, in device-std/src/start.rs.
const KERNEL: &str = "revoff_main";

/// Builds the program and runs it. Returns only after an error: a program that ends is the end of this
/// process, with the same status.
pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let mut builder = Runtime::builder(&options.device);
    if let Some(wire) = options.wire {
        builder = builder.wire(wire);
    }
    let runtime = builder.build()?;
    let program = build(options, &runtime.arch())?;

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
fn build(options: &Options, device: &DeviceArch) -> anyhow::Result<Program> {
    let find = |name: &str| -> anyhow::Result<StdTarget> { Ok(StdTarget::Gpu(arch::find(name)?)) };
    let target = match (device, &options.arch) {
        (DeviceArch::Host(_), None) => StdTarget::Host,
        (DeviceArch::Host(_), Some(arch)) => {
            bail!(
                "--arch {arch}: the device `{}` is this machine",
                options.device
            )
        }
        (DeviceArch::Amd(_), _) => bail!(
            "{}: programs with std cannot be built for AMD GPUs yet; kernels can (cargo xtask images)",
            options.device
        ),
        (_, Some(arch)) => find(arch)?,
        (DeviceArch::Nvidia(_) | DeviceArch::Emulated(_), None) => find(NVIDIA)?,
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
fn services(options: &Options, program: &Program) -> anyhow::Result<std::sync::Arc<Services>> {
    let mut arguments = vec![program.image.clone().into_os_string()];
    arguments.extend(options.program_args.iter().cloned());
    let mut builder = Services::builder()
        .arguments(arguments)
        .environment(env::vars_os())
        .program(&program.image)
        .on_exit(exit);
    let is_restricted =
        options.deny_all || !options.allow_read.is_empty() || !options.allow_write.is_empty();
    if !is_restricted {
        builder = builder.allow_all_files();
    }
    for folder in &options.allow_read {
        builder = builder.allow_read(folder);
    }
    for folder in &options.allow_write {
        builder = builder.allow_write(folder);
    }
    Ok(builder.build()?)
}

/// Ends this process with the program's status, as its end would: other threads of the program, and
/// what the device still does, end with it.
#[expect(clippy::exit, reason = "the program's end is the end of the process")]
fn exit(status: i32) {
    let _ = io::stdout().flush();
    process::exit(status)
}
