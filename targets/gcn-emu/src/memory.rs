//! Memory as a GPU sees it.

use std::ptr::NonNull;

pub use device_arena::AccessKind;

/// Global memory, with the addresses of one GPU.
///
/// # Safety
/// The memory at a result of [`resolve`](Self::resolve) has as many bytes as were asked for. It is
/// mapped, for writing too unless the access is a load, as long as the implementer lives, even if the
/// program frees it meanwhile. All other threads access it atomically alone, or as the memory of
/// another process. The host address is aligned to as many bytes as the GPU's, up to 8.
pub unsafe trait AddressSpace: Send + Sync {
    /// The host address of an access; `None` if it is not allowed.
    fn resolve(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>>;

    /// Whether the host may change the memory at an address without a launch or a copy.
    fn is_of_host(&self, address: u64) -> bool;

    /// A description of an address for the report of a fault, such as `inside an allocation of 16
    /// bytes that was freed`; `None` if nothing is known of it.
    fn describe(&self, address: u64) -> Option<String>;
}

/// The begin of the addresses that mean LDS, of 4 GiB.
pub const GROUP_APERTURE: u64 = 1 << 48;

/// The begin of the addresses that mean private memory of the lane, of 4 GiB.
pub const PRIVATE_APERTURE: u64 = 2 << 48;

/// The begin of the addresses of private memory as the wave has it, the words of its lanes
/// interleaved. They are neither the host's nor a GPU's own.
pub(crate) const SCRATCH: u64 = 0xf000_0000_0000;
