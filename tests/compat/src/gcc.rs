//! A GCC with an offload compiler for GPUs: the machine's own, or one in a folder with a whole
//! system.

use std::env;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{PATIENCE, library, on_path};
use crate::{Build, Language, Program, complete, copy, run};

/// The name by which libgomp finds its plugin for NVIDIA GPUs.
pub const PLUGIN: &str = NVPTX.plugin;

/// A target of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The offload compiler's name.
    target: &'static str,
    /// Debian's package.
    package: &'static str,
    /// The offload compiler's options.
    pub options: &'static str,
    /// Its option for an architecture, up to the name.
    arch: &'static str,
    /// A macro of C and C++, for the few constructs that the compiler for these GPUs lacks.
    macro_name: &'static str,
    /// The name by which libgomp finds its plugin.
    pub plugin: &'static str,
}

/// NVIDIA GPUs.
pub const NVPTX: Offload = Offload {
    target: "nvptx-none",
    package: "gcc-14-offload-nvptx",
    // Some compilers' default is an architecture without reverse offload.
    options: "-misa=sm_35",
    arch: "-misa=",
    macro_name: "COMPAT_NVIDIA",
    plugin: "libgomp-plugin-nvptx.so.1",
};

/// AMD GPUs.
pub const AMDGCN: Offload = Offload {
    target: "amdgcn-amdhsa",
    package: "gcc-14-offload-amdgcn",
    // GCC's default is an architecture that no tests have.
    options: "-march=gfx90a",
    arch: "-march=",
    macro_name: "COMPAT_AMD",
    plugin: "libgomp-plugin-gcn.so.1",
};

/// A part of libgomp's message about a missing device that is mandatory.
pub const MANDATORY: &str = "MANDATORY";

/// The variable that names a folder with a system that has a GCC.
const ROOT: &str = "REVOFF_GCC_ROOT";

/// The variable that names the version of GCC.
const VERSION: &str = "REVOFF_GCC_VERSION";

/// The variable for linking programs with their compiler's own libgomp: systems with several GCCs
/// have one libgomp.so.1, the newest's, but an archive of each.
const OWN_LIBGOMP: &str = "REVOFF_GCC_OWN_LIBGOMP";

/// Versions with reverse offload, in order of preference.
const VERSIONS: [u32; 4] = [16, 15, 14, 13];

/// A GCC, and its working folder, which is removed at the end.
pub struct Gcc {
    offload: Offload,
    root: Option<PathBuf>,
    version: u32,
    own_libgomp: bool,
    /// The path inside the root.
    folder: PathBuf,
}

impl Gcc {
    /// The newest installed GCC for NVIDIA GPUs, or the requested version, with copies of `sources`
    /// to work on.
    ///
    /// # Errors
    /// There is none, or it cannot be used; a description.
    pub fn find(sources: &Path, scratch: &Path) -> Result<Self, String> {
        Self::find_for(NVPTX, sources, scratch)
    }

