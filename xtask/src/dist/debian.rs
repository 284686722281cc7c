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

/// The folder with the content of the package while it is made.
pub(super) const STAGED: &str = "debian";

/// Packs the content of `prefix` below /usr. `level` is how well xz compresses, from 0 to 9; `time` is that of the files.
pub(super) fn write(prefix: &Prefix, out: &Path, level: u32, time: u64) -> Result<PathBuf> {
    let architecture = architecture()?;
    let root = out.join(STAGED);
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).with_context(|| control.display().to_string())?;
    let usr = root.join("usr");
    prefix.copy_to(&usr)?;
    let (from, to) = ("share/zsh/site-functions", "share/zsh/vendor-completions");
    fs::rename(usr.join(from), usr.join(to)).context("the completions for zsh")?;
    let (kib, libc) = (prefix.bytes()?.div_ceil(1024), prefix.libc()?);
    let text = format!(
        "Package: revoff\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: devel\nPriority: optional\n\
         Installed-Size: {kib}\nDepends: libc6 (>= {libc}), libgcc-s1\nRecommends: gcc\n\
         Maintainer: developers of revoff <revoff@users.noreply.github.com>\n\
         Homepage: https://github.com/revoff/revoff\n\
         Description: reverse offload for GPUs\n \
         Code that runs on a GPU, or on an emulated one, calls functions on the host and waits for their results.\n"
    );
    fs::write(control.join("control"), text).with_context(|| control.display().to_string())?;
    // Whatever modes new files have here.
    let modes = Command::new("chmod")
        .args(["-R", "u+rwX,go+rX,go-w"])
        .arg(&root)
        .status();
    ensure!(
        modes.context("cannot run chmod")?.success(),
        "chmod {}",
        root.display()
    );
    let file = out.join(format!("revoff_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", time.to_string());
    build.args(["--root-owner-group", "-Zxz"]);
    build.arg(format!("-z{level}")).arg("--build");
    // Under another name until it is complete.
    let part = file.with_extension("part");
    build.arg(&root).arg(&part);
    let output = build.output().context("cannot run dpkg-deb")?;
    ensure!(
        output.status.success(),
        "dpkg-deb has not written {}: {}",
        file.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&part, &file).with_context(|| file.display().to_string())?;
    fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
    Ok(file)
}
