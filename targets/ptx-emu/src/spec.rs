//! Limits of a device, and how its lanes progress. Source of limits: the CUDA C++ programming
//! guide, table "Technical Specifications per Compute Capability".

/// Whether lanes of a warp progress independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// `sm_70` and newer.
    Independent,
    /// Before `sm_70`.
    LockStep,
}

/// Bytes of shared memory that a block may have, as on an `sm_90`.
pub const MAX_SHARED: u64 = 227 << 10;

/// Threads that a block may have.
pub const MAX_THREADS: u32 = 1024;

/// Blocks of a grid.
pub const MAX_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];
