//! NVIDIA's assembler, if there is one: cubins, and the resources of kernels.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Usage;
use crate::error::{BuildError, io_at};

/// The environment variable that names assemblers, separated by colons. Each supports some
/// architectures; PyPI has one wheel for each CUDA release.
pub const PTXAS: &str = "REVOFF_PTXAS";

/// Assemblers of this machine, newest first.
#[derive(Clone, Debug, Default)]
pub struct Assemblers {
    found: Vec<Ptxas>,
}

/// An assembler.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
    release: (u32, u32),
    arches: Vec<String>,
}

impl Assemblers {
    /// The assemblers in [`PTXAS`]; if it is not set, those on the `PATH` and in CUDA's usual
    /// folders.
    ///
    /// # Errors
    /// [`PTXAS`] names a file that is not an assembler.
    pub fn find() -> Result<Self, BuildError> {
        let named = env::var_os(PTXAS).unwrap_or_default();
        let mut found = vec![];
        for path in env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()) {
            found.push(Ptxas::at(&path).ok_or_else(|| {
                BuildError::Request(format!(
                    "{PTXAS} names {}, which is no ptxas that runs; name others, with colons \
                     between them, or unset it",
                    path.display()
                ))
            })?);
        }
        if found.is_empty() {
            let path = env::var_os("PATH").unwrap_or_default();
            let mut places: Vec<PathBuf> = env::split_paths(&path).collect();
            for root in ["CUDA_HOME", "CUDA_PATH"]
                .map(env::var_os)
                .into_iter()
                .flatten()
            {
                places.push(Path::new(&root).join("bin"));
            }
            places.push("/usr/local/cuda/bin".into());
            found.extend(
                places
                    .iter()
                    .filter_map(|place| Ptxas::at(&place.join("ptxas"))),
            );
        }
        found.sort_by_key(|ptxas| std::cmp::Reverse(ptxas.release));
        found.dedup_by(|one, other| one.release == other.release);
        Ok(Self { found })
    }

    /// The newest that supports `arch`.
    #[must_use]
    pub fn for_arch(&self, arch: &str) -> Option<&Ptxas> {
        self.found
            .iter()
            .find(|ptxas| ptxas.arches.iter().any(|known| known == arch))
    }
}

impl Ptxas {
    fn at(path: &Path) -> Option<Self> {
        let ask = |flag: &str| {
            let output = Command::new(path).arg(flag).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = ask("--version")?;
        // "Cuda compilation tools, release 12.9, V12.9.86"
        let release = version.split("release ").nth(1)?.split(',').next()?;
        let (major, minor) = release.split_once('.')?;
        let help = ask("--help")?;
        // Values stand in quotes; prose names architectures too.
        let arches = help
            .split('\'')
            .filter(|word| word.starts_with("sm_") && !word.contains(' '))
            .map(str::to_owned)
            .collect();
        Some(Self {
            path: path.to_owned(),
            release: (major.parse().ok()?, minor.parse().ok()?),
            arches,
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// "ptxas 12.9".
    #[must_use]
    pub fn description(&self) -> String {
        format!("ptxas {}.{}", self.release.0, self.release.1)
    }

    /// Assembles `ptx` for `arch` into `cubin`: a loadable one, or with `relocatable`
    /// one for a linker, which keeps functions that no kernel calls.
    pub(crate) fn assemble(
        &self,
        ptx: &Path,
        arch: &str,
        cubin: &Path,
        relocatable: bool,
    ) -> Result<Vec<Usage>, BuildError> {
        let mut command = Command::new(&self.path);
        command.args(["-v", "-arch", arch]);
        command.arg(ptx).arg("-o").arg(cubin);
        if relocatable {
            command.arg("-c");
        }
        let output = command.output().map_err(io_at(&self.path))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(BuildError::Tool {
                tool: self.path.clone(),
                input: ptx.to_owned(),
                said: said.trim().to_owned(),
            });
        }
        Ok(usage(&said))
    }
}

/// Parses the output of `ptxas -v`: properties of each function, followed by a kernel's registers.
fn usage(said: &str) -> Vec<Usage> {
    let mut all: Vec<Usage> = vec![];
    for line in said.lines() {
        if let Some(name) = line.split("Function properties for ").nth(1) {
            all.push(Usage {
                name: name.trim().to_owned(),
                ..Usage::default()
            });
        } else if let Some(last) = all.last_mut() {
            let words: Vec<_> = line
                .split([' ', ','])
                .filter(|word| !word.is_empty())
                .collect();
            let before = |what: &[&str]| {
                let at = words.windows(what.len()).position(|words| words == what)?;
                words.get(at.checked_sub(1)?)?.parse::<u32>().ok()
            };
            if let Some(bytes) = before(&["bytes", "stack", "frame"]) {
                last.stack = bytes;
            }
            if let Some(bytes) = before(&["bytes", "spill", "stores"]) {
                last.spilled = bytes;
            }
            if let Some(count) = before(&["registers"]) {
                last.registers = Some(count);
            }
            if let Some(bytes) = before(&["bytes", "smem"]) {
                last.shared = bytes;
            }
        }
    }
    // Each of these is on a line of its own, at any position.
    let unknown = said.split("Stack size for entry function '").skip(1);
    for name in unknown.filter_map(|rest| rest.split('\'').next()) {
        for usage in all.iter_mut().filter(|usage| usage.name == name) {
            usage.has_dynamic_stack = true;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::usage;

    #[test]
    fn what_ptxas_says_is_read() {
        let said = "\
ptxas info    : 88 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_70'
ptxas info    : Function properties for k
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 46 registers, used 0 barriers, 16 bytes cumulative stack size, 64 bytes smem, 384 bytes cmem[0]
ptxas warning : Stack size for entry function 'k' cannot be statically determined
ptxas info    : Function properties for GOMP_target_ext
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compile time = 124.728 ms
";
        let all = usage(said);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].name, "k");
        assert_eq!(
            (all[0].registers, all[0].stack, all[0].spilled),
            (Some(46), 16, 8)
        );
        assert_eq!((all[0].shared, all[0].has_dynamic_stack), (64, true));
        assert_eq!(all[1].name, "GOMP_target_ext");
        assert_eq!(
            (all[1].registers, all[1].stack, all[1].spilled),
            (None, 0, 0)
        );
        assert_eq!((all[1].shared, all[1].has_dynamic_stack), (0, false));
    }
}
