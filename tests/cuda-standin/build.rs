//! Builds the kernels of the tests.

fn main() {
    image_build::c_image(
        "kernels",
        &["c/kernels.c"],
        &["../../shared-abi/include"],
        &[],
    )
    .export("REVOFF_IMAGE_KERNELS");
}
