//! The cost of an offloaded call by rustc, with the copies of its data: lines in the format of
//! `offload.c`.
#![feature(abi_gpu_kernel, rustc_attrs, core_intrinsics)]
#![allow(internal_features, unused_features)]

use core::intrinsics::offload;
use std::time::Instant;

offload_image::embed!("kernels.so");

unsafe extern "C" {
    fn nothing(x: *mut [u64; 512]);
}

const BATCHES: usize = 9;
const CALLS: u32 = 200;

fn main() {
    let mut x = [1_u64; 512];
    let mut times = [0.0_f64; BATCHES];
    for time in &mut times {
        let start = Instant::now();
        for _ in 0..CALLS {
            offload::<_, _, ()>(nothing, [1, 1, 1], [1, 1, 1], (&raw mut x,));
        }
        *time = start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS);
    }
    times.sort_by(f64::total_cmp);
    println!("rust-launch {} {:.1}", size_of_val(&x), times[BATCHES / 2]);
}
