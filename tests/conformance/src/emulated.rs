//! Resources of emulated GPUs, as their drivers count them.

/// The number of resources of emulated GPUs that this process has not freed.
#[must_use]
pub fn unfreed() -> u64 {
    let nvidia = cuda_emu::counts();
    nvidia.contexts + nvidia.leaks + hsa_emu::counts().held
}
