//! Builds the images that `revoff bench` carries.

fn main() {
    revoff_build::kernel_crate("../benches/kernels").export("REVOFF_IMAGE_BENCH");
    revoff_build::kernel_crate("../benches/quiet").export("REVOFF_IMAGE_BENCH_QUIET");
}
