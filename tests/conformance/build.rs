//! Builds the images that the suite loads.

const INCLUDE: &[&str] = &["../../shared-abi/include"];

fn main() {
    image_build::kernel_crate("kernels").export("REVOFF_IMAGE_KERNELS");
    let device_rt = image_build::static_library("linkable");
    let device_rt = [device_rt];
    image_build::c_image("calls", &["c/calls.c"], INCLUDE, &device_rt)
        .export("REVOFF_IMAGE_C_CALLS");
    image_build::c_image("words", &["c/words.c"], INCLUDE, &device_rt)
        .export("REVOFF_IMAGE_C_WORDS");
    image_build::c_image("panics", &["c/panics.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_PANICS");
    image_build::c_image("plain", &["c/plain.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_PLAIN");
    image_build::c_image("silent", &["c/silent.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_SILENT");
}
