//! Building a program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use targets::arch::Target;

use super::stack;
use super::sysroot::Sysroot;
use super::target::StdTarget;
use crate::device::Toolchain;
use crate::error::{BuildError, io_at};
use crate::krate::Package;
use crate::messages;

/// A program built for a device.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The image.
    pub image: PathBuf,
}

/// Builds the program `bin` of the package in the folder `dir`; the only program if `bin` is `None`.
///
/// # Errors
/// There is no such program, or it does not build.
pub fn build(
    toolchain: &Toolchain,
    target: StdTarget,
    dir: &Path,
    bin: Option<&str>,
) -> Result<Program, BuildError> {
    if let StdTarget::Gpu(arch) = target
        && arch.target == Target::Amdgcn
    {
        return Err(BuildError::Request(format!(
            "programs with std cannot be built for {} or other AMD GPUs yet; kernels can (cargo xtask images)",
            arch.name
        )));
    }
    let sysroot = Sysroot::prepare(toolchain, target)?;
    let package = Programs::at(sysroot.cargo(toolchain), dir)?;
    let name = package.choose(bin)?;
    let target_dir = package.target_dir.join("revoff").join(target.name());
    fs::create_dir_all(&target_dir).map_err(io_at(&target_dir))?;
    let release = target_dir.join("revoff/release");
    let assembly = target_dir.join(format!("{name}.s"));
    let mut command = sysroot.cargo(toolchain);
    command
        .args(["rustc", "--release", "--manifest-path"])
        .arg(&package.manifest)
        .args(["--bin", &name, "-Zjson-target-spec", "--target"])
        .arg(&sysroot.target)
        .arg("--target-dir")
        .arg(&target_dir)
        // One unit of code from all crates, since a GPU has no linker.
        .args(["--config", "profile.release.lto=\"fat\""])
        .args(["--config", "profile.release.codegen-units=1"])
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            sysroot.program_flags()?.join("\x1f"),
        );
    if let StdTarget::Gpu(_) = target {
        command
            .args(["--config", "profile.release.debug=false", "--"])
            .arg(format!("--emit=asm={}", assembly.display()));
    }
    let said = messages::run(&mut command, toolchain.cargo())?;
    if !said.status.success() {
        return Err(BuildError::Compile {
            krate: name,
            arch: target.name().to_owned(),
            status: said.status,
            help: messages::help_for(&said.text),
        });
    }
    let image = match target {
        StdTarget::Host => release.join(&name),
        StdTarget::Gpu(arch) => match arch.target {
            Target::Nvptx => {
                let image = target_dir.join(format!("{name}.ptx"));
                let ptx = fs::read_to_string(&assembly).map_err(io_at(&assembly))?;
                let moved = stack::in_global_memory(&ptx).map_err(|error| BuildError::Output {
                    path: assembly.clone(),
                    reason: error.into(),
                })?;
                fs::write(&image, moved).map_err(io_at(&image))?;
                image
            }
            // Refused above.
            Target::Amdgcn => assembly,
        },
    };
    Ok(Program { name, image })
}

/// A package with programs.
struct Programs {
    manifest: PathBuf,
    target_dir: PathBuf,
    bins: Vec<String>,
    default: Option<String>,
}

impl Programs {
    fn at(cargo: Command, dir: &Path) -> Result<Self, BuildError> {
        let Package {
            manifest,
            package,
            target_dir,
        } = Package::at(cargo, dir).map_err(|reason| BuildError::NoProgram {
            path: dir.to_owned(),
            reason: reason.to_string(),
        })?;
        let is_bin = |target: &&Value| {
            let kinds = target["kind"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
        };
        let targets = package["targets"].as_array().into_iter().flatten();
        Ok(Self {
            manifest,
            target_dir,
            bins: targets
                .filter(is_bin)
                .filter_map(|target| target["name"].as_str().map(str::to_owned))
                .collect(),
            default: package["default_run"].as_str().map(str::to_owned),
        })
    }

    /// The program with this name, or the only one.
    fn choose(&self, name: Option<&str>) -> Result<String, BuildError> {
        let none = |reason: String| BuildError::NoProgram {
            path: self.manifest.clone(),
            reason,
        };
        if let Some(name) = name.or(self.default.as_deref()) {
            return match self.bins.iter().find(|bin| *bin == name) {
                Some(bin) => Ok(bin.clone()),
                None => Err(none(format!(
                    "it has no program `{name}`, only: {}",
                    self.bins.join(", ")
                ))),
            };
        }
        match self.bins.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(none("it has no src/main.rs, only a library".to_owned())),
            several => Err(none(format!(
                "it has several programs, name one (--bin): {}",
                several.join(", ")
            ))),
        }
    }
}
