//! Kernels for the tests of the Python package.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use revoff_device::thread;
use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

revoff_device::image!();

/// A structure that functions and kernels take.
#[derive(Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Pair {
    /// One half.
    pub left: u64,
    /// The other.
    pub right: f64,
}

revoff_fn::host_functions! {
    /// The current test decides what it does with `what`.
    pub fn act(what: u64) -> u64;
    /// Every form that the host only reads.
    pub fn read_forms(words: &[u32], rows: &[[f32; 3]], pair: &Pair, big: [u8; 24], small: i8, float: f64) -> f32;
    /// Every form that the host writes. Returns a structure.
    pub fn write_forms(words: &mut [u64], pair: &mut Pair, fill: Out<[u16]>, one: Out<u32>) -> Pair;
    /// Returns an array.
    pub fn corners(scale: f64) -> [f64; 4];
    /// No result.
    pub fn note(text: &[u8]);
}

/// The declarations of the kernels.
mod declared {
    use super::Pair;

    /// Every form of a parameter.
    #[revoff_fn::kernel]
    pub fn every_form(
        factor: f64,
        tiny: i8,
        words: &[u32],
        pair: &Pair,
        sums: &mut [f64],
        total: &mut u64,
        squares: Out<[u64]>,
        swapped: Out<Pair>,
    );

    /// Writes the sums of rows to `sums`.
    #[revoff_fn::kernel]
    pub fn row_sums(rows: &[[f32; 3]], sums: Out<[f32]>);

    /// Each device thread calls `act` for its words, `answers[i] = act(words[i])`, also after a call has failed.
    #[revoff_fn::kernel]
    pub fn ask(words: &[u64], answers: &mut [u64]);

    /// Calls the functions with arguments and results of every form.
    #[revoff_fn::kernel]
    pub fn call_forms(words: &mut [u64], fill: &mut [u16], results: &mut [f64]);

    /// Adds `amount` to each number.
    #[revoff_fn::kernel]
    pub fn add(numbers: &mut [f64], amount: f64);

    /// Panics.
    #[revoff_fn::kernel]
    pub fn trap();
}

/// Uses its parameters.
#[allow(clippy::too_many_arguments, reason = "one of each type")]
#[revoff_device::kernel(declared::EveryForm)]
pub fn every_form(
    factor: f64,
    tiny: i8,
    words: &[u32],
    pair: &Pair,
    sums: *mut [f64],
    total: *mut u64,
    squares: *mut [u64],
    swapped: *mut Pair,
) {
    let count = words.len().min(sums.len()).min(squares.len());
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..count).step_by(threads) {
        let word = u64::from(words[i]);
        // SAFETY: inside of both slices; no other thread has these elements.
        unsafe {
            *sums.cast::<f64>().add(i) += word as f64 * factor;
            *squares.cast::<u64>().add(i) += word * word;
        }
    }
    if thread::global() == 0 {
        // SAFETY: no other thread uses them.
        unsafe {
            *total = total.read().wrapping_add_signed(tiny.into());
            *swapped = Pair {
                left: pair.right as u64,
                right: pair.left as f64,
            };
        }
    }
}

/// Adds up each row.
#[revoff_device::kernel(declared::RowSums)]
pub fn row_sums(rows: &[[f32; 3]], sums: *mut [f32]) {
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..rows.len().min(sums.len())).step_by(threads) {
        // SAFETY: inside of the slice; no other thread has this element.
        unsafe { *sums.cast::<f32>().add(i) = rows[i].iter().sum() };
    }
}

/// Asks the host about each word.
#[revoff_device::kernel(declared::Ask)]
pub fn ask(words: &[u64], answers: *mut [u64]) {
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..words.len().min(answers.len())).step_by(threads) {
        if let Ok(answer) = act(words[i]) {
            // SAFETY: inside of the slice; no other thread has this element.
            unsafe { *answers.cast::<u64>().add(i) = answer };
        }
    }
}

/// Calls all functions but `act`.
#[revoff_device::kernel(declared::CallForms)]
pub fn call_forms(words: *mut [u64], fill: *mut [u16], results: *mut [f64]) {
    if thread::global() != 0 || results.len() < 10 {
        return;
    }
    // SAFETY: one thread runs this, so it has all memory for itself.
    let (words, fill, results) = unsafe { (&mut *words, &mut *fill, &mut *results) };
    let mut pair = Pair {
        left: 1,
        right: 2.5,
    };
    let big = core::array::from_fn(|i| i as u8);
    let rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    if let Ok(sum) = read_forms(&[1, 2, 3], &rows, &pair, big, -3, 0.5) {
        results[0] = sum.into();
    }
    let mut one = 1;
    if let Ok(back) = write_forms(words, &mut pair, fill, &mut one) {
        results[1..6].copy_from_slice(&[
            pair.left as f64,
            pair.right,
            one.into(),
            back.left as f64,
            back.right,
        ]);
    }
    if let Ok(four) = corners(3.0) {
        results[6..10].copy_from_slice(&four);
    }
    let _ = note(b"done");
    let _ = note(b"");
}

/// Adds to each number.
#[revoff_device::kernel(declared::Add)]
pub fn add(numbers: *mut [f64], amount: f64) {
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..numbers.len()).step_by(threads) {
        // SAFETY: inside of the slice; no other thread has this element.
        unsafe { *numbers.cast::<f64>().add(i) += amount };
    }
}

/// Stores the products of `count` numbers and a factor. It has no declaration, like kernels in C.
///
/// # Safety
/// `numbers` and `products` have `count` elements, which only the kernel uses.
#[revoff_device::kernel]
pub unsafe fn scale(numbers: *const f64, products: *mut f64, count: u64, factor: f64) {
    let threads = thread::teams() as usize * thread::threads() as usize;
    for i in (thread::global() as usize..count as usize).step_by(threads) {
        // SAFETY: the caller's promise; no other thread has these elements.
        unsafe { *products.add(i) = *numbers.add(i) * factor };
    }
}

/// Ends by a panic.
#[revoff_device::kernel(declared::Trap)]
pub fn trap() {
    panic!("on purpose");
}
