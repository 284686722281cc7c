//! A kernel crate on disk.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::{BuildError, NoCrate};

/// A kernel crate.
#[derive(Clone, Debug)]
pub(crate) struct Crate {
    /// Its manifest, an absolute path.
    pub(crate) manifest: PathBuf,
    /// The package's name.
    pub(crate) name: String,
    /// The library's name in file names.
    pub(crate) file: String,
    /// Whether its code is to be small: `small = true` in the manifest's `[package.metadata.revoff]`.
    pub(crate) is_small: bool,
}

impl Crate {
    /// The crate in the folder `dir`.
    pub(crate) fn at(dir: &Path) -> Result<Self, BuildError> {
        let no_crate = |reason: NoCrate| BuildError::NoCrate {
            path: dir.to_owned(),
            reason,
        };
        let cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let Package {
            manifest, package, ..
        } = Package::at(cargo, dir, &[Package::ALONE]).map_err(no_crate)?;
        // Cargo's names for the kinds of libraries; build scripts and programs have others.
        const LIBRARIES: [&str; 5] = ["lib", "rlib", "cdylib", "staticlib", "dylib"];
        let is_library = |target: &&Value| {
            let mut kinds = target["kind"].as_array().into_iter().flatten();
            kinds.any(|kind| kind.as_str().is_some_and(|kind| LIBRARIES.contains(&kind)))
        };
        let library = package["targets"]
            .as_array()
            .into_iter()
            .flatten()
            .find(is_library)
            .and_then(|library| library["name"].as_str())
            .ok_or_else(|| no_crate(NoCrate::NoLibrary))?;
        let is_small = match &package["metadata"]["revoff"]["small"] {
            Value::Null => false,
            Value::Bool(is_small) => *is_small,
            other => return Err(no_crate(NoCrate::Small(other.to_string()))),
        };
        Ok(Self {
            is_small,
            name: package["name"].as_str().unwrap_or(library).to_owned(),
            file: library.replace('-', "_"),
            manifest,
        })
    }
}

/// Cargo's description of a package.
pub(crate) struct Package {
    /// Its manifest, an absolute path.
    pub(crate) manifest: PathBuf,
    /// The package itself.
    pub(crate) package: Value,
    /// The target directory of its workspace.
    pub(crate) target_dir: PathBuf,
    /// Its enabled features, if cargo was asked about dependencies as well.
    pub(crate) features: Vec<String>,
}

impl Package {
    /// The option to ask for the package without its dependencies.
    pub(crate) const ALONE: &str = "--no-deps";

    /// Asks `cargo`, a command without arguments, for the package in the folder `dir`.
    pub(crate) fn at(
        mut cargo: Command,
        dir: &Path,
        options: &[impl AsRef<OsStr>],
    ) -> Result<Self, NoCrate> {
        let manifest = dir.join("Cargo.toml");
        let manifest = manifest
            .canonicalize()
            .map_err(|reason| NoCrate::Manifest { manifest, reason })?;
        let output = cargo
            .args(["metadata", "--format-version=1", "--manifest-path"])
            .arg(&manifest)
            .args(options)
            .output()
            .map_err(NoCrate::Cargo)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(NoCrate::Refused(said));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout).map_err(NoCrate::Metadata)?;
        let is_it =
            |package: &&Value| package["manifest_path"].as_str().map(Path::new) == Some(&manifest);
        let package = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(is_it)
            .ok_or(NoCrate::OnlyWorkspace)?;
        let nodes = metadata["resolve"]["nodes"].as_array();
        let mut nodes = nodes.into_iter().flatten();
        let node = nodes.find(|node| node["id"] == package["id"]);
        let features = node.and_then(|node| node["features"].as_array());
        let features = features.into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            package: package.clone(),
            features: features.map(str::to_owned).collect(),
            target_dir: metadata["target_directory"]
                .as_str()
                .unwrap_or("target")
                .into(),
            manifest,
        })
    }
}

/// The sources that a file of cargo's dependency information lists, in which blanks in paths are
/// escaped by backslashes: "output: source source ..".
pub(crate) fn sources(dep_info: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let listed = fs::read_to_string(dep_info).map_err(crate::error::io_at(dep_info))?;
    Ok(listed
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, sources)| words(sources))
        .collect())
}

fn words(text: &str) -> Vec<PathBuf> {
    let mut words = vec![];
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            ' ' => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::{Crate, words};
    use std::fs;
    use std::path::Path;

    #[test]
    fn small_is_true_or_false() {
        let dir = tempfile::tempdir().expect("a folder");
        let manifest = |small: &str| {
            let text = format!(
                "[package]\nname = \"k\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n\
                 [package.metadata.revoff]\n{small}"
            );
            fs::write(dir.path().join("Cargo.toml"), text).expect("it is written");
            Crate::at(dir.path())
        };
        fs::write(dir.path().join("lib.rs"), "").expect("it is written");
        assert!(!manifest("").expect("a crate").is_small);
        assert!(manifest("small = true").expect("a crate").is_small);
        let refused = manifest("small = \"yes\"").expect_err("no boolean");
        assert!(refused.to_string().contains("small = \"yes\""), "{refused}");
    }

    #[test]
    fn a_blank_in_a_path_is_no_separator() {
        let found = words("/a/lib.rs /with\\ blank/b.rs");
        assert_eq!(
            found,
            [Path::new("/a/lib.rs"), Path::new("/with blank/b.rs")]
        );
    }
}
