//! The pieces, as built by `cargo xtask images --pieces`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::tools;

/// The architectures of the pieces.
const ARCHES: &str = "sm_35,sm_70,sm_90,gfx90a,gfx1100";

/// The kernel that is linked, in the workspace.
pub const HELLO: &str = "examples/gpu-c/hello.c";

/// The workspace's folder.
#[must_use]
pub fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The folder of the images, built under `root` once for all tests.
#[must_use]
pub fn built(root: &Path) -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let out = root.join("images");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(workspace());
        cargo.args(["xtask", "images", "--pieces", "--arch", ARCHES, "--out"]);
        cargo.arg(&out);
        // As in docs/gcc.md; the archive is only useful with GCC.
        if let Some((_, gcc)) = tools::gcc() {
            let name = "-print-file-name=accel/nvptx-none/mgomp/libgomp.a";
            let libgomp = tools::run(gcc.command().arg(name));
            cargo.args(["--gcc-libgomp", libgomp.trim()]);
        }
        tools::run(&mut cargo);
        out
    })
}

/// The piece `name` for `arch`.
#[must_use]
pub fn piece(root: &Path, arch: &str, name: &str) -> PathBuf {
    built(root).join("pieces").join(arch).join(name)
}

/// The folder of the headers.
#[must_use]
pub fn include(root: &Path) -> PathBuf {
    built(root).join("pieces/include")
}

/// An archive of object files for AMD's `arch`, which is not a piece.
#[must_use]
pub fn object_files(root: &Path, arch: &str) -> PathBuf {
    built(root).join(arch).join("librevoff_piece.a")
}
