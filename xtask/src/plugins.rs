//! `cargo xtask plugins`: the plugins, under the names by which programs load them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use revoff_build::{STAYS_LOADED, link_with_versions};

/// A plugin.
struct Plugin {
    package: &'static str,
    /// The name of Cargo's file.
    built: &'static str,
    /// The name under which it is loaded.
    loaded: &'static str,
    /// For a static library that becomes a shared object: the version script of its symbols, and more options.
    versions: Option<(&'static str, &'static [&'static str])>,
}

const PLUGINS: [Plugin; 6] = [
    Plugin {
        package: "libgomp-plugin-nvptx",
        built: "libgomp_plugin_nvptx.so",
        loaded: "libgomp-plugin-nvptx.so.1",
        versions: None,
    },
    Plugin {
        package: "libgomp-plugin-gcn",
        built: "libgomp_plugin_gcn.so",
        loaded: "libgomp-plugin-gcn.so.1",
        versions: None,
    },
    // The vendors' drivers, emulated, in a folder of their own: beside GCC's plugins, and not in place of them.
    Plugin {
        package: "libcuda",
        built: "libcuda_emulated.so",
        loaded: "emulated/libcuda.so.1",
        versions: None,
    },
    Plugin {
        package: "libcudart",
        built: "libcudart_emulated.a",
        loaded: "emulated/libcudart.so.12",
        versions: Some(("targets/cuda-emu/libcudart/versions.map", &[])),
    },
    // AMD's runtime, emulated.
    Plugin {
        package: "libhsa",
        built: "libhsa_emulated.a",
        loaded: "emulated/libhsa-runtime64.so.1",
        versions: Some(("targets/hsa-emu/libhsa/versions.map", &[STAYS_LOADED])),
    },
    Plugin {
        package: "libomptarget",
        built: "libomptarget.a",
        loaded: "libomptarget.so.22.1",
        versions: Some(("plugins/libomptarget/versions.map", &[])),
    },
];

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

/// Builds the plugins with one of Cargo's profiles and puts them into the folder `out`; returns their paths.
pub(crate) fn put(root: &Path, profile: &str, out: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(out).with_context(|| format!("making {}", out.display()))?;
    let built = build(root, profile, &["--lib"])?;
    let mut made = Vec::new();
    for plugin in PLUGINS {
        let name = plugin.built;
        let from = built
            .iter()
            .find(|file| file.ends_with(name))
            .with_context(|| format!("{} builds no {name}", plugin.package))?;
        let to = out.join(plugin.loaded);
        let folder = to.parent().unwrap_or(out);
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        // Replaces the old file instead of writing to it, since running programs may have loaded
        // it.
        let _ = std::fs::remove_file(&to);
        match plugin.versions {
            Some((versions, options)) => {
                let name = to.file_name().unwrap_or_default().to_string_lossy();
                link_with_versions(from, &root.join(versions), &name, options, &to)?;
            }
            None => {
                std::fs::copy(from, &to)
                    .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
            }
        }
        made.push(to);
    }
    Ok(made)
}

/// The plugins' packages and the command's.
pub(crate) fn packages() -> Vec<&'static str> {
    let plugins = PLUGINS.iter().map(|plugin| plugin.package);
    plugins.chain(["revoff-cli"]).collect()
}

/// Builds what `targets` chooses of the plugins' packages and of the command's; returns the paths of all files that
/// Cargo made.
pub(crate) fn build(root: &Path, profile: &str, targets: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root);
    cargo.args(["build", "--profile", profile]).args(targets);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    // Whoever names packages gets their dependencies with fewer features than `cargo test` has
    // compiled, and so compiles them again.
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
