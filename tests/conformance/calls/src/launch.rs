//! Declared kernels, shared by host and kernels.

use crate::Pair;

/// Every form. For each element, `squares[i] = words[i]²`, `sums[i] += words[i] * factor`, and the
/// halves of `pair` are swapped into `swapped` and added to `total`. `seen.left` counts non-zero
/// bytes in output-only memory, `seen.right` is `tiny`.
#[revoff_fn::kernel]
pub fn every_form(
    factor: f64,
    words: &[u32],
    pair: &Pair,
    tiny: u8,
    sums: &mut [f64],
    total: &mut Pair,
    squares: Out<[u64]>,
    swapped: Out<Pair>,
    seen: Out<Pair>,
);

/// Each thread asks the host about its words, `sums[i] += act(words[i])`.
#[revoff_fn::kernel]
pub fn ask_host(words: &[u32], sums: &mut [u64], threads: &mut u64);

/// Writes the addresses and lengths of its parameters to `places`: six numbers.
#[revoff_fn::kernel]
pub fn places(bytes: &[u8], words: &[u64], more: &[u64], places: Out<[u64]>);

/// Adds 1 to each element.
#[revoff_fn::kernel]
pub fn increment(counts: &mut [u32]);

/// Adds 1 to each element, then panics.
#[revoff_fn::kernel]
pub fn increment_and_trap(counts: &mut [u32]);

/// Declarations that differ from the definitions.
pub mod other {
    /// Takes a slice in its definition.
    #[revoff_fn::kernel]
    pub fn increment(count: &mut u32);

    /// A kernel without a declaration in the image.
    #[revoff_fn::kernel]
    pub fn call_forms(memory: &mut [u64], results: &mut [u64]);
}
