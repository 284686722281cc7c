//! Builds the image that `revoff bench` carries.

fn main() {
    image_build::kernel_crate("../benches/kernels").export("REVOFF_IMAGE_BENCH");
}
