//! The archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Packs a folder; the same content gives the same file. `level` is how well xz compresses, from 0 to 9; `time` is that
/// of the files, by which cargo notices that they are newer than others.
pub(super) fn write(folder: &Path, to: &Path, level: u32, time: u64) -> Result<PathBuf> {
    let mut tar = Command::new("tar");
    tar.arg(format!("--mtime=@{time}"));
    tar.env("XZ_OPT", format!("-{level}"));
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    // Under another name until it is complete.
    let part = to.with_extension("part");
    tar.args(["--mode=u+rw,go-w,a+rX", "--xz", "-cf"])
        .arg(&part);
    tar.arg("-C").arg(folder.parent().unwrap_or(folder));
    tar.arg(folder.file_name().context("the package has a name")?);
    let status = tar.status().context("cannot run tar")?;
    ensure!(
        status.success(),
        "tar has not written {}: {status}",
        to.display()
    );
    std::fs::rename(&part, to).with_context(|| to.display().to_string())?;
    Ok(to.to_owned())
}
