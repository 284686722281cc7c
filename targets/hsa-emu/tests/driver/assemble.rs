//! Code objects of the tests' kernels.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

const KERNELS: &str = include_str!("kernels.s");

/// The code object of the tests' kernels for gfx90a, if this machine has an assembler.
pub(crate) fn kernels() -> Option<&'static [u8]> {
    static KERNELS: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(assemble).as_deref();
    if kernels.is_none() {
        // The output of a test that passes is not seen.
        assert!(std::env::var_os("CI").is_none(), "CI has LLVM 22");
        println!("SKIPPED kernels: no clang-22 and ld.lld-22 (clang-22, lld-22)");
    }
    kernels
}

fn assemble() -> Option<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("hsa-emu-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| -> PathBuf { folder.join(name) };
    let (source, object, linked) = (path("kernels.s"), path("kernels.o"), path("kernels.co"));
    std::fs::write(&source, KERNELS).expect("a file");
    let mut clang = Command::new("clang-22");
    clang.args([
        "-x",
        "assembler",
        "--target=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-c",
    ]);
    clang.arg(&source).arg("-o").arg(&object);
    let mut lld = Command::new("ld.lld-22");
    lld.arg("-shared").arg(&object).arg("-o").arg(&linked);
    for mut command in [clang, lld] {
        let output = command.output().ok()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {errors}");
    }
    let bytes = std::fs::read(&linked).expect("a file");
    let _ = std::fs::remove_dir_all(&folder);
    Some(bytes)
}
