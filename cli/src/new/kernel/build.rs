fn main() {
    revoff_build::kernel_crate("kernel").export("REVOFF_IMAGE_KERNEL");
}
