//! Builds the kernels.

fn main() {
    if std::env::var_os("CARGO_FEATURE_LIBRARY").is_some() {
        image_build::kernel_crate("kernel").export("REVOFF_IMAGE_MPI");
    }
}
