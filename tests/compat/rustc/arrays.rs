//! Data that is copied to the device and back repeatedly.
#![feature(abi_gpu_kernel, rustc_attrs, core_intrinsics)]
#![allow(internal_features, unused_features)]

use core::intrinsics::offload;

offload_image::embed!("kernels.so");

unsafe extern "C" {
    fn reverse(x: *mut [u32; 1000]);
}

fn main() {
    let mut x: [u32; 1000] = core::array::from_fn(|i| i as u32);
    for round in 0..3 {
        x[0] += round;
        offload::<_, _, ()>(reverse, [4, 1, 1], [8, 1, 1], (&raw mut x,));
    }
    // Reversed three times, with a number added at alternating ends.
    assert_eq!(x[999], 2);
    assert_eq!(x[0], 1000);
    assert_eq!(x[500], 499);
    println!("ok");
}
