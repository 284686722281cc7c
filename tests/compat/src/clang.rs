//! clang, which compiles OpenMP target regions for this machine's processor, and LLVM's library
//! that runs them.

use std::env;
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{library, on_path};
use crate::{Build, Language, Program, complete};

/// The name by which programs by clang 22 find the library.
pub const LIBOMPTARGET: &str = "libomptarget.so.22.1";

/// The variable that names the compiler.
const CLANG: &str = "REVOFF_CLANG";

/// The compiler's version.
const VERSION: &str = "22";

/// The option of clang by which LLVM's linker links programs for this machine. With OpenMP, GNU's takes longer than the
/// compiler, for the symbols of LLVM's libraries; it links the bundle's programs, and those with MPI.
pub const LLD: &str = "-fuse-ld=lld";

/// clang, and its working folder, which is removed at the end.
pub struct Clang {
    compiler: OsString,
    sources: PathBuf,
    folder: PathBuf,
}

impl Clang {
    /// The installed compiler, for the sources in `sources`.
    ///
    /// # Errors
    /// There is none, or it lacks something; a description.
    pub fn find(sources: &Path, scratch: &Path) -> Result<Self, String> {
        let asked = env::var_os(CLANG).filter(|name| !name.is_empty());
        let default = format!("clang-{VERSION}");
        if asked.is_none() && !on_path(&default) {
            return Err(format!(
                "no {default} (apt-get install {default} clang-tools-{VERSION} lld-{VERSION} \
                 libomp-{VERSION}-dev), and {CLANG} is not set"
            ));
        }
        let clang = Self {
            compiler: asked.unwrap_or_else(|| default.into()),
            sources: sources.to_owned(),
            folder: scratch.join(format!("clang-{}", std::process::id())),
        };
        for (program, package) in [("clang-linker-wrapper", "clang-tools"), ("ld.lld", "lld")] {
            // clang repeats an unknown name.
            let found = clang.ask(&format!("-print-prog-name={program}"))?;
            if !Path::new(&found).is_absolute() {
                return Err(format!(
                    "{} has no {program} (apt-get install {package}-{VERSION})",
                    clang.compiler.display()
                ));
            }
        }
        let header = Path::new(&clang.ask("-print-resource-dir")?).join("include/omp.h");
        if !header.exists() {
            return Err(format!(
                "{} has no omp.h (apt-get install libomp-{VERSION}-dev)",
                clang.compiler.display()
            ));
        }
        fs::create_dir_all(&clang.folder)
            .map_err(|error| format!("{}: {error}", clang.folder.display()))?;
        Ok(clang)
    }

    /// The compiler, as a command in a folder.
    fn compiler_in(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.compiler);
        command.current_dir(folder).arg(LLD);
        command
    }

    /// The compiler's answer.
    fn ask(&self, question: &str) -> Result<String, String> {
        let output = Command::new(&self.compiler).arg(question).output();
        let output = output.map_err(|error| {
            let compiler = self.compiler.display();
            format!("{compiler}: {error} ({CLANG} names another clang)")
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// A folder with only LLVM's own library, so that a program gets the other libraries from their
    /// usual places.
    ///
    /// # Errors
    /// There is none.
    pub fn stock(&self) -> Result<PathBuf, String> {
        let file = self.ask(&format!("-print-file-name={LIBOMPTARGET}"))?;
        let missing = || format!("no {LIBOMPTARGET} (apt-get install liboffload-{VERSION})");
        let file = fs::canonicalize(file).map_err(|_| missing())?;
        let folder = self.folder.join("stock");
        let linked =
            fs::create_dir_all(&folder).and_then(|()| symlink(file, folder.join(LIBOMPTARGET)));
        linked.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// The compiler's name and version, for users.
    #[must_use]
    pub fn name(&self) -> String {
        let said = self.ask("--version").unwrap_or_default();
        said.lines().next().unwrap_or_default().to_owned()
    }

    /// Its working folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Builds a program; returns its folder.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn build(&self, program: &Program, build: Build) -> Result<PathBuf, String> {
        let folder = self.folder.join(build.folder()).join(&program.name);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let source = |file: &str| self.sources.join(file);
        let compile = || {
            let mut command = self.compiler_in(&folder);
            command.args([build.level, "-fopenmp"]);
            command.arg(format!("-fopenmp-targets={ARCH}-pc-linux-gnu"));
            // Headers shared with the programs for GCC.
            command.arg("-I").arg(self.sources.join("../gcc"));
            command
        };
        for file in program.libraries.iter().chain(&program.plugins) {
            let mut command = compile();
            command.args(["-fPIC", "-shared", "-o", &library(file)]);
            complete(command.arg(source(file)))?;
        }
        for file in &program.images {
            // A library compiled for offloading would register itself when loaded.
            let mut command = self.compiler_in(&folder);
            command.args(["-fPIC", "-shared", "-o", &library(file)]);
            complete(command.arg(source(file)))?;
        }
        let mut command = compile();
        command.args(["-o", &program.name]);
        command.args(program.with.iter().map(|file| source(file)));
        command.arg(source(&program.file));
        let libraries = program.libraries.iter();
        command.args(libraries.map(|file| format!("./{}", library(file))));
        if program.language == Language::Cxx {
            command.arg("-lstdc++");
        }
        complete(command.args(["-Wl,-rpath,$ORIGIN", "-lm"]))?;
        Ok(folder)
    }

    /// Builds a program without OpenMP, and a library with OpenMP that it loads; returns their
    /// folder.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn loader(&self, program: &str, loaded: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join("loader");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let compile = |options: &[&str], file: &str| {
            let mut command = Command::new(&self.compiler);
            command.current_dir(&folder).args(options);
            complete(command.arg(self.sources.join(file)))
        };
        let library = library(loaded);
        compile(&["-fopenmp", "-fPIC", "-shared", "-o", &library], loaded)?;
        compile(&["-o", "loader"], program)?;
        Ok(folder)
    }

    /// Builds a library from a source, under the name of LLVM's, in a separate folder.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn stand_in(&self, file: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join("stand-in");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.compiler);
        command.args(["-fPIC", "-shared", "-o"]);
        command.arg(folder.join(LIBOMPTARGET));
        complete(command.arg(self.sources.join(file)))?;
        Ok(folder)
    }
}

impl Drop for Clang {
    fn drop(&mut self) {
        // If it cannot be removed, it was not created.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
