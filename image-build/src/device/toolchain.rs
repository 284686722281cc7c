//! Finding a compiler that builds for GPUs: one with the source of `core`.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use targets::arch::{Arch, Target};

use crate::error::{BuildError, RUSTC, Unsuitable};

/// The oldest release whose library has everything that `device-rt` uses.
const MINIMUM: (u32, u32) = (1, 96);

/// The folder with the source of the standard library, below a sysroot.
const LIBRARY: &str = "lib/rustlib/src/rust/library";

/// A Rust toolchain that can build `core` for GPUs.
#[derive(Clone, Debug)]
pub struct Toolchain {
    rustc: PathBuf,
    cargo: PathBuf,
    sysroot: PathBuf,
    version: (u32, u32),
    release: String,
    host: String,
    llvm: u32,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rustc {} (LLVM {}) at {}",
            self.release,
            self.llvm,
            self.rustc.display()
        )
    }
}

impl Toolchain {
    /// A toolchain that supports all of `arches`: the one that [`RUSTC`] names, or else the oldest
    /// suitable one of rustup's and `/usr/bin`, since the oldest is the best tested.
    ///
    /// # Errors
    /// There is none; the error lists the candidates.
    pub fn find(arches: &[&Arch]) -> Result<Self, BuildError> {
        if let Some(named) = env::var_os(RUSTC).filter(|named| !named.is_empty()) {
            // A compiler that the user names has no substitute.
            return Self::at(Path::new(&named), arches).map_err(|why| BuildError::NoToolchain {
                tried: vec![format!("  {RUSTC}={}: {why}", named.display())],
            });
        }
        let (mut found, mut tried) = (vec![], vec![]);
        for rustc in candidates() {
            match Self::at(&rustc, arches) {
                Ok(toolchain) => found.push(toolchain),
                Err(why) => tried.push(format!("  {}: {why}", rustc.display())),
            }
        }
        if tried.is_empty() {
            tried.push("  neither rustup's toolchains nor /usr/bin/rustc are there".to_owned());
        }
        found
            .into_iter()
            .min_by_key(|toolchain| toolchain.version)
            .ok_or(BuildError::NoToolchain { tried })
    }

    /// The toolchain of the compiler at `rustc`, or the reason why it is unsuitable.
    fn at(rustc: &Path, arches: &[&Arch]) -> Result<Self, Unsuitable> {
        let ask = |args: &[&str]| {
            let output = Command::new(rustc)
                .args(args)
                .output()
                .map_err(Unsuitable::Run)?;
            if !output.status.success() {
                let (args, status) = (args.join(" "), output.status);
                return Err(Unsuitable::Fails { args, status });
            }
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let about = ask(&["-vV"])?;
        let field = |name: &str| {
            about
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(str::to_owned)
                .ok_or_else(|| Unsuitable::NoField(name.to_owned()))
        };
        let release = field("release")?;
        let mut numbers = release
            .split(['.', '-'])
            .map_while(|n| n.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < MINIMUM {
            let minimum = MINIMUM;
            return Err(Unsuitable::TooOld { release, minimum });
        }
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        let core = sysroot.join(LIBRARY).join("core/src/lib.rs");
        if !core.is_file() {
            return Err(Unsuitable::NoSource(core));
        }
        for target in Target::ALL {
            let of_target = || arches.iter().filter(|arch| arch.target == target);
            if of_target().next().is_none() {
                continue;
            }
            let known = ask(&["--print", "target-cpus", "--target", target.rust_triple()])?;
            let knows = |arch: &Arch| {
                known
                    .lines()
                    .any(|line| line.split_whitespace().next() == Some(arch.name))
            };
            let missing: Vec<_> = of_target()
                .filter(|arch| !knows(arch))
                .map(|arch| arch.name)
                .collect();
            if !missing.is_empty() {
                return Err(Unsuitable::NoArch { release, missing });
            }
        }
        let llvm = field("LLVM version")?;
        let own_cargo = rustc.with_file_name("cargo");
        Ok(Self {
            rustc: rustc.to_owned(),
            cargo: if own_cargo.is_file() {
                own_cargo
            } else {
                env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
            },
            sysroot,
            version,
            release,
            host: field("host")?,
            llvm: llvm
                .split('.')
                .next()
                .and_then(|major| major.parse().ok())
                .ok_or(Unsuitable::NoLlvmVersion(llvm))?,
        })
    }

    /// Its release, such as "1.96.0".
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The numbers of its release.
    pub(crate) fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The target of this machine.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The folder with the source of the standard library.
    pub(crate) fn library_source(&self) -> PathBuf {
        self.sysroot.join(LIBRARY)
    }

    /// The major version of its LLVM.
    #[must_use]
    pub fn llvm(&self) -> u32 {
        self.llvm
    }

    /// The compiler.
    #[must_use]
    pub fn rustc(&self) -> &Path {
        &self.rustc
    }

    /// A cargo for it.
    #[must_use]
    pub fn cargo(&self) -> &Path {
        &self.cargo
    }

    /// A linker for AMD's code objects: the toolchain's own, or LLVM's of the same or a newer
    /// version.
    pub(crate) fn lld(&self) -> Result<Command, BuildError> {
        let own = self.own_tool("rust-lld");
        if own.is_file() {
            let mut command = Command::new(own);
            command.args(["-flavor", "gnu"]);
            return Ok(command);
        }
        self.llvm_tool("ld.lld").ok_or_else(|| BuildError::NoTool {
            tool: "linker (ld.lld)",
            arch: Target::Amdgcn.rust_triple().to_owned(),
            help: format!("install Debian's lld-{} or a newer one", self.llvm),
        })
    }

    /// LLVM's compiler, which reads what this toolchain's LLVM has written.
    pub(crate) fn llc(&self) -> Result<Command, BuildError> {
        let own = self.own_tool("llc");
        if own.is_file() {
            return Ok(Command::new(own));
        }
        self.llvm_tool("llc").ok_or_else(|| BuildError::NoTool {
            tool: "compiler (LLVM's llc)",
            arch: Target::Amdgcn.rust_triple().to_owned(),
            help: format!(
                "install rustup's component llvm-tools for Rust {}, or Debian's llvm-{} or a newer one",
                self.release, self.llvm
            ),
        })
    }

    /// The place of a tool that rustup installs with the compiler.
    fn own_tool(&self, name: &str) -> PathBuf {
        let of_host = self.sysroot.join("lib/rustlib").join(&self.host);
        of_host.join("bin").join(name)
    }

    /// A tool of LLVM's, of the same or a newer version.
    fn llvm_tool(&self, name: &str) -> Option<Command> {
        // Debian's names contain the version; a name without one is the user's choice.
        (self.llvm..self.llvm + 4)
            .map(|version| format!("{name}-{version}"))
            .chain([name.to_owned()])
            .find(|name| Command::new(name).arg("--version").output().is_ok())
            .map(Command::new)
    }
}

/// Possible compilers.
fn candidates() -> Vec<PathBuf> {
    let mut found = vec![];
    let rustup = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".rustup")));
    if let Some(toolchains) = rustup.and_then(|home| home.join("toolchains").read_dir().ok()) {
        found.extend(
            toolchains
                .filter_map(Result::ok)
                .map(|entry| entry.path().join("bin/rustc"))
                .filter(|rustc| rustc.is_file()),
        );
        found.sort();
    }
    found.extend(Some(PathBuf::from("/usr/bin/rustc")).filter(|rustc| rustc.is_file()));
    found
}
