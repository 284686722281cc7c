//! Links the bitcode of `src/arch/amdgcn/scoped.ll` into images for AMD GPUs.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src/arch/amdgcn/librevoff_scoped.a");
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("amdgpu") {
        let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-search=native={root}/src/arch/amdgcn");
        println!("cargo::rustc-link-lib=static=revoff_scoped");
    }
}
