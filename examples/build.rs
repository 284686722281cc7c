//! Builds the images that the examples load.

fn main() {
    revoff_build::kernel_crate("digest/kernel").export("REVOFF_IMAGE_DIGEST");
    if std::env::var_os("CARGO_FEATURE_MPI").is_some() {
        revoff_build::kernel_crate("halo/kernel").export("REVOFF_IMAGE_HALO");
    }
    revoff_build::kernel_crate("heat/kernel").export("REVOFF_IMAGE_HEAT");
    revoff_build::kernel_crate("search/kernel").export("REVOFF_IMAGE_SEARCH");
}
