//! Builds the images that `revoff bench` carries.

use std::path::Path;
use std::{env, fs};

fn main() {
    for (folder, name) in [
        ("../benches/kernels", "REVOFF_IMAGE_BENCH"),
        ("../benches/quiet", "REVOFF_IMAGE_BENCH_QUIET"),
    ] {
        if Path::new(folder).exists() {
            revoff_build::kernel_crate(folder).export(name);
        } else {
            // A package from the registry has no kernels: `revoff bench` asks for an image.
            let out = env::var("OUT_DIR").expect("cargo sets it");
            let path = Path::new(&out).join("none");
            fs::write(&path, "").expect("cargo's folder is for files");
            println!("cargo::rustc-env={name}={}", path.display());
        }
    }
}
