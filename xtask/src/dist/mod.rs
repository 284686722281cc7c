//! `cargo xtask dist`: the package for people without this repository, as an archive that can be unpacked anywhere
//! and as a Debian package.
//!
//! | folder | contents |
//! |---|---|
//! | `bin` | the command `revoff` |
//! | `lib/revoff` | the plugins; in `emulated` the emulated drivers, in `pieces` device-rt for images by other compilers |
//! | `lib/pkgconfig`, `lib/cmake` | where that is, for builds of images |
//! | `include` | the headers for C |
//! | `share` | manual pages, completions, documentation, and the sources: programs in Rust depend on them |

mod archive;
mod debian;
mod prefix;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::plugins;
use prefix::Prefix;

/// The command line.
#[derive(Args)]
pub(crate) struct Options {
    /// The folder for the packages
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// The GPUs for which there are pieces to link
    #[arg(
        long,
        value_name = "ARCH",
        value_delimiter = ',',
        default_value = "sm_60,sm_70,sm_80,sm_90,sm_100,gfx906,gfx908,gfx90a,gfx942,gfx1030,gfx1100,gfx1201"
    )]
    arch: Vec<String>,
    /// Build programs without optimisation, as `cargo test` builds them
    #[arg(long)]
    debug: bool,
}

/// The version of this project.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(root: &Path, options: &Options) -> Result<String> {
    let out = root.join(&options.out);
    // An old one may have files that the new one has not.
    if out.exists() {
        std::fs::remove_dir_all(&out).with_context(|| out.display().to_string())?;
    }
    let name = format!("revoff-{VERSION}-{}-linux", std::env::consts::ARCH);
    let prefix = Prefix::create(&out.join(&name))?;

    let profile = if options.debug { "dev" } else { "dist" };
    plugins::put(root, profile, &prefix.folder("lib/revoff")?)?;
    let command = command(root, profile)?;
    prefix.put(&command, "bin/revoff")?;
    prefix.strip(&["bin", "lib/revoff", "lib/revoff/emulated"])?;
    pieces(root, options, &prefix)?;
    prefix.put_manual(&command)?;
    prefix.put_build_files()?;
    prefix.put_documentation(root)?;
    prefix.put_sources(root)?;

    let level = if options.debug { 0 } else { 9 };
    let made = [
        archive::write(prefix.path(), &out.join(format!("{name}.tar.xz")), level)?,
        debian::write(&prefix, &out, level)?,
    ];
    Ok(made.map(|file| file.display().to_string()).join("\n"))
}

/// Builds the command `revoff`; returns its path.
fn command(root: &Path, profile: &str) -> Result<PathBuf> {
    let built = plugins::build(root, profile, &["--bin", "revoff"])?;
    let command = built.into_iter().find(|file| file.ends_with("revoff"));
    command.context("cargo has built no command `revoff`")
}

/// Puts device-rt for images by other compilers into the package.
fn pieces(root: &Path, options: &Options, prefix: &Prefix) -> Result<()> {
    let work = root.join(&options.out).join("images");
    let mut images = Command::new(std::env::current_exe()?);
    images
        .current_dir(root)
        .args(["images", "--pieces", "--arch"]);
    images.arg(options.arch.join(",")).arg("--out").arg(&work);
    let status = images.status().context("cannot run `cargo xtask images`")?;
    ensure!(status.success(), "the pieces do not build: {status}");
    prefix.take_pieces(&work.join("pieces"))?;
    std::fs::remove_dir_all(&work).with_context(|| work.display().to_string())
}
