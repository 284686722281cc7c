//! Building a program.

use std::fs;
use std::path::{Path, PathBuf};

use targets::arch::{Arch, Target as Isa};

use super::package::{Kind, Programs, Target, TestSelection};
use super::source::Source;
use super::stack;
use super::sysroot::{LINKED, Sysroot};
use super::target::StdTarget;
use crate::device::{Toolchain, code_object};
use crate::error::{BuildError, io_at};
use crate::messages;

/// A program built for a device.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The root file of its source.
    pub source: PathBuf,
    /// The image.
    pub image: PathBuf,
}

/// Builds the program `bin` of a package; the only program if `bin` is `None`.
///
/// # Errors
/// There is no such program, or it does not build.
pub fn build(
    toolchain: &Toolchain,
    target: StdTarget,
    source: &Source,
    bin: Option<&str>,
) -> Result<Program, BuildError> {
    let builder = Builder::new(toolchain, target, source)?;
    builder.build(builder.package.program(bin)?, Profile::Release)
}

/// Builds the tests of a package: one program for each crate.
///
/// # Errors
/// A crate that is selected does not exist, or one does not build.
pub fn build_tests(
    toolchain: &Toolchain,
    target: StdTarget,
    source: &Source,
    selection: &TestSelection,
) -> Result<Vec<Program>, BuildError> {
    let builder = Builder::new(toolchain, target, source)?;
    let crates = builder.package.tests(selection)?;
    let build = |it| builder.build(it, Profile::Test);
    crates.into_iter().map(build).collect()
}

/// A profile of cargo.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    Release,
    /// With the harness that runs tests.
    Test,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Test => "test",
        }
    }
}

/// Builds the crates of a package for a target.
struct Builder<'a> {
    toolchain: &'a Toolchain,
    target: StdTarget,
    sysroot: Sysroot,
    source: &'a Source,
    package: Programs,
}

impl<'a> Builder<'a> {
    fn new(
        toolchain: &'a Toolchain,
        target: StdTarget,
        source: &'a Source,
    ) -> Result<Self, BuildError> {
        let package = Programs::of_source(|| Sysroot::cargo(toolchain), source)?;
        let sysroot = Sysroot::prepare(toolchain, target)?;
        Ok(Self {
            toolchain,
            target,
            sysroot,
            source,
            package,
        })
    }

    fn build(&self, krate: &Target, profile: Profile) -> Result<Program, BuildError> {
        let target_dir = self.package.target_dir.join("revoff");
        let target_dir = target_dir.join(self.target.name());
        fs::create_dir_all(&target_dir).map_err(io_at(&target_dir))?;
        let file = match (profile, krate.kind) {
            (Profile::Release, _) => krate.name.clone(),
            (Profile::Test, Kind::Library) => format!("{}-lib-tests", krate.name),
            (Profile::Test, Kind::Program) => format!("{}-bin-tests", krate.name),
            (Profile::Test, Kind::Test) => format!("{}-tests", krate.name),
        };
        let path = |extension| target_dir.join(format!("{file}.{extension}"));
        // The compiler's output for GPUs, in place of a linker's.
        let emitted = match self.target {
            StdTarget::Host => None,
            StdTarget::Gpu(arch) => Some(match arch.target {
                Isa::Nvptx => ("asm", path("s")),
                Isa::Amdgcn => ("llvm-ir", path("ll")),
            }),
        };
        let name = profile.name();
        let mut flags = self.sysroot.program_flags()?;
        let mut command = Sysroot::cargo(self.toolchain);
        command
            .args(["rustc", "--profile", name, "--manifest-path"])
            .arg(&self.package.manifest)
            .args(krate.arguments())
            .args(self.source.options())
            .args(["-Zjson-target-spec", "--target"])
            .arg(&self.sysroot.target)
            .arg("--target-dir")
            .arg(&target_dir)
            // Names the program.
            .arg("--message-format=json-render-diagnostics");
        let mut settings = vec![];
        if let StdTarget::Gpu(_) = self.target {
            // One unit of code from all crates, since a GPU has no linker.
            settings.extend(["lto=\"fat\"", "codegen-units=1", "debug=false"]);
            if profile == Profile::Test {
                settings.push("opt-level=3");
            }
        }
        if profile == Profile::Test {
            // The harness runs each test that panics in a program of its own.
            flags.push("-Zpanic-abort-tests".to_owned());
        }
        for setting in settings {
            command.args(["--config", &format!("profile.{name}.{setting}")]);
        }
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        if let Some((kind, path)) = &emitted {
            command
                .env(LINKED, path)
                .args(["--", &format!("--emit={kind}={}", path.display())]);
        }
        let said = messages::run(&mut command, self.toolchain.cargo())?;
        if !said.status.success() {
            return Err(BuildError::Compile {
                krate: krate.name.clone(),
                arch: self.target.name().to_owned(),
                status: said.status,
                help: messages::help_for(&said.text),
            });
        }
        // Not the emitted file: cargo does not run the compiler again for what it has built before, and
        // something else may have been built since.
        let built = said.executable.ok_or_else(|| BuildError::Output {
            path: target_dir.clone(),
            reason: "cargo names no program that it has built".into(),
        })?;
        let image = match self.target {
            StdTarget::Host => built,
            StdTarget::Gpu(arch) if arch.target == Isa::Nvptx => {
                let image = path("ptx");
                let ptx = fs::read_to_string(&built).map_err(io_at(&built))?;
                let moved =
                    stack::ptx::in_global_memory(&ptx).map_err(|error| BuildError::Output {
                        path: built.clone(),
                        reason: error.into(),
                    })?;
                fs::write(&image, moved).map_err(io_at(&image))?;
                image
            }
            StdTarget::Gpu(arch) => self.code_object(arch, &built, path)?,
        };
        Ok(Program {
            name: krate.name.clone(),
            source: krate.source.clone(),
            image,
        })
    }

    /// Makes the program `built`, in LLVM's intermediate representation, a code object. `path` is where a file
    /// with this extension goes.
    fn code_object(
        &self,
        arch: &Arch,
        built: &Path,
        path: impl Fn(&'static str) -> PathBuf,
    ) -> Result<PathBuf, BuildError> {
        let (text, object, image) = (path("stack.ll"), path("o"), path("hsaco"));
        // Another process may build the same program, and LLVM reads its file for as long as it compiles. The
        // lock ends with this function.
        let place = path("lock");
        let lock = fs::File::create(&place).map_err(io_at(&place))?;
        lock.lock().map_err(io_at(&place))?;
        let program = fs::read_to_string(built).map_err(io_at(built))?;
        let moved = stack::llvm_ir::in_global_memory(&program, arch);
        let moved = moved.map_err(|error| BuildError::Output {
            path: built.to_owned(),
            reason: error.into(),
        })?;
        let compiler = code_object::compiler(self.toolchain, arch)?;
        // LLVM compiles for longer than all of this takes: the image of the same text and options remains.
        let moved = format!("; {}: {compiler:?}\n{moved}", self.toolchain);
        let is_known = fs::read_to_string(&text).is_ok_and(|known| known == moved);
        if is_known && image.is_file() {
            return Ok(image);
        }
        // First of all: what is interrupted begins again.
        if image.exists() {
            fs::remove_file(&image).map_err(io_at(&image))?;
        }
        fs::write(&text, moved).map_err(io_at(&text))?;
        code_object::compile(compiler, &text, &object)?;
        code_object::link(self.toolchain, &object, &image)?;
        Ok(image)
    }
}
