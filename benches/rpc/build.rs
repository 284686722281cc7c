//! Builds the kernels for the tests. A package from the registry has neither.

use std::path::Path;

fn main() {
    if Path::new("../kernels").exists() {
        revoff_build::kernel_crate("../kernels").export("REVOFF_IMAGE_BENCH");
    }
}
