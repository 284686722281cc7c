//! Cargo's metadata of the workspace's members.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The output of `cargo metadata`, without dependencies.
pub(crate) fn read(root: &Path) -> Result<Value> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Its packages.
pub(crate) fn packages(metadata: &Value) -> Result<&Vec<Value>> {
    let packages = metadata["packages"].as_array();
    packages.context("cargo metadata lists no packages")
}
