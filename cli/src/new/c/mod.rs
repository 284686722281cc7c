//! A kernel in C, its host functions, and a Makefile that builds and runs them.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

const FILES: [(&str, &str); 3] = [
    ("Makefile", include_str!("Makefile")),
    ("kernel.c", include_str!("kernel.c")),
    ("host.c", include_str!("host.c")),
];

/// Creates the folder with them.
pub(super) fn create(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        bail!("{} exists already: name another folder", folder.display());
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, content) in FILES {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
