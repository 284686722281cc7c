//! Builds device images from a build script.
//!
//! ```no_run
//! // In build.rs of the crate that loads the image, which then finds it at
//! // env!("REVOFF_IMAGE_MY_KERNEL").
//! image_build::kernel_crate("kernel").export("REVOFF_IMAGE_MY_KERNEL");
//! ```
//!
//! A kernel crate is a `no_std` library that calls `device_rt::image!()`. It is
//! built by a cargo of its own, with its own panic strategy and without the
//! features that other crates of the workspace ask for. Its sources are watched:
//! a change builds it again.
//!
//! With the environment variable [`SKIP`] set, nothing is built and an empty file
//! takes each image's place, for `cargo doc` or an editor; loading it fails with
//! "it is empty".

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The environment variable that makes every build do nothing.
pub const SKIP: &str = "REVOFF_IMAGE_BUILD_SKIP";

/// A built file.
#[derive(Clone, Debug)]
#[must_use]
pub struct Artifact {
    path: PathBuf,
}

impl Artifact {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells the crate under construction where it is, as the environment variable
    /// `name` of its compiler.
    pub fn export(&self, name: &str) {
        emit(&format!("rustc-env={name}={}", self.path.display()));
    }
}

/// Builds the kernel crate in the folder `dir`, which is relative to the calling
/// crate, into an image for the `host` device.
///
/// # Panics
/// The build fails: what cargo said is then above.
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
    c_shared_object(name, sources, includes, libraries)
}

/// Builds any shared object from C sources, such as one with host functions.
///
/// # Panics
/// As for [`c_image`].
pub fn c_shared_object(
    name: &str,
    sources: &[&str],
    includes: &[&str],
    libraries: &[Artifact],
) -> Artifact {
    let path = out_dir().join(format!("{name}.so"));
    if skipped(&path) {
        return Artifact { path };
    }
    let root = manifest_dir();
    emit("rerun-if-env-changed=CC");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    // An image's calls go to its own runtime, also in a process that has another
    // `GOMP_target_ext`: -Bsymbolic.
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
    Artifact { path }
}

fn crate_as(dir: &Path, crate_type: &str) -> Artifact {
    let manifest = manifest_dir().join(dir).join("Cargo.toml");
    let name = package_name(&manifest);
    let file = name.replace('-', "_");
    let built_name = match crate_type {
        "cdylib" => format!("lib{file}.so"),
        _ => format!("lib{file}.a"),
    };
    let path = out_dir().join(&built_name);
    if skipped(&path) {
        return Artifact { path };
    }
    let target = var("TARGET");
    let target_dir = out_dir().join("images");
    let mut command = Command::new(var("CARGO"));
    command
        .arg("rustc")
        .arg("--manifest-path")
        .arg(&manifest)
        .args([
            "--release",
            "--lib",
            "--crate-type",
            crate_type,
            "--target",
            &target,
        ])
        .args(["--config", "profile.release.panic=\"abort\""])
        .arg("--target-dir")
        .arg(&target_dir);
    if crate_type == "cdylib" {
        // See `c_shared_object`.
        command.args(["--", "-C", "link-arg=-Wl,-Bsymbolic"]);
    }
    // Set for the crate whose build script this is; cargo gives its own.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CARGO_MAKEFLAGS", "MAKEFLAGS"] {
        command.env_remove(name);
    }
    run(
        &mut command,
        &format!("cargo for the kernel crate `{name}`"),
    );

    let release = target_dir.join(&target).join("release");
    let built = release.join(&built_name);
    fs::copy(&built, &path)
        .unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    emit(&format!("rerun-if-changed={}", manifest.display()));
    // "output: source source ..." lists everything that went into it.
    let listed = fs::read_to_string(release.join(format!("lib{file}.d"))).unwrap_or_default();
    for source in listed
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, s)| s.split(' '))
    {
        emit(&format!("rerun-if-changed={source}"));
    }
    Artifact { path }
}

/// The package's name in its manifest.
fn package_name(manifest: &Path) -> String {
    let text = fs::read_to_string(manifest)
        .unwrap_or_else(|error| panic!("no kernel crate at {}: {error}", manifest.display()));
    text.lines()
        .skip_while(|line| line.trim() != "[package]")
        .find_map(|line| line.trim().strip_prefix("name")?.trim().strip_prefix('='))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .unwrap_or_else(|| panic!("no package name in {}", manifest.display()))
}

fn skipped(path: &Path) -> bool {
    emit(&format!("rerun-if-env-changed={SKIP}"));
    if env::var_os(SKIP).is_none_or(|value| value.is_empty()) {
        return false;
    }
    emit(&format!(
        "warning=no image {} is built, because {SKIP} is set",
        path.display()
    ));
    fs::write(path, []).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    true
}

fn run(command: &mut Command, what: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{what} failed: {status}"),
        Err(error) => panic!("cannot run {what}: {error}"),
    }
}

fn manifest_dir() -> PathBuf {
    var("CARGO_MANIFEST_DIR").into()
}

fn out_dir() -> PathBuf {
    var("OUT_DIR").into()
}

fn var(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: call this from a build script"))
}

#[expect(
    clippy::print_stdout,
    reason = "this is how a build script speaks to cargo"
)]
fn emit(instruction: &str) {
    println!("cargo::{instruction}");
}
