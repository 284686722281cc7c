//! The Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::VERSION;
use super::prefix::Prefix;

/// Debian's name of this machine's architecture.
fn architecture() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("{other}: no architecture of Debian's is known for it"),
    }
}

/// Packs the content of `prefix` below /usr. `level` is how well xz compresses, from 0 to 9.
pub(super) fn write(prefix: &Prefix, out: &Path, level: u32) -> Result<PathBuf> {
    let architecture = architecture()?;
    let root = out.join("debian");
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).with_context(|| control.display().to_string())?;
    prefix.copy_to(&root.join("usr"))?;
    let kib = prefix.bytes()?.div_ceil(1024);
    let text = format!(
        "Package: revoff\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: devel\nPriority: optional\n\
         Installed-Size: {kib}\nDepends: libc6 (>= 2.36), libgcc-s1\nRecommends: gcc\n\
         Maintainer: developers of revoff <revoff@users.noreply.github.com>\n\
         Homepage: https://github.com/revoff/revoff\n\
         Description: reverse offload for GPUs\n \
         Code that runs on a GPU, or on an emulated one, calls functions on the host and waits for their results.\n"
    );
    fs::write(control.join("control"), text).with_context(|| control.display().to_string())?;
    let file = out.join(format!("revoff_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz"]);
    build.arg(format!("-z{level}")).arg("--build");
    build.arg(&root).arg(&file);
    let output = build.output().context("cannot run dpkg-deb")?;
    ensure!(
        output.status.success(),
        "dpkg-deb has not written {}: {}",
        file.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
    Ok(file)
}
