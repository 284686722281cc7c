//! Memory of the host, for calls of the emulated drivers.

use std::sync::LazyLock;

/// Bytes of each part.
pub(crate) const BYTES: u64 = 64 << 10;

/// Addresses of memory that lives as long as the process. Its contents do not matter.
pub(crate) struct HostMemory {
    /// For copies.
    pub(crate) copied: u64,
    /// To be mapped, or locked.
    pub(crate) mapped: u64,
}

pub(crate) static HOST_MEMORY: LazyLock<HostMemory> = LazyLock::new(|| {
    let leak = || {
        let words = vec![0u64; BYTES as usize / 8].leak();
        words.as_mut_ptr().expose_provenance() as u64
    };
    HostMemory {
        copied: leak(),
        mapped: leak(),
    }
});
