//! Requests to the mapping table, and their results.

use std::fmt;
use std::sync::Arc;

use super::mapped::Mapped;
use crate::report::source::SourceName;

/// A range that a construct maps.
pub(crate) struct MapRequest {
    pub(crate) base: usize,
    pub(crate) begin: usize,
    pub(crate) bytes: usize,
    /// Bytes before the first, for alignment.
    pub(crate) padding: u64,
    pub(crate) name: SourceName,
    /// Whether it is copied if it is new.
    pub(crate) to: bool,
    /// Whether it is always copied.
    pub(crate) always: bool,
    pub(crate) implicit: bool,
    /// Whether the reference count changes.
    pub(crate) counts: bool,
    pub(crate) present: bool,
    pub(crate) hold: bool,
    /// The device may use the host's memory instead.
    pub(crate) may_share: bool,
}

/// The result of a [`MapRequest`].
pub(crate) enum MapResult {
    /// It is on the device.
    Mapped {
        device: u64,
        is_new: bool,
        /// This construct created it.
        is_created: bool,
        mapped: Arc<Mapped>,
    },
    /// The device uses the host's memory.
    Shared,
    /// It is empty, and not on the device.
    Empty,
}

/// A range on the device that a construct uses or has unmapped.
pub(crate) struct MappedRange {
    pub(crate) device: u64,
    pub(crate) mapped: Arc<Mapped>,
    /// After unmapping: whether it must be copied back, which others wait for.
    pub(crate) copies: bool,
}

/// How a construct unmaps a range.
pub(crate) struct UnmapRequest {
    pub(crate) counts: bool,
    pub(crate) hold: bool,
    pub(crate) delete: bool,
    /// Whether all of it must be there.
    pub(crate) whole: bool,
    /// Whether the last construct that has it mapped copies it back.
    pub(crate) from: bool,
    /// Whether every construct copies it back.
    pub(crate) always: bool,
}

/// The reason why an association was not made or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The host address has another association.
    Associated,
    /// A part of the host memory is mapped.
    PartlyMapped,
    /// The host memory runs past the end of the address space.
    PastEnd,
    /// There is no association.
    NotFound,
    /// The data is held by `ompx_hold`.
    Held,
    /// The data was mapped otherwise.
    NotAssociated,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Associated => {
                "Not allowed to re-associate a different device ptr+offset with the same host ptr"
            }
            Self::PartlyMapped => {
                "Not allowed to associate host memory of which a part is mapped already"
            }
            Self::PastEnd => "The range to be associated runs past the end of the address space",
            Self::NotFound => "Association not found",
            Self::Held => "Trying to disassociate a pointer with a non-zero hold reference count",
            Self::NotAssociated => {
                "Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr"
            }
        })
    }
}
