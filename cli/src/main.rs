//! The revoff command: devices, images, runs and benchmarks of reverse offload.

mod bench;
mod build;
mod devices;
mod emulate;
mod environment;
mod error;
mod inspect;
mod new;
mod options;
mod output;
mod pieces;
mod run;
mod soak;
mod test;
mod top;

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser};

use crate::options::{Command, Options};

fn main() -> ExitCode {
    // A file that exceeds `ulimit -f` is an error of its write, not the end of this process; the commands that a program
    // starts inherit that.
    // SAFETY: a signal is ignored, so no code of this process runs as its handler; nothing has set another action before.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    // Before there are threads.
    revoff_isolate::init(&run::isolated::JOBS);
    if let Err(error) = revoff_log::show(Some(output::SHOWN)) {
        return output::failed(&anyhow::anyhow!(error)).into();
    }
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return output::usage(error),
    };
    match command(&options.command) {
        Ok(status) => status,
        Err(error) => output::failed(&error).into(),
    }
}

fn command(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Build(options) => build::run(options),
        Command::New(options) => new::run(options),
        Command::Pieces(options) => pieces::run(options),
        Command::Test(options) => return test::run(options),
        Command::Devices(options) => devices::run(options),
        Command::Emulate(options) => return emulate::run(options),
        Command::Inspect(options) => inspect::run(options),
        Command::Run(options) => return run::run(options).map(ExitCode::from),
        Command::Bench(options) => bench::run(options),
        Command::Soak(options) => return soak::run(options),
        Command::Top(options) => top::run(options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Options::command(), "revoff", &mut script);
            output::print(&String::from_utf8(script)?)
        }
        Command::Man { folder } => clap_mangen::generate_to(Options::command(), folder)
            .with_context(|| folder.display().to_string()),
    }?;
    Ok(ExitCode::SUCCESS)
}
