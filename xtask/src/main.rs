//! Tasks of this workspace: `cargo xtask TASK`.

mod abi;
mod check_abi;
mod check_deps;
mod check_layers;
mod dist;
mod finding;
mod headers;
mod images;
mod metadata;
mod output;
mod plugins;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use revoff_build::BuildError;

/// Exit status if no compiler for GPUs was found.
const NO_TOOLCHAIN: u8 = 77;

/// Tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// shared-abi keeps to shared-abi/RULES.md
    CheckAbi,
    /// docs/dependencies.md names each third-party crate, and no other
    CheckDeps,
    /// Modules import from layers below them, and no import cycle spans folders
    CheckLayers,
    /// Builds the packages for people without this repository
    Dist(dist::Options),
    /// Writes shared-abi/include/revoff_abi.h
    Headers {
        /// Fail if it is stale instead
        #[arg(long)]
        check: bool,
    },
    /// Builds device images for GPUs
    Images(images::Options),
    /// Builds the plugins under the names by which programs load them
    Plugins(plugins::Options),
}

fn main() -> ExitCode {
    let root = workspace_root();
    let done = match Task::parse() {
        Task::CheckAbi => check_abi::run(&root),
        Task::CheckDeps => check_deps::run(&root),
        Task::CheckLayers => check_layers::run(&root),
        Task::Dist(options) => dist::run(&root, &options),
        Task::Headers { check: true } => headers::check(&root),
        Task::Headers { check: false } => headers::write(&root),
        Task::Images(options) => images::run(&root, &options),
        Task::Plugins(options) => plugins::run(&root, &options),
    };
    match done {
        Ok(said) => {
            output::line(&mut std::io::stdout(), &said);
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::line(&mut std::io::stderr(), &format!("error: {error:#}"));
            match error.downcast_ref() {
                // Scripts distinguish a missing toolchain from a fault.
                Some(BuildError::NoToolchain { .. }) => ExitCode::from(NO_TOOLCHAIN),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
