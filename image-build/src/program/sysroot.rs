//! The standard library, built once for each architecture and kept.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustc_build_sysroot::{BuildMode, SysrootBuilder, SysrootConfig, SysrootStatus};
use rustc_version::VersionMeta;
use targets::arch::Target as Isa;

use super::overlay;
use super::target::StdTarget;
use crate::device::{Toolchain, clean, code_flags, small_code_flags};
use crate::error::{BuildError, io_at};
use crate::messages;
use crate::replace::{self, replace};
use crate::sources::sources;

/// The environment variable that names the folder in which standard libraries are kept.
pub const CACHE: &str = "REVOFF_CACHE";

/// The file in a sysroot that changes with its contents: the crate that builds it compares it.
const BUILT: &str = "lib/rustlib/revoff/.rustc-build-sysroot-hash";

/// Replaces the linker for GPUs: its output is the file that [`LINKED`] names, if the compiler has written
/// one. Cargo keeps it with what the program was built from.
const LINKER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then
        if [ -e "$REVOFF_LINKED" ]; then cp "$REVOFF_LINKED" "$2" || exit; else : >"$2"; fi
    fi
    shift
done
"#;

/// The variable with the path of the file that the linker for GPUs copies.
pub(super) const LINKED: &str = "REVOFF_LINKED";

/// A standard library for one architecture.
pub(crate) struct Sysroot {
    /// The folder for `--sysroot`.
    dir: PathBuf,
    /// The cargo target folder of the crate `device-std`.
    device_std: PathBuf,
    /// The target's specification.
    pub(crate) target: PathBuf,
    flags: Vec<String>,
    /// The instruction set; none for the `host` device.
    isa: Option<Isa>,
}

impl Sysroot {
    /// Finds or builds the standard library of `toolchain` for `target`.
    pub(crate) fn prepare(toolchain: &Toolchain, target: StdTarget) -> Result<Self, BuildError> {
        let folder =
            cache()?
                .join("std")
                .join(format!("{}-{}", toolchain.release(), target.name()));
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).map_err(io_at(&lock_path))?;
        if lock.try_lock().is_err() {
            messages::note("Waiting for another process that uses this std for devices");
            lock.lock().map_err(io_at(&lock_path))?;
        }

        // The device side, which is compiled for each architecture.
        let device_std = sources()?.join("device-std");
        let library = folder.join("library");
        let overlaid = folder.join("overlay.of");
        let overlay_dir = device_std.join("overlay");
        let linker = folder.join("linker");
        write_program(&linker, LINKER)?;
        let specified = target.specification(toolchain, &linker)?;
        let of = [
            &toolchain.to_string(),
            &specified,
            overlay::CHANGES,
            &contents(&overlay_dir)?,
        ]
        .concat();
        if fs::read_to_string(&overlaid).ok().as_deref() != Some(&of) {
            // First of all: what is interrupted begins again.
            if overlaid.exists() {
                fs::remove_file(&overlaid).map_err(io_at(&overlaid))?;
            }
            if library.exists() {
                fs::remove_dir_all(&library).map_err(io_at(&library))?;
            }
            overlay::lay(toolchain, &overlay_dir, &library)?;
            fs::write(&overlaid, &of).map_err(io_at(&overlaid))?;
        }

