//! Images for the `host` device, and other shared objects built by the machine's own compilers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::error::{BuildError, io_at};
use crate::krate::{self, Crate};
use crate::messages;
use crate::script::{Artifact, emit, manifest_dir, out_dir, run, skipped, var};
use crate::work::{WORK, Work};

/// Builds the kernel crate in the folder `dir`, which is relative to the calling
/// crate, into an image for the `host` device.
///
/// # Panics
/// The build fails; cargo's messages precede the panic.
pub fn kernel_crate(dir: impl AsRef<Path>) -> Artifact {
    crate_as(dir.as_ref(), "cdylib")
}

/// Builds the kernel crate in the folder `dir` into a static library, to be linked
/// into images in other languages.
///
/// # Panics
/// As for [`kernel_crate`].
pub fn static_library(dir: impl AsRef<Path>) -> Artifact {
    crate_as(dir.as_ref(), "staticlib")
}

/// Builds an image for the `host` device from C sources and static libraries, with
/// the compiler in `CC` or `cc`. Paths are relative to the calling crate.
///
/// # Panics
/// The compiler fails or is missing.
pub fn c_image(
    name: &str,
    sources: &[&str],
    includes: &[&str],
    libraries: &[Artifact],
) -> Artifact {
    let path = out_dir().join(format!("{name}.so"));
    if skipped(&path) {
        return Artifact::at(path);
    }
    let root = manifest_dir();
    let compiler = c_compiler();
    let mut command = Command::new(&compiler);
    // -Bsymbolic: an image's calls go to its own runtime, even if the process has another
    // `GOMP_target_ext`.
    command.args([
        "-shared",
        "-fPIC",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,-Bsymbolic",
        "-o",
    ]);
    command.arg(&path);
    for source in sources {
        let source = root.join(source);
        emit(&format!("rerun-if-changed={}", source.display()));
        command.arg(source);
    }
    for include in includes {
        let include = root.join(include);
        emit(&format!("rerun-if-changed={}", include.display()));
        command.arg("-I").arg(include);
    }
    if !libraries.is_empty() {
        command.arg("-Wl,--whole-archive");
        command.args(libraries.iter().map(Artifact::path));
        command.arg("-Wl,--no-whole-archive");
    }
    run(
        &mut command,
        &format!("the C compiler `{compiler}` (set CC, or install gcc)"),
    );
    Artifact::at(path)
}

/// The C compiler for the target of the crate under construction: as build scripts ask for it, by a variable for the
/// target, such as `CC_aarch64_unknown_linux_gnu`, or else by `CC`.
fn c_compiler() -> String {
    let named = format!("CC_{}", var("TARGET").replace('-', "_"));
    let mut names = [named.as_str(), "CC"].into_iter();
    names
        .find_map(|name| {
            emit(&format!("rerun-if-env-changed={name}"));
            env::var(name).ok()
        })
        .unwrap_or_else(|| "cc".to_owned())
}

fn crate_as(dir: &Path, crate_type: &str) -> Artifact {
    let krate = Crate::at(&manifest_dir().join(dir)).unwrap_or_else(|error| panic!("{error}"));
    let path = out_dir().join(built_name(&krate, crate_type));
    if skipped(&path) {
        return Artifact::at(path);
    }
    let (cargo, target) = (var("CARGO"), var("TARGET"));
    let sources = compile(&krate, crate_type, cargo.as_ref(), Some(&target), &path)
        .unwrap_or_else(|error| panic!("{error}"));
    emit(&format!("rerun-if-env-changed={WORK}"));
    emit(&format!("rerun-if-changed={}", krate.manifest.display()));
    for source in sources {
        emit(&format!("rerun-if-changed={}", source.display()));
    }
    Artifact::at(path)
}

/// Builds the kernel crate in the folder `dir` into an image for the `host` device of
/// this machine, outside a build script. The image goes to the folder `out`.
///
/// # Errors
/// There is no such crate, or it does not build.
pub fn host_image(dir: &Path, out: &Path) -> Result<PathBuf, BuildError> {
    compile_to(dir, "cdylib", out)
}

/// Builds the kernel crate in the folder `dir` into a static library, see [`static_library`],
/// outside a build script. The library goes to the folder `out`.
///
/// # Errors
/// There is no such crate, or it does not build.
pub fn host_library(dir: &Path, out: &Path) -> Result<PathBuf, BuildError> {
    compile_to(dir, "staticlib", out)
}

fn compile_to(dir: &Path, crate_type: &str, out: &Path) -> Result<PathBuf, BuildError> {
    let krate = Crate::at(dir)?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    fs::create_dir_all(out).map_err(io_at(out))?;
    let path = out.join(built_name(&krate, crate_type));
    compile(&krate, crate_type, cargo.as_ref(), None, &path)?;
    Ok(path)
}

fn built_name(krate: &Crate, crate_type: &str) -> String {
    match crate_type {
        "cdylib" => format!("lib{}.so", krate.file),
        _ => format!("lib{}.a", krate.file),
    }
}

/// Compiles `krate` to the file `to`; its sources are the result.
fn compile(
    krate: &Crate,
    crate_type: &str,
    cargo: &Path,
    target: Option<&str>,
    to: &Path,
) -> Result<Vec<PathBuf>, BuildError> {
    let work = Work::lock(to.parent().unwrap_or(to), "host")?;
    let mut command = Command::new(cargo);
    command
        .arg("rustc")
        .arg("--manifest-path")
        .arg(&krate.manifest)
        .args(["--release", "--lib", "--crate-type", crate_type])
        .args(["--config", "profile.release.panic=\"abort\""])
        .arg("--target-dir")
        .arg(work.dir());
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    if crate_type == "cdylib" {
        // -Bsymbolic: see `c_image`.
        command.args(["--", "-C", "link-arg=-Wl,-Bsymbolic"]);
    }
    // Set for the crate whose build script this is; the inner cargo sets its own.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CARGO_MAKEFLAGS", "MAKEFLAGS"] {
        command.env_remove(name);
    }
    let said = messages::run(&mut command, cargo)?;
    if !said.status.success() {
        return Err(BuildError::Compile {
            krate: krate.name.clone(),
            arch: "the host".to_owned(),
            status: said.status,
            help: messages::help_for(&said.text),
        });
    }
    let folder = work.dir().join(target.unwrap_or_default()).join("release");
    let built = folder.join(built_name(krate, crate_type));
    fs::copy(&built, to).map_err(io_at(&built))?;
    krate::sources(&folder.join(format!("lib{}.d", krate.file)))
}
