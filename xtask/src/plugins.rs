//! `cargo xtask plugins`: the plugins, by the names under which they are loaded.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Package, what Cargo calls its shared object, what it is loaded as.
const PLUGINS: [[&str; 3]; 1] = [[
    "libgomp-plugin-nvptx",
    "libgomp_plugin_nvptx.so",
    "libgomp-plugin-nvptx.so.1",
]];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder that gets them
    #[arg(long, value_name = "DIR", default_value = "target/plugins")]
    out: PathBuf,
    /// Build them without optimisation
    #[arg(long)]
    debug: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<String> {
    let out = root.join(&options.out);
    std::fs::create_dir_all(&out).with_context(|| format!("making {}", out.display()))?;
    let mut said = Vec::new();
    for [package, built, loaded] in PLUGINS {
        let from = build(root, package, built, options.debug)?;
        let to = out.join(loaded);
        // Another file, where the old one is loaded: what is running keeps it.
        let _ = std::fs::remove_file(&to);
        std::fs::copy(&from, &to)
            .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
        said.push(to.display().to_string());
    }
    Ok(said.join("\n"))
}

/// Builds `package`; where its shared object `built` is.
fn build(root: &Path, package: &str, built: &str, debug: bool) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root);
    cargo.args(["build", "--package", package, "--lib"]);
    if !debug {
        cargo.arg("--release");
    }
    let output = cargo
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("running {}", env!("CARGO")))?;
    if !output.status.success() {
        bail!("{package} does not build");
    }
    let found = output.stdout.split(|&byte| byte == b'\n').find_map(|line| {
        let message: serde_json::Value = serde_json::from_slice(line).ok()?;
        let files = message.get("filenames")?.as_array()?;
        let mut files = files.iter().filter_map(|file| file.as_str());
        files
            .find(|file| file.ends_with(&format!("/{built}")))
            .map(PathBuf::from)
    });
    found.with_context(|| format!("{package} builds no {built}"))
}
