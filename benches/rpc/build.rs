//! Builds the benchmark's image for the `host` device, for the tests.

fn main() {
    revoff_build::kernel_crate("../kernels").export("REVOFF_IMAGE_BENCH");
}
