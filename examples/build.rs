//! Builds the images that the examples load.

fn main() {
    image_build::kernel_crate("digest/kernel").export("REVOFF_IMAGE_DIGEST");
    image_build::kernel_crate("heat/kernel").export("REVOFF_IMAGE_HEAT");
    image_build::kernel_crate("search/kernel").export("REVOFF_IMAGE_SEARCH");
}
