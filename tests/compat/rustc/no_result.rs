//! A kernel without a result, and one that returns the data of the first.
#![feature(abi_gpu_kernel, rustc_attrs, core_intrinsics)]
#![allow(internal_features, unused_features)]

use core::intrinsics::offload;

offload_image::embed!("kernels.so");

unsafe extern "C" {
    fn look(x: *const [u32; 16]);
    fn tell(x: *mut [u32; 1]);
}

fn main() {
    let x: [u32; 16] = core::array::from_fn(|i| 10 * i as u32);
    offload::<_, _, ()>(look, [1, 1, 1], [1, 1, 1], (&raw const x,));
    offload::<_, _, ()>(look, [1, 1, 1], [1, 1, 1], (&raw const x,));
    let mut seen = [0_u32];
    offload::<_, _, ()>(tell, [1, 1, 1], [1, 1, 1], (&raw mut seen,));
    assert_eq!(seen, [140]);
    assert_eq!(x[7], 70);
    println!("ok");
}
