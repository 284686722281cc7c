//! Builds the image for the `host` device.

fn main() {
    revoff_build::kernel_crate("kernel").export("REVOFF_IMAGE_BENCH_TASKS");
}
