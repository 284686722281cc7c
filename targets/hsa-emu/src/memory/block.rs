//! Allocations as programs see them.

use std::ffi::c_void;

use super::region::Gpus;

/// Agent that owns memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Cpu,
    /// The slot of a GPU.
    Gpu(usize),
}

/// Creator of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// The program, from a pool.
    Pool,
    /// The program, which has locked memory of its own.
    Locked,
    /// The loader.
    Code,
    /// The runtime, for itself.
    Internal,
}

/// A function to call when an allocation is freed.
pub(crate) type OnFree = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// An allocation.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: BlockKind,
    pub(crate) owner: Owner,
    /// The flags of its pool.
    pub(crate) flags: u32,
    /// The GPUs with access.
    pub(crate) gpus: Gpus,
    pub(crate) user_data: usize,
    /// Functions with their data.
    pub(crate) on_free: Vec<(OnFree, usize)>,
}

impl Block {
    /// Whether it contains all of a range.
    pub(crate) fn contains(&self, address: u64, len: u64) -> bool {
        let offset = address.checked_sub(self.address);
        let end = offset.and_then(|offset| offset.checked_add(len));
        end.is_some_and(|end| end <= self.bytes)
    }
}
