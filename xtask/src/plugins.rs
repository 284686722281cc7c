//! `cargo xtask plugins`: the plugins, under the names by which programs load them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use revoff_build::{EMULATED_DRIVERS, Library};

const PLUGINS: [Library; 3] = [
    Library {
        package: "libgomp-plugin-nvptx",
        built: "libgomp_plugin_nvptx.so",
        loaded: "libgomp-plugin-nvptx.so.1",
        versions: None,
        linked: &[],
    },
    Library {
        package: "libgomp-plugin-gcn",
        built: "libgomp_plugin_gcn.so",
        loaded: "libgomp-plugin-gcn.so.1",
        versions: None,
        linked: &[],
    },
    Library {
        package: "libomptarget",
        built: "libomptarget.a",
        loaded: "libomptarget.so.22.1",
        versions: Some(("plugins/libomptarget/versions.map", &[])),
        linked: &[],
    },
];

/// The folder of the emulated drivers, below that of the plugins: beside GCC's plugins, and not in place of them.
const EMULATED: &str = "emulated";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder for them
    #[arg(long, value_name = "DIR", default_value = "target/plugins")]
    out: PathBuf,
    /// Build them without optimisation, as `cargo test` builds them
    #[arg(long)]
    debug: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<String> {
    let profile = if options.debug { "dev" } else { "release" };
    let made = put(root, profile, &root.join(&options.out))?;
    let made = made.iter().map(|path| path.display().to_string());
    Ok(made.collect::<Vec<_>>().join("\n"))
}

/// Builds the plugins and the emulated drivers with one of Cargo's profiles and puts them into the folder `out`; returns
/// their paths.
pub(crate) fn put(root: &Path, profile: &str, out: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let built = build(root, profile, &["--lib"])?;
    let plugins = PLUGINS.iter().map(|library| (library, out.to_owned()));
    let drivers = EMULATED_DRIVERS.iter();
    let drivers = drivers.map(|library| (library, out.join(EMULATED)));
    let mut made = Vec::new();
    for (library, folder) in plugins.chain(drivers) {
        let from = built
            .iter()
            .find(|file| file.ends_with(library.built))
            .with_context(|| format!("{} builds no {}", library.package, library.built))?;
        library.put(from, root, &folder)?;
        made.push(folder.join(library.loaded));
    }
    Ok(made)
}

/// The plugins' packages and the command's.
pub(crate) fn packages() -> Vec<&'static str> {
    let libraries = PLUGINS.iter().chain(&EMULATED_DRIVERS);
    let libraries = libraries.map(|library| library.package);
    libraries.chain(["revoff-cli"]).collect()
}

/// Builds what `targets` chooses of the plugins' packages and of the command's; returns the paths of all files that
/// Cargo made.
pub(crate) fn build(root: &Path, profile: &str, targets: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root);
    cargo.args(["build", "--profile", profile]).args(targets);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    // If packages are named, their dependencies have fewer features than `cargo test` has compiled, and are
    // compiled again.
    if profile != "dev" {
        for package in packages() {
            cargo.args(["--package", package]);
        }
    }
    let output = cargo
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("running {}", env!("CARGO")))?;
    if !output.status.success() {
        bail!("cargo build has failed: see above");
    }
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    let mut files = Vec::new();
    for message in messages {
        let message: serde_json::Value = message.context("reading Cargo's messages")?;
        let named = message["filenames"].as_array().into_iter().flatten();
        files.extend(named.filter_map(|file| file.as_str()).map(PathBuf::from));
    }
    Ok(files)
}
