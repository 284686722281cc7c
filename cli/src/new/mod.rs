//! `revoff new`: creates a program.

mod c;
mod kernel;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Creates the folder with an ordinary crate, as `cargo new` does:

  revoff new hello
  cd hello
  revoff run --device emu

With --kernel, the crate is a program that launches a kernel, which has a crate of
its own, as have the declarations that both share:

  revoff new --kernel sum
  cd sum
  cargo run

With --c, a kernel in C, its host functions in C, and a Makefile:

  revoff new --c sum
  cd sum
  make run")]
pub(crate) struct Options {
    /// The folder
    path: PathBuf,

    /// The name of the crate [default: that of the folder]
    #[arg(long, conflicts_with = "c")]
    name: Option<String>,

    /// A program with a kernel, instead of one that runs on the device itself
    #[arg(long)]
    kernel: bool,

    /// A kernel in C
    #[arg(long, conflicts_with = "kernel")]
    c: bool,
}

/// The program. It differs from cargo's in that it says where it runs.
const MAIN: &str = include_str!("main.rs");

/// Creates a program.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.c {
        c::create(&options.path)?;
        created(options, "make run");
        return Ok(());
    }
    if options.kernel {
        kernel::check(&options.path)?;
    }
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
    let run = if options.kernel {
        kernel::add(&options.path)?;
        "cargo run"
    } else {
        let main = options.path.join("src/main.rs");
        fs::write(&main, MAIN).with_context(|| main.display().to_string())?;
        "revoff run --device emu"
    };
    created(options, run);
    Ok(())
}

fn created(options: &Options, run: &str) {
    let path = options.path.to_string_lossy();
    // A path without a NUL can be quoted.
    let quoted = shlex::try_quote(&path).unwrap_or_default();
    output::note(&format!(
        "Created {path}; to run it: cd {quoted} && {run}\n"
    ));
}