        let specification = folder.join("revoff.json");
        // Compilers of other processes read it, and run the linker, without the lock.
        replace::write(&specification, specified.as_bytes())?;
        let mut flags = match target {
            // For backtraces.
            StdTarget::Host => vec!["-Cforce-frame-pointers=yes".to_owned()],
            StdTarget::Gpu(arch) => code_flags(arch),
        };
        // A program is optimised together with all of this.
        flags.push("-Cembed-bitcode=yes".to_owned());
        let sysroot = Self {
            dir: folder.join("sysroot"),
            device_std: folder.join("device-std"),
            target: specification,
            flags,
            isa: match target {
                StdTarget::Host => None,
                StdTarget::Gpu(arch) => Some(arch.target),
            },
        };
        sysroot.build_std(toolchain, target, &library)?;
        sysroot.build_device_std(toolchain, target, &device_std)?;
        Ok(sysroot)
    }

    /// Builds the standard library itself, unless it is there.
    fn build_std(
        &self,
        toolchain: &Toolchain,
        target: StdTarget,
        library: &Path,
    ) -> Result<(), BuildError> {
        let failed = |reason: String| BuildError::Std {
            arch: target.name().to_owned(),
            reason,
        };
        let mut cargo = Self::cargo(toolchain);
        cargo.args(["-Zjson-target-spec"]);
        // The source has the crates of others with it; without network it builds all the same.
        let vendor = library.join("vendor");
        if vendor.is_dir() {
            cargo.args([
                "--config",
                "source.crates-io.replace-with=\"vendored-sources\"",
            ]);
            cargo.arg("--config");
            cargo.arg(format!(
                "source.vendored-sources.directory={:?}",
                vendor.display().to_string()
            ));
        }
        let version = VersionMeta::for_command(Command::new(toolchain.rustc()))
            .map_err(|error| failed(error.to_string()))?;
        // `mem`: a GPU has no C library with strlen.
        let std_features = match target {
            StdTarget::Host => vec![],
            StdTarget::Gpu(_) => vec!["compiler-builtins-mem".to_owned()],
        };
        SysrootBuilder::new(&self.dir, &self.target)
            .build_mode(BuildMode::Build)
            .sysroot_config(SysrootConfig::WithStd { std_features })
            .rustflags(&self.flags)
            .rustc_version(version)
            .cargo(cargo)
            .when_build_required(|| {
                messages::note(&format!(
                    "Building std of Rust {} for {}, once: this takes some minutes",
                    toolchain.release(),
                    target.name()
                ));
            })
            .build_from_source(library)
            .map(|_: SysrootStatus| ())
            .map_err(|error| failed(format!("{error:#}")))
    }

    /// Builds the crate `device-std` with this standard library.
    fn build_device_std(
        &self,
        toolchain: &Toolchain,
        target: StdTarget,
        source: &Path,
    ) -> Result<(), BuildError> {
        let mut command = Self::cargo(toolchain);
        command
            .args(["build", "--release", "--quiet", "--manifest-path"])
            .arg(source.join("Cargo.toml"))
            .args(["-Zjson-target-spec", "--target"])
            .arg(&self.target)
            .arg("--target-dir")
            .arg(&self.device_std)
            .args(["--config", "profile.release.debug=false"])
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags()?.join("\x1f"));
        let said = messages::run(&mut command, toolchain.cargo())?;
        if !said.status.success() {
            return Err(BuildError::Std {
                arch: target.name().to_owned(),
                reason: format!("the crate device-std: {}", said.status),
            });
        }
        Ok(())
    }

    /// The flags for a crate that is built with this standard library.
    fn rustflags(&self) -> Result<Vec<String>, BuildError> {
        let mut flags = self.flags.clone();
        flags.push(format!("--sysroot={}", self.dir.display()));
        flags.push(metadata(&self.dir.join(BUILT))?);
        Ok(flags)
    }

    /// The flags for a program: those, and `device-std`, which no program names.
    pub(crate) fn program_flags(&self) -> Result<Vec<String>, BuildError> {
        let mut flags = self.rustflags()?;
        flags.push("-Zunstable-options".to_owned());
        let built = self.device_std.join("revoff/release");
        let library = built.join("libdevice_std.rlib");
        flags.push(format!("--extern=force:device_std={}", library.display()));
        flags.push(metadata(&library)?);
        // Its dependencies, and macros that they export, which run in the compiler.
        for folder in [built, self.device_std.join("release")] {
            flags.push(format!("-Ldependency={}", folder.join("deps").display()));
        }
        if let Some(isa) = self.isa {
            // Otherwise programs are larger and take longer to compile.
            flags.extend(small_code_flags(isa));
        } else {
            // A shared object that takes mathematics and memcpy from the C library. -Bsymbolic: an
            // image's calls go to its own runtime, even if the process has another
            // `GOMP_target_ext`.
            let link = ["-shared", "-Wl,-Bsymbolic", "-lm", "-lc"];
            flags.extend(link.map(|argument| format!("-Clink-arg={argument}")));
        }
        // The crate `getrandom` takes its numbers from `device-std`.
        flags.push("--cfg=getrandom_backend=\"custom\"".to_owned());
        // The kernel and the variables that the host looks for.
        flags.push("-Zexport-executable-symbols".to_owned());
        Ok(flags)
    }

    /// A cargo of the toolchain, without the caller's variables.
    pub(crate) fn cargo(toolchain: &Toolchain) -> Command {
        let mut command = Command::new(toolchain.cargo());
        clean(&mut command);
        command
            .env("RUSTC", toolchain.rustc())
            .env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

/// A flag that differs with the contents of a file that cargo does not watch: with other ones, it builds
/// again.
fn metadata(path: &Path) -> Result<String, BuildError> {
    let mut hash = DefaultHasher::new();
    fs::read(path).map_err(io_at(path))?.hash(&mut hash);
    Ok(format!("-Cmetadata={:x}", hash.finish()))
}

/// Writes a script and makes it executable.
fn write_program(path: &Path, text: &str) -> Result<(), BuildError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let executable = fs::Permissions::from_mode(0o755);
    replace(path, |new| {
        Ok(fs::write(new, text).and_then(|()| fs::set_permissions(new, executable)))
    })
}

/// The folder for standard libraries.
pub(crate) fn cache() -> Result<PathBuf, BuildError> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = named(CACHE) {
        return std::path::absolute(&dir).map_err(io_at(Path::new(&dir)));
    }
    let home = named("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(named("HOME")?).join(".cache")));
    match home {
        Some(home) => Ok(home.join("revoff")),
        None => Err(BuildError::Request(format!(
            "no folder for what is built and kept: set {CACHE} to one"
        ))),
    }
}

/// The names and contents of all files of a folder, to compare.
fn contents(folder: &Path) -> Result<String, BuildError> {
    let mut all = String::new();
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(io_at(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        all.push_str(&entry.file_name().to_string_lossy());
        all.push('\n');
        if path.is_dir() {
            all.push_str(&contents(&path)?);
        } else {
            all.push_str(&fs::read_to_string(&path).map_err(io_at(&path))?);
        }
    }
    Ok(all)
}
