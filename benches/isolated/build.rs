//! Builds the image for the `host` device.

fn main() {
    revoff_build::kernel_crate("../kernels").export("REVOFF_IMAGE_BENCH_ISOLATED");
}
