//! rustc with its offload intrinsic, in the versions whose intrinsic has the signature that our
//! programs use.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Program, complete};

/// A rustc.
#[derive(Clone, Debug)]
pub struct Rustc {
    command: Vec<String>,
    version: u32,
}

impl Rustc {
    /// The installed ones, the oldest first, each version once.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rustup = ["rustup", "run"];
        let candidates = [
            vec!["/usr/bin/rustc"],
            [&rustup[..], &["1.96.0", "rustc"]].concat(),
            [&rustup[..], &["1.97.0", "rustc"]].concat(),
            [&rustup[..], &["nightly", "rustc"]].concat(),
        ];
        let mut all: Vec<_> = candidates.iter().filter_map(|one| Self::new(one)).collect();
        all.sort_by_key(|rustc| rustc.version);
        all.dedup_by_key(|rustc| rustc.version);
        all
    }

    fn new(command: &[&str]) -> Option<Self> {
        let output = Command::new(command[0])
            .args(&command[1..])
            .arg("--version")
            // cargo sets it to another toolchain.
            .env_remove("RUSTUP_TOOLCHAIN")
            .output()
            .ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        let minor = said.strip_prefix("rustc 1.")?.split('.').next()?;
        let version = minor.parse().ok()?;
        (96..=97).contains(&version).then(|| Self {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            version,
        })
    }

    /// Its minor version, 96 for 1.96.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    fn compile(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(folder);
        command
            .env_remove("RUSTUP_TOOLCHAIN")
            .env("RUSTC_BOOTSTRAP", "1");
        command.args(["--edition", "2024", "-Copt-level=3"]);
        command
    }

    /// Builds a program, its image and the crate that registers it; returns their folder.
    ///
    /// # Errors
    /// A compiler's messages.
    pub fn build(
        &self,
        program: &Program,
        sources: &Path,
        library: &Path,
        to: &Path,
    ) -> Result<PathBuf, String> {
        let folder = to.join(format!("1.{}", self.version)).join(&program.name);
        let made = fs::create_dir_all(&folder)
            // The path of an image is relative to the source.
            .and_then(|()| fs::copy(sources.join(&program.file), folder.join(&program.file)));
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        let cc = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut image = Command::new(cc);
        image.current_dir(&folder);
        image.args(["-O1", "-fPIC", "-shared", "-o", "kernels.so"]);
        complete(image.arg(sources.join("kernels.c")))?;
        let mut embed = self.compile(&folder);
        embed.args(["--crate-type", "rlib", "--crate-name", "offload_image"]);
        complete(embed.arg(sources.join("../../../plugins/offload-image/src/lib.rs")))?;
        let mut command = self.compile(&folder);
        command.args(["-Zunstable-options", "-Zoffload=Test", "-Clto=fat"]);
        command.args(["--extern", "offload_image=liboffload_image.rlib"]);
        // Debian's own rustc links with GNU's linker, nightly with LLVM's.
        command.arg("-Clink-arg=-Wl,-z,nostart-stop-gc");
        command.arg(format!("-Clink-arg={}", library.display()));
        complete(command.args(["-o", &program.name, &program.file]))?;
        Ok(folder)
    }
}
