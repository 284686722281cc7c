//! Emulated GPUs, beneath their drivers: resources that were not freed, and the death of a GPU.

use crate::Target;

/// The number of resources of emulated GPUs that this process has not freed.
#[must_use]
pub fn unfreed() -> u64 {
    let nvidia = cuda_emu::counts();
    nvidia.contexts + nvidia.leaks + hsa_emu::counts().held
}

/// Loses the emulated GPU that this process has opened as the `number`th of its kind, from 0 on. Returns whether a program
/// uses it.
#[must_use]
pub fn lose(target: &Target, number: u32) -> bool {
    match target.is_amd() {
        true => hsa_emu::lose_gpu(number),
        false => cuda_emu::lose_gpu(number.cast_signed()),
    }
}
