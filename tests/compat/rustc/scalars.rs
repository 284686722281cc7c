//! Data copied both ways or only to the device, and numbers by value.
#![feature(abi_gpu_kernel, rustc_attrs, core_intrinsics)]
#![allow(internal_features, unused_features)]

use core::intrinsics::offload;

offload_image::embed!("kernels.so");

unsafe extern "C" {
    fn scale(x: *mut [f64; 256], k: *const [i32; 4], n: u32, factor: f32);
    fn numbers(out: *mut [u64; 3], byte: u8, word: u32, number: u64);
}

fn main() {
    let mut x = [1.0_f64; 256];
    x[255] = 10.0;
    let k = [1_i32, 2, 3, 4];
    offload::<_, _, ()>(
        scale,
        [256, 1, 1],
        [32, 1, 1],
        (&raw mut x, &raw const k, 9_u32, 1.5_f32),
    );
    assert_eq!(x[0], 11.5);
    assert_eq!(x[2], 13.5);
    assert_eq!(x[255], 28.0);
    assert_eq!(k, [1, 2, 3, 4]);
    let mut out = [0_u64; 3];
    let number = 0x0123_4567_89ab_cdef_u64;
    offload::<_, _, ()>(
        numbers,
        [1, 1, 1],
        [1, 1, 1],
        (&raw mut out, 200_u8, 3_000_000_000_u32, number),
    );
    assert_eq!(out, [200, 3_000_000_000, number]);
    println!("ok");
}