    /// Like [`find`](Self::find), for these GPUs.
    ///
    /// # Errors
    /// There is none, or it cannot be used; a description.
    pub fn find_for(offload: Offload, sources: &Path, scratch: &Path) -> Result<Self, String> {
        let root = env::var_os(ROOT)
            .filter(|root| !root.is_empty())
            .map(PathBuf::from);
        let asked = asked()?;
        let versions = VERSIONS.into_iter();
        let mut versions = versions.filter(|version| asked.is_none_or(|asked| asked == *version));
        let version = versions.find(|version| {
            let compiler = format!("{ARCH}-linux-gnu-accel-{}-gcc-{version}", offload.target);
            [format!("gcc-{version}"), compiler]
                .iter()
                .all(|name| is_there(root.as_deref(), name))
        });
        let names = match asked {
            Some(version) => format!("gcc-{version}"),
            None => "gcc-13 or newer".to_owned(),
        };
        let names = format!("{names} with an offload compiler for {}", offload.target);
        let version = version.ok_or_else(|| match &root {
            Some(root) => format!("{ROOT}={} has no {names}", root.display()),
            None => format!(
                "no {names} (Debian 13: apt-get install gcc-14 g++-14 gfortran-14 {}), \
                 and {ROOT}, which ci/gcc-root would make, is not set",
                offload.package
            ),
        })?;
        let name = format!("compat-{}", std::process::id());
        let folder = match &root {
            Some(_) => Path::new("/tmp").join(name),
            None => scratch.join(name),
        };
        let gcc = Self {
            offload,
            root,
            version,
            own_libgomp: env::var_os(OWN_LIBGOMP).is_some_and(|value| value == "1"),
            folder,
        };
        if let Some(root) = &gcc.root {
            let entered = gcc.command(Path::new("/"), "true").output();
            let entered = entered.map_err(|error| format!("no chroot: {error}"))?;
            if !entered.status.success() {
                let said = String::from_utf8_lossy(&entered.stderr);
                return Err(format!("cannot enter {}: {}", root.display(), said.trim()));
            }
        }
        let copied = copy(sources, &gcc.outside(&gcc.folder.join("src")));
        copied.map_err(|error| format!("no copy of {}: {error}", sources.display()))?;
        Ok(gcc)
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Whether `OMP_TARGET_OFFLOAD=mandatory` ends a program that finds no device, as in libgomp
    /// since GCC 14.
    #[must_use]
    pub fn heeds_mandatory(&self) -> bool {
        self.version >= 14 || !self.own_libgomp
    }

    /// Its name and version, for users.
    #[must_use]
    pub fn name(&self) -> String {
        let libgomp = if self.own_libgomp {
            " with its own libgomp"
        } else {
            ""
        };
        match &self.root {
            Some(root) => format!("gcc-{}{libgomp} in {}", self.version, root.display()),
            None => format!("gcc-{}{libgomp}", self.version),
        }
    }

    /// The version that the compiler prints; its name, if it prints none.
    #[must_use]
    pub fn release(&self) -> String {
        let mut command = self.command(Path::new("/"), &self.compiler(Language::C));
        let said = command.arg("--version").output().ok();
        let said = said.and_then(|said| String::from_utf8(said.stdout).ok());
        let line = said.as_deref().and_then(|said| said.lines().next());
        line.map_or_else(|| self.name(), str::to_owned)
    }

    /// The reason why it does not compile a program, if there is one.
    #[must_use]
    pub fn lacks(&self, program: &Program) -> Option<String> {
        if program.since > self.version {
            return Some(format!("GCC {} is too old", self.version));
        }
        if self.own_libgomp && !(program.libraries.is_empty() && program.plugins.is_empty()) {
            return Some("its libraries bring libgomp.so.1 along".to_owned());
        }
        let compiler = self.compiler(program.language);
        let is_there = is_there(self.root.as_deref(), &compiler);
        (!is_there).then(|| format!("no {compiler}"))
    }

    /// Copies a folder's files to where programs find them; returns the path inside the root.
    ///
    /// # Errors
    /// It cannot be read, or the copy not be written.
    pub fn bring(&self, folder: &Path, name: &str) -> Result<PathBuf, String> {
        let to = self.folder.join(name);
        let copied = copy(folder, &self.outside(&to));
        copied.map_err(|error| format!("no copy of {}: {error}", folder.display()))?;
        Ok(to)
    }

    /// Builds a program; returns its folder, as a path inside the root.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn build(&self, program: &Program, build: Build) -> Result<PathBuf, String> {
        match build.isa {
            None => self.build_with(program, build, self.offload.options),
            Some(isa) => self.build_with(program, build, &format!("{}{isa}", self.offload.arch)),
        }
    }

