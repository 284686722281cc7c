//! Builds the images that the suite loads.

const INCLUDE: &[&str] = &["../../shared-abi/include"];

fn main() {
    revoff_build::kernel_crate("kernels").export("REVOFF_IMAGE_KERNELS");
    let piece = revoff_build::static_library("linkable");
    let pieces = [piece];
    revoff_build::c_image("calls", &["c/calls.c"], INCLUDE, &pieces).export("REVOFF_IMAGE_C_CALLS");
    revoff_build::c_image("words", &["c/words.c"], INCLUDE, &pieces).export("REVOFF_IMAGE_C_WORDS");
    revoff_build::c_image("panics", &["c/panics.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_PANICS");
    revoff_build::c_image("plain", &["c/plain.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_PLAIN");
    revoff_build::c_image("silent", &["c/silent.c"], INCLUDE, &[]).export("REVOFF_IMAGE_C_SILENT");
}
