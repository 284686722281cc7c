//! `revoff test`: runs the tests of a crate on a device.

mod report;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use revoff_build::program::{self, Program, TestSelection};
use revoff_host::{Runtime, device};

use self::report::Report;
use self::run::{Runner, TestProgram};
use crate::output;
use crate::run::program::{Limits, Source};

#[derive(Debug, Args)]
#[command(after_help = "\
Builds the tests of the crate in this folder with the whole of Rust's std, and runs
them on the device: those of the library, of its programs and of the folder tests.
A panic ends a program on a device, so a test that panics runs once more, alone:
tests that should panic pass, and others fail alone. Examples in the documentation
are not run.

  revoff test
  revoff test --device emu parser -- --include-ignored

Behind --, options of Rust's test harness select tests: --exact, --skip, --ignored,
--include-ignored. --list prints their names.

Exit status: 0 all tests pass; 1 some fail; 2 the command line, the environment or
a file is invalid, or the tests do not build.")]
pub(crate) struct Options {
    /// Only tests whose name contains one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// The device that runs them
    #[arg(long, default_value = "host", help = format!("The device that runs them: {}", device::names()))]
    device: String,

    #[command(flatten)]
    source: Source,

    /// Only the tests of the library
    #[arg(long)]
    lib: bool,

    /// Only the tests of a program; may be repeated
    #[arg(long, value_name = "NAME")]
    bin: Vec<String>,

    /// Only a file of the folder tests; may be repeated
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,

    /// Build the tests and print their images, but run none: with --arch also for devices that this machine
    /// does not have
    #[arg(long)]
    no_run: bool,

    /// The longest time of a test; after that, it has failed
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    #[command(flatten)]
    limits: Limits,

    /// Options of the test harness
    #[arg(last = true, value_name = "OPTION")]
    harness: Vec<OsString>,
}

/// Runs the tests. Returns the exit status.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let (toolchain, target, source) = if options.no_run && options.source.names_arch() {
        options.source.for_arch(None)?
    } else {
        let arch = Runtime::builder(&options.device).build()?.arch();
        options.source.for_device(&options.device, &arch)?
    };
    let selection = TestSelection {
        library: options.lib,
        programs: options.bin.clone(),
        tests: options.test.clone(),
    };
    let programs = program::build_tests(&toolchain, target, &source, &selection)?;
    if options.no_run {
        let images = programs
            .iter()
            .map(|it| format!("{}\n", it.image.display()));
        output::print(&images.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = source
        .folder
        .canonicalize()
        .with_context(|| source.folder.display().to_string())?;
    let runner = Runner::new(options, &folder)?;
    let is_list = options.harness.iter().any(|option| option == "--list");
    let mut all_pass = true;
    for Program { source, image, .. } in programs {
        let program = TestProgram::new(&runner, image);
        let names = program.list(&options.filters, &options.harness)?;
        if is_list {
            let lines = names.iter().map(|name| format!("{name}: test\n"));
            output::print(&lines.collect::<String>())?;
            continue;
        }
        let source = source.strip_prefix(&folder).unwrap_or(&source);
        let mut report = Report::begin(source, &options.device, names.len())?;
        program.run(&names, &mut report)?;
        all_pass &= report.end()?;
    }
    Ok(if all_pass {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