    /// Like [`build`](Self::build), with other options for the offload compiler.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn build_with(
        &self,
        program: &Program,
        build: Build,
        options: &str,
    ) -> Result<PathBuf, String> {
        let target = self.offload.target;
        let kind = match options == self.offload.options || build.isa.is_some() {
            true => build.folder(),
            false => format!("{}-with{options}", build.folder()),
        };
        let folder = self.folder.join(kind).join(&program.name);
        fs::create_dir_all(self.outside(&folder)).map_err(|error| error.to_string())?;
        let source = |file: &str| self.folder.join("src").join(file);
        let compile = |language| {
            let mut command = self.command(&folder, &self.compiler(language));
            command.args([build.level, "-fopenmp"]);
            command.arg(format!("-foffload={target}"));
            if language != Language::Fortran {
                command.arg(format!("-D{}", self.offload.macro_name));
            }
            let own = program.offload.iter().map(String::as_str);
            for options in own.chain([options]).filter(|options| !options.is_empty()) {
                command.arg(format!("-foffload-options={target}={options}"));
            }
            command
        };
        for file in program.libraries.iter().chain(&program.plugins) {
            let mut command = compile(Language::C);
            command.args(["-fPIC", "-shared", "-o", &library(file)]);
            complete(command.arg(source(file)))?;
        }
        let mut command = compile(program.language);
        command.args(["-o", &program.name]);
        command.args(program.with.iter().map(|file| source(file)));
        command.arg(source(&program.file));
        command.args(
            program
                .libraries
                .iter()
                .map(|file| format!("./{}", library(file))),
        );
        if self.own_libgomp {
            let archive = self.archive(program.language, "libgomp.a")?;
            // The whole archive, for the plugin; the shared library, which `-fopenmp` links, is
            // then not needed.
            command.args(["-rdynamic", "-Wl,--as-needed", "-Wl,--whole-archive"]);
            command.args([archive.as_str(), "-Wl,--no-whole-archive"]);
        }
        complete(command.args(["-Wl,-rpath,$ORIGIN", "-lm"]))?;
        Ok(folder)
    }

    /// Tries to build a trivial program with these options of the offload compiler.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn offloads(&self, build: Build, options: &str) -> Result<(), String> {
        const FILE: &str = "offloads.c";
        const TEXT: &str = "int main(void)\n{\n#pragma omp target\n    {\n    }\n}\n";
        let program = Program::parse(FILE, TEXT)?;
        let source = self.outside(&self.folder.join("src").join(FILE));
        fs::write(&source, TEXT).map_err(|error| format!("{}: {error}", source.display()))?;
        self.build_with(&program, build, options).map(drop)
    }

    /// The path of a file of the compiler, inside the root.
    fn archive(&self, language: Language, name: &str) -> Result<String, String> {
        let mut command = self.command(Path::new("/"), &self.compiler(language));
        command.arg(format!("-print-file-name={name}"));
        let outcome = run(&mut command, PATIENCE).map_err(|error| error.to_string())?;
        let file = outcome.stdout.trim();
        match file.starts_with('/') {
            true => Ok(file.to_owned()),
            false => Err(format!("{command:?}: no {name}: {}", outcome.stderr)),
        }
    }

    /// A file that the compiler finds by its name, such as a library, as a path for this process.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let mut command = self.command(Path::new("/"), &self.compiler(Language::C));
        let output = command.arg(format!("-print-file-name={name}")).output();
        let path = String::from_utf8(output.ok()?.stdout).ok()?;
        // The compiler repeats an unknown name.
        let path = Path::new(path.trim());
        (path.is_absolute() && self.outside(path).exists()).then(|| self.outside(path))
    }

    /// A command to run in a folder.
    #[must_use]
    pub fn command(&self, folder: &Path, program: &str) -> Command {
        match &self.root {
            None => {
                let mut command = Command::new(program);
                command.current_dir(folder);
                command
            }
            Some(root) => {
                let mut command = Command::new("chroot");
                command
                    .arg(root)
                    .arg("env")
                    .arg("--chdir")
                    .arg(folder)
                    .arg(program);
                // Its programs may be in other folders than ours.
                command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
                command
            }
        }
    }

    fn compiler(&self, language: Language) -> String {
        let name = match language {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
            Language::Cuda => "nvcc",
            // GCC 13 to 16 support it in name only.
            Language::Rust => "gccrs",
        };
        format!("{name}-{}", self.version)
    }

    /// The path of a folder for this process.
    #[must_use]
    pub fn outside(&self, folder: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(folder.strip_prefix("/").unwrap_or(folder)),
            None => folder.to_path_buf(),
        }
    }
}

impl Drop for Gcc {
    fn drop(&mut self) {
        // If it cannot be removed, it was not created.
        let _ = fs::remove_dir_all(self.outside(&self.folder));
    }
}

/// The requested version, if there is one.
fn asked() -> Result<Option<u32>, String> {
    let Some(text) = env::var_os(VERSION).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let version = text.to_str().and_then(|text| text.parse().ok());
    let version = version.filter(|version| VERSIONS.contains(version));
    let known = || format!("{VERSION}={}: one of {VERSIONS:?} expected", text.display());
    version.map(Some).ok_or_else(known)
}

fn is_there(root: Option<&Path>, name: &str) -> bool {
    match root {
        Some(root) => root.join("usr/bin").join(name).exists(),
        None => on_path(name),
    }
}
