//! Builds the images that `revoff bench` carries.

fn main() {
    image_build::kernel_crate("../benches/kernels").export("REVOFF_IMAGE_BENCH");
    image_build::kernel_crate("../benches/quiet").export("REVOFF_IMAGE_BENCH_QUIET");
}
