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
mod licences;
mod prefix;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use revoff_build::package;

use crate::plugins;
use prefix::Prefix;

/// The command line.
#[derive(Args)]
pub(crate) struct Options {
    /// The folder for the packages
    #[arg(long, value_name = "DIR", default_value = "target/packages")]
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

/// The folder with images while the pieces are built.
const IMAGES: &str = "images";

/// The version of this project.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(root: &Path, options: &Options) -> Result<String> {
    let out = root.join(&options.out);
    for tool in ["strip", "tar", "xz", "dpkg-deb"] {
        let found = Command::new(tool).arg("--version").output();
        found.with_context(|| format!("no {tool} (Debian: binutils, tar, xz-utils, dpkg)"))?;
    }
    let name = format!("revoff-{VERSION}-{}-linux", std::env::consts::ARCH);
    // Nothing else in the folder is touched.
    for old in [&name, IMAGES, debian::STAGED] {
        let old = out.join(old);
        if old.exists() {
            std::fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
        }
    }
    let prefix = Prefix::create(&out.join(&name))?;

    let changed = prefix::output_of(
        Command::new("git")
            .current_dir(root)
            .args(["status", "--porcelain"]),
    )?;
    ensure!(
        options.debug || changed.is_empty(),
        "files differ from the commit: commit or remove them, because the package has the sources, or use --debug for a \
         trial:\n{}",
        String::from_utf8_lossy(&changed)
    );
    let profile = if options.debug { "dev" } else { "dist" };
    plugins::put(root, profile, &prefix.folder(package::LIBRARIES)?)?;
    let command = command(root, profile)?;
    prefix.put(&command, "bin/revoff")?;
    prefix.strip()?;
    pieces(root, options, &prefix)?;
    prefix.put_manual(&command)?;
    prefix.put_build_files()?;
    prefix.put_documentation(root)?;
    let licences = licences::text(root, &plugins::packages())?;
    prefix.write("share/doc/revoff/copyright", licences.as_bytes())?;
    prefix.put_sources(root)?;

    let level = if options.debug { 0 } else { 9 };
    let time = commit_time(root)?;
    let made = [
        archive::write(
            prefix.path(),
            &out.join(format!("{name}.tar.xz")),
            level,
            time,
        )?,
        debian::write(&prefix, &out, level, time)?,
    ];
    Ok(made.map(|file| file.display().to_string()).join("\n"))
}

/// When the sources were committed, in seconds since 1970.
fn commit_time(root: &Path) -> Result<u64> {
    let time = prefix::output_of(Command::new("git").current_dir(root).args([
        "log",
        "-1",
        "--format=%ct",
    ]))?;
    Ok(String::from_utf8(time)?.trim().parse()?)
}

/// Builds the command `revoff`; returns its path.
fn command(root: &Path, profile: &str) -> Result<PathBuf> {
    let built = plugins::build(root, profile, &["--bin", "revoff"])?;
    let command = built.into_iter().find(|file| file.ends_with("revoff"));
    command.context("cargo has built no command `revoff`")
}

/// Puts device-rt for images by other compilers into the package.
fn pieces(root: &Path, options: &Options, prefix: &Prefix) -> Result<()> {
    let work = root.join(&options.out).join(IMAGES);
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
