//! `revoff emulate`: runs a program with the emulated drivers in place of the vendors'.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};
use clap::Args;
use revoff_host::targets::DeviceArch;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
The program finds the emulated drivers, libcuda.so.1 and libhsa-runtime64.so.1, before any
other ones. There are GPUs of one vendor, that of --device. NVIDIA's run PTX: programs that
contain only machine code for them (cubins) do not run. AMD's run code objects.

  revoff emulate -- ./program arguments
  revoff emulate --device sm_80 --devices 2 -- python3 train.py
  revoff emulate --device gfx90a -- ./program arguments
  LD_LIBRARY_PATH=$(revoff emulate --path) ./program

Faults of kernels are printed with the thread, the line and the address. Exit status: that
of the program; 2 the command line is invalid.")]
pub(crate) struct Options {
    /// The GPU's architecture, such as sm_90 or gfx90a [default: sm_90, or REVOFF_EMU_ARCH]
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    device: Option<String>,

    /// How many of them [default: 1, or REVOFF_EMU_DEVICES]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=64))]
    devices: Option<u32>,

    /// Report races: unordered accesses of threads to the same memory are faults
    #[arg(long)]
    check: bool,

    /// Print what each kernel does on the bus
    #[arg(long)]
    costs: bool,

    /// Print each instruction of one thread: BLOCK.THREAD
    #[arg(long, value_name = "B.T", value_parser = place)]
    trace: Option<String>,

    /// Print the folder for LD_LIBRARY_PATH instead of running a program
    #[arg(long, conflicts_with_all = ["program", "device", "devices", "check", "costs", "trace"])]
    path: bool,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "path")]
    program: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let is_amd = options
        .device
        .as_ref()
        .is_some_and(|arch| !arch.starts_with("sm_"));
    if let Some(devices) = options.devices.filter(|_| is_amd) {
        let max = hsa_emu::MAX_GPUS;
        ensure!(
            devices as usize <= max,
            "--devices {devices}: there are at most {max} AMD GPUs"
        );
    }
    let folder = revoff_build::emulated_driver()?;
    if options.path {
        let folder = folder.to_str().context("the folder's name is not UTF-8")?;
        output::print(&format!("{folder}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((program, arguments)) = options.program.split_first() else {
        bail!("no program: `revoff emulate -- PROGRAM ARGUMENTS`");
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_LIBRARY_PATH", with_folder(&folder))
        .envs(
            options
                .device
                .as_ref()
                .map(|arch| ("REVOFF_EMU_ARCH", arch)),
        )
        .envs(
            options
                .devices
                .map(|count| ("REVOFF_EMU_DEVICES", count.to_string())),
        );
    if options.check {
        command.env("REVOFF_EMU_CHECK", "1");
    }
    if options.costs {
        command.env("REVOFF_EMU_COSTS", "1");
    }
    if let Some(trace) = &options.trace {
        command.env("REVOFF_EMU_TRACE", trace);
    }
    // Returns only if it fails.
    let error = command.exec();
    bail!("{}: {error}", Path::new(program).display())
}

/// The architecture that is meant, if there are emulated GPUs of it: `emu:gfx90a`, which elsewhere names a device, is
/// `gfx90a`.
fn arch(device: &str) -> anyhow::Result<String> {
    let arch = device.strip_prefix("emu:").unwrap_or(device);
    let is_nvidia = matches!(arch.parse(), Ok(DeviceArch::Nvidia(sm)) if sm.exists());
    ensure!(
        is_nvidia || arch.parse::<hsa_emu::Arch>().is_ok(),
        "no architecture; there are {}, {}",
        revoff_host::targets::device_arch::nvidia_names(),
        hsa_emu::Arch::ALL.map(hsa_emu::Arch::name).join(", ")
    );
    Ok(arch.to_owned())
}

/// Checks a thread's place, `BLOCK.THREAD`.
fn place(text: &str) -> anyhow::Result<String> {
    let numbers = text.split_once('.');
    let is_place = numbers.is_some_and(|(block, thread)| {
        block.parse::<u32>().is_ok() && thread.parse::<u32>().is_ok()
    });
    ensure!(is_place, "a block and a thread expected, as 0.31");
    Ok(text.to_owned())
}

/// The search path of the loader, with this folder first.
fn with_folder(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}
