//! A kernel that asks a Python program for numbers, and adds them up.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use revoff_device::thread;
use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

revoff_device::image!();

/// Sums over the numbers that one device thread has got.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Sums {
    /// Their number.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

revoff_fn::host_functions! {
    /// Writes the next numbers to `batch`; returns how many, and 0 after the last one.
    pub fn next_batch(batch: Out<[f32]>) -> u32;
}

/// The declaration of the kernel. The Python program has the same one, as text.
mod declared {
    use super::Sums;

    /// Adds up all numbers; `sums` has an element for each device thread.
    #[revoff_fn::kernel]
    pub fn moments(sums: Out<[Sums]>);
}

/// Each device thread asks for batches until there are none.
#[revoff_device::kernel(declared::Moments)]
pub fn moments(sums: *mut [Sums]) {
    let (mut batch, mut own) = ([0_f32; 256], Sums::default());
    while let Ok(n @ 1..) = next_batch(&mut batch) {
        for &number in batch.iter().take(n as usize) {
            let number = f64::from(number);
            own.count += 1;
            own.sum += number;
            own.squares += number * number;
        }
    }
    let me = thread::global() as usize;
    if me < sums.len() {
        // SAFETY: inside of the slice; no other thread has this element.
        unsafe { *sums.cast::<Sums>().add(me) = own };
    }
}
