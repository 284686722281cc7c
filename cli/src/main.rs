//! The revoff command: devices, images, runs and benchmarks of reverse offload.

mod bench;
mod options;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("REVOFF_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .init();
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return output::usage(&error),
    };
    let done = match options.command {
        Command::Bench(options) => bench::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failed(&error),
    }
}
