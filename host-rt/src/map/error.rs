//! Errors of mapping a request's arguments.

use std::fmt;

use shared_abi::map_kind::MapKind;

use super::{Arg, PresentRange, TransferError};

/// The invalid argument, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgInfo {
    /// Its index in the argument list.
    pub index: usize,
    /// Its kind.
    pub kind: MapKind,
    /// Its device address.
    pub addr: u64,
    /// Its size.
    pub size: u64,
}

impl ArgInfo {
    pub(super) fn new(index: usize, arg: &Arg) -> Self {
        ArgInfo {
            index,
            kind: arg.kind,
            addr: arg.addr,
            size: arg.size,
        }
    }
}

impl fmt::Display for ArgInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, kind) = (self.kind.name().unwrap_or("unknown kind"), self.kind.0);
        write!(
            f,
            "argument {} ({name} {kind:#06x}, device address {:#x}, size {})",
            self.index, self.addr, self.size
        )
    }
}

/// A request's arguments could not be mapped. Except for [`Store`](Self::Store), the host function
/// did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// One request needs more host memory than all requests may hold.
    #[error(
        "{arg}: with it the request needs {total} bytes of host memory, the limit is {limit}: pass less at a time, \
         or raise REVOFF_REQUEST_MEMORY"
    )]
    TooLarge {
        /// The argument that passes the limit.
        arg: ArgInfo,
        /// Requested bytes up to and including it.
        total: u64,
        /// The limit.
        limit: u64,
    },
    /// A request needs more host memory than the other requests of the runtime leave.
    #[error(
        "{arg}: with it the request needs {total} bytes of host memory, of which other calls \
         hold {used}, and all calls together may hold {limit}: make fewer large calls at a time, \
         or raise REVOFF_REQUEST_MEMORY"
    )]
    OverBudget {
        /// The argument that passes the limit.
        arg: ArgInfo,
        /// Requested bytes up to and including it.
        total: u64,
        /// Bytes that other requests hold.
        used: u64,
        /// The limit for all requests.
        limit: u64,
    },
    /// The range does not fit a 64-bit address space.
    #[error("{arg}: the range runs past the end of the address space")]
    Wraps {
        /// The argument.
        arg: ArgInfo,
    },
    /// An unknown kind, or one without meaning in a call to the host.
    #[error("{arg}: a call to the host cannot map this kind")]
    UnsupportedKind {
        /// The argument.
        arg: ArgInfo,
    },
    /// The alignment in the kind's high byte is larger than supported.
    #[error("{arg}: alignment 2^{} is above the supported {max} bytes", arg.kind.0 >> 8)]
    Alignment {
        /// The argument.
        arg: ArgInfo,
        /// Largest supported alignment in bytes.
        max: usize,
    },
    /// The kind requires data that has an original on the host.
    #[error("{arg}: the data must be present on the host and is not")]
    NotPresent {
        /// The argument.
        arg: ArgInfo,
    },
    /// The range lies partly inside and partly outside of present data.
    #[error("{arg}: the range covers only in part, or more than, the present data {present}")]
    Straddles {
        /// The argument.
        arg: ArgInfo,
        /// The present data.
        present: PresentRange,
    },
    /// A structure has more members than entries follow.
    #[error("{arg}: claims as many members as its size says, but only {left} entries follow")]
    MemberCount {
        /// The structure's header.
        arg: ArgInfo,
        /// Entries that follow it.
        left: usize,
    },
    /// A kind that is not allowed among the members of a structure.
    #[error("{arg}: cannot be a member of the structure at argument {header}")]
    Member {
        /// The member.
        arg: ArgInfo,
        /// Index of the structure's header.
        header: usize,
    },
    /// The members of a structure that another runtime maps are not sorted, or exceed it.
    #[error("{arg}: its members are not in the order of their addresses")]
    MemberOrder {
        /// The structure's header.
        arg: ArgInfo,
    },
    /// A pointer that another runtime attaches lies outside of all data.
    #[error("{arg}: its pointer, at device address plus size, lies in no mapped data")]
    PointerOutside {
        /// The pointer entry.
        arg: ArgInfo,
    },
    /// A pointer entry without preceding data to point to.
    #[error("{arg}: the entry before it is no data that a pointer could be attached to")]
    NoTarget {
        /// The pointer entry.
        arg: ArgInfo,
    },
    /// A descriptor's pointer entry that does not lie in the descriptor.
    #[error(
        "{arg}: does not describe a pointer in the descriptor at argument {descriptor}; \
         address less size must be the descriptor's address"
    )]
    NotInDescriptor {
        /// The pointer entry.
        arg: ArgInfo,
        /// Index of the descriptor.
        descriptor: usize,
    },
    /// A descriptor points to data that is not mapped.
    #[error("{arg}: the descriptor points to device address {target:#x}, which is not mapped")]
    UnmappedTarget {
        /// The pointer entry.
        arg: ArgInfo,
        /// The target of the descriptor's pointer.
        target: u64,
    },
    /// The host is out of memory.
    #[error("{arg}: the host has no {bytes} bytes for it")]
    OutOfMemory {
        /// The argument that needed the memory.
        arg: ArgInfo,
        /// The requested bytes.
        bytes: u64,
    },
    /// Copying arguments to the host failed.
    #[error("copying arguments to the host")]
    Fetch(#[source] TransferError),
    /// Copying results to the device failed; the host function has run.
    #[error("copying results to the device")]
    Store(#[source] TransferError),
}

/// The reason why [`Mapper::run`](super::Mapper::run) has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError<E> {
    /// The arguments could not be mapped or copied.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The error that the call returned; nothing was copied back.
    #[error("{0}")]
    Call(E),
}
