//! `--isolated`: the run has a process of its own, with the files and the network that the command line names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Parser;
use revoff_host::device;
use revoff_host::env::Env;
use revoff_host::targets::DeviceArch;
use revoff_isolate::{Isolated, Job, JobError, Sandbox};

use super::Options;
use super::arg::{self, Arg};
use crate::output;

/// The command line of the process, which is that of this command.
#[derive(Parser)]
enum CommandLine {
    Run(Options),
}

/// The jobs of the processes.
pub(crate) const JOBS: [Job; 2] = [RUN, ARCH];
const RUN: Job = Job::new("run", serve);
const ARCH: Job = Job::new("arch", open_device);

/// Variables that have the program write a file, or open a socket, of its own.
const REFUSED: [&str; 2] = ["REVOFF_TRACE", "REVOFF_METRICS"];

/// Devices that need the driver of a GPU.
const GPUS: [&str; 3] = ["cuda", "hsa", "auto"];

/// Runs the image, or the program in this folder, in a process of its own; returns its exit status.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    for variable in REFUSED {
        ensure!(
            env::var_os(variable).is_none_or(|value| value.is_empty()),
            "{variable} is set, but an isolated process does not write it: unset it, or leave out --isolated"
        );
    }
    let mut sandbox = Sandbox::new();
    let kind = options.device.split(':').next().unwrap_or_default();
    if GPUS.contains(&kind) {
        sandbox = sandbox.gpus();
    }
    let mut program = OsString::new();
    let mut created = Created::default();
    if let Some(image) = &options.image {
        let code = options.link.iter().chain([image]);
        for file in code.chain(&options.functions) {
            arg::check_is_file(file)?;
            sandbox = sandbox.image(file);
        }
        sandbox = options.program.permissions().grant(sandbox);
        for arg in &options.args {
            sandbox = grant(sandbox, arg, &mut created)?;
        }
    } else {
        let arch = || arch(&sandbox, &options.device);
        let image = options.program.image(&options.device, arch)?;
        sandbox = options.program.permissions().grant(sandbox.image(&image));
        program = image.into_os_string();
    }
    let result = RUN.run(&sandbox.max_result(1), program.as_bytes())?;
    match result.as_slice() {
        [status] => {
            if *status == 0 {
                created.keep();
            }
            Ok(*status)
        }
        _ => anyhow::bail!("the isolated process sent no exit status"),
    }
}

/// The architecture of a device. A process of its own asks for it, since its driver is native code.
fn arch(sandbox: &Sandbox, device: &str) -> anyhow::Result<DeviceArch> {
    let name = ARCH.run(sandbox, device.as_bytes())?;
    Ok(String::from_utf8(name)?.parse()?)
}

/// Runs in a process of its own, and returns the name of the device's architecture.
fn open_device(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let device = String::from_utf8(isolated.input)?;
    let device = device::open(&device, &Env::read()?)?;
    Ok(device.arch().to_string().into_bytes())
}

/// Results that did not exist before. Those that are still empty when the run has failed are removed.
#[derive(Default)]
struct Created(Vec<PathBuf>);

impl Created {
    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        for path in &self.0 {
            if fs::metadata(path).is_ok_and(|found| found.len() == 0) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Grants access to the file of a parameter. One that is written exists from now on.
fn grant(sandbox: Sandbox, arg: &Arg, created: &mut Created) -> anyhow::Result<Sandbox> {
    Ok(match arg {
        Arg::Value(_) | Arg::Buffer(_) => sandbox,
        Arg::File(path) => {
            arg::check_is_file(path)?;
            sandbox.read(path)
        }
        Arg::InOut(path) => {
            arg::check_is_file(path)?;
            sandbox.write(path)
        }
        Arg::Out(_, path) => {
            if create(path)? {
                created.0.push(path.clone());
            }
            sandbox.write(path)
        }
    })
}

/// Creates a file that the process writes. Returns whether it was not there before.
fn create(path: &Path) -> anyhow::Result<bool> {
    let is_new = path.symlink_metadata().is_err();
    let mut options = OpenOptions::new();
    // Not by a link, which an earlier run may have left there, and without waiting for the reader of a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = options
        .append(true)
        .create(true)
        .custom_flags(flags)
        .open(path);
    let kind = path.symlink_metadata().map(|found| found.file_type());
    let shown = path.display();
    if let Ok(kind) = kind {
        ensure!(
            !kind.is_symlink(),
            "{shown} is a symbolic link: name its file"
        );
        // Devices such as /dev/null are written like files.
        ensure!(
            kind.is_file() || kind.is_char_device(),
            "{shown} is no regular file: name one, or a path where none is yet"
        );
    }
    opened
        .map(|_| is_new)
        .with_context(|| format!("cannot write {shown}"))
}

/// Runs in the process.
fn serve(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    // Before the first thread that writes to the log.
    revoff_log::show(Some(output::SHOWN))?;
    if let Some(missing) = &isolated.report.missing {
        output::say(&format!("weaker isolation: {missing}"));
    }
    let CommandLine::Run(options) = CommandLine::try_parse()?;
    let program = Path::new(OsStr::from_bytes(&isolated.input));
    let program = (!isolated.input.is_empty()).then_some(program);
    let status = match super::run_here(&options, program) {
        Ok(()) => 0,
        Err(error) => output::failed(&error),
    };
    Ok(vec![status])
}
