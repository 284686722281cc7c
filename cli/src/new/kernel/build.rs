fn main() {
    image_build::kernel_crate("kernel").export("REVOFF_IMAGE_KERNEL");
}
