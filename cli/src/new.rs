//! `revoff new`: creates a program.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Creates the folder with an ordinary crate, as `cargo new` does.

  revoff new hello
  cd hello
  revoff run --device emu")]
pub(crate) struct Options {
    /// The folder
    path: PathBuf,

    /// The name of the crate [default: that of the folder]
    #[arg(long)]
    name: Option<String>,
}

/// The program. It differs from cargo's in that it says where it runs.
const MAIN: &str = include_str!("new/main.rs");

/// Creates a program.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["new", "--bin", "--quiet"]);
    if let Some(name) = &options.name {
        cargo.args(["--name", name]);
    }
    let output =
        cargo.arg("--").arg(&options.path).output().context(
            "cargo does not run, which creates crates: install Rust (https://rustup.rs)",
        )?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let said = said.trim();
        bail!("{}", said.strip_prefix("error: ").unwrap_or(said));
    }
    output::note(&said);
    let main = options.path.join("src/main.rs");
    fs::write(&main, MAIN).with_context(|| main.display().to_string())?;
    let path = options.path.display();
    output::note(&format!(
        "Created {path}; to run it: cd {path} && revoff run --device emu\n"
    ));
    Ok(())
}
