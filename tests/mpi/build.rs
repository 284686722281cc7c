//! Builds the kernels.

fn main() {
    if std::env::var_os("CARGO_FEATURE_LIBRARY").is_some() {
        revoff_build::kernel_crate("kernel").export("REVOFF_IMAGE_MPI");
        let revoff_device = revoff_build::static_library("../../device-rt/linkable");
        let include = ["../../shared-abi/include", "../../mpi/include"];
        revoff_build::c_image("kernels", &["c/kernels.c"], &include, &[revoff_device])
            .export("REVOFF_IMAGE_MPI_C");
    }
}
