//! Builds the kernels.

fn main() {
    if std::env::var_os("CARGO_FEATURE_LIBRARY").is_some() {
        image_build::kernel_crate("kernel").export("REVOFF_IMAGE_MPI");
        let device_rt = image_build::static_library("../../device-rt/linkable");
        let include = ["../../shared-abi/include", "../../mpi/include"];
        image_build::c_image("kernels", &["c/kernels.c"], &include, &[device_rt])
            .export("REVOFF_IMAGE_MPI_C");
    }
}
