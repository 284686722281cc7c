//! The programs and tests of a package.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::source::Source;
use crate::error::BuildError;
use crate::krate::Package;

/// A package with programs or tests.
pub(crate) struct Programs {
    pub(crate) manifest: PathBuf,
    pub(crate) target_dir: PathBuf,
    targets: Vec<Target>,
    default: Option<String>,
}

/// A crate of the package that becomes a program.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Its root file.
    pub(crate) source: PathBuf,
    /// Whether it is among the crates whose tests cargo runs, if none is named.
    has_tests: bool,
    required_features: Vec<String>,
}

/// The kinds of crates with programs or tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Library,
    Program,
    /// A file of `tests`.
    Test,
}

/// The crates whose tests are built: those that are named, or all.
#[derive(Clone, Debug, Default)]
pub struct TestSelection {
    /// The library.
    pub library: bool,
    /// Programs, by their name.
    pub programs: Vec<String>,
    /// Files of the folder `tests`, by their name.
    pub tests: Vec<String>,
}

impl Programs {
    /// Asks `cargo`, which makes commands without arguments, for the package.
    pub(crate) fn of_source(
        cargo: impl Fn() -> Command,
        source: &Source,
    ) -> Result<Self, BuildError> {
        let ask = |options: &[String]| {
            Package::at(cargo(), &source.folder, options).map_err(|reason| BuildError::NoProgram {
                path: source.folder.clone(),
                reason: reason.to_string(),
            })
        };
        let Package {
            manifest,
            package,
            target_dir,
            ..
        } = ask(&[Package::ALONE.to_owned()])?;
        let targets = package["targets"].as_array().into_iter().flatten();
        let mut targets: Vec<_> = targets.filter_map(Target::parse).collect();
        if targets.iter().any(|it| !it.required_features.is_empty()) {
            let enabled = ask(&source.options())?.features;
            for target in &mut targets {
                let mut required = target.required_features.iter();
                target.has_tests &= required.all(|it| enabled.contains(it));
            }
        }
        Ok(Self {
            manifest,
            target_dir,
            targets,
            default: package["default_run"].as_str().map(str::to_owned),
        })
    }

    /// The program with this name, or the only one.
    pub(crate) fn program(&self, name: Option<&str>) -> Result<&Target, BuildError> {
        if let Some(name) = name.or(self.default.as_deref()) {
            return self.find(Kind::Program, name);
        }
        match *self.of(Kind::Program).collect::<Vec<_>>() {
            [only] => Ok(only),
            [] => Err(self.none("it has no src/main.rs, only a library".to_owned())),
            _ => Err(self.none(format!(
                "it has several programs, name one (--bin): {}",
                self.names(Kind::Program)
            ))),
        }
    }

    /// The crates with the selected tests.
    pub(crate) fn tests(&self, selection: &TestSelection) -> Result<Vec<&Target>, BuildError> {
        let TestSelection {
            library,
            programs,
            tests,
        } = selection;
        if !*library && programs.is_empty() && tests.is_empty() {
            return Ok(self.targets.iter().filter(|it| it.has_tests).collect());
        }
        let mut selected = Vec::new();
        if *library {
            match self.of(Kind::Library).next() {
                Some(library) => selected.push(library),
                None => return Err(self.none("it has no library (--lib)".to_owned())),
            }
        }
        for (kind, names) in [(Kind::Program, programs), (Kind::Test, tests)] {
            for name in names {
                selected.push(self.find(kind, name)?);
            }
        }
        Ok(selected)
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |it| it.kind == kind)
    }

    fn names(&self, kind: Kind) -> String {
        let names: Vec<_> = self.of(kind).map(|it| it.name.as_str()).collect();
        names.join(", ")
    }

    fn find(&self, kind: Kind, name: &str) -> Result<&Target, BuildError> {
        let what = match kind {
            Kind::Library => "library",
            Kind::Program => "program",
            Kind::Test => "test",
        };
        self.of(kind).find(|it| it.name == name).ok_or_else(|| {
            self.none(match &*self.names(kind) {
                "" => format!("it has no {what} `{name}`, and no other"),
                others => format!("it has no {what} `{name}`, only: {others}"),
            })
        })
    }

    fn none(&self, reason: String) -> BuildError {
        BuildError::NoProgram {
            path: self.manifest.clone(),
            reason,
        }
    }
}

impl Target {
    /// From cargo's description; `None` if it is of another kind.
    fn parse(target: &Value) -> Option<Self> {
        let kinds = target["kind"].as_array()?;
        let kind = kinds.iter().find_map(|kind| match kind.as_str()? {
            "lib" | "rlib" => Some(Kind::Library),
            "bin" => Some(Kind::Program),
            "test" => Some(Kind::Test),
            _ => None,
        })?;
        let required = target["required-features"].as_array();
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        Some(Self {
            name: target["name"].as_str()?.to_owned(),
            kind,
            source: target["src_path"].as_str()?.into(),
            has_tests: target["test"].as_bool().unwrap_or(false),
            required_features: required.map(str::to_owned).collect(),
        })
    }

    /// The arguments by which cargo selects it.
    pub(crate) fn arguments(&self) -> Vec<&str> {
        match self.kind {
            Kind::Library => vec!["--lib"],
            Kind::Program => vec!["--bin", &self.name],
            Kind::Test => vec!["--test", &self.name],
        }
    }
}
