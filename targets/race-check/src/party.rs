//! The parties of a race.

use device_arena::AccessKind;

use super::{Mask, Site};

/// Lanes of a warp with a common access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) launch: u64,
    pub(super) block: u64,
    /// The first thread of its warp.
    pub(super) first: u32,
    pub(super) lanes: Mask,
}

impl Who {
    /// Whether all of these are among others.
    pub(super) fn is_among(self, other: Self) -> bool {
        (self.launch, self.block, self.first) == (other.launch, other.block, other.first)
            && self.lanes & !other.lanes == 0
    }
}

/// An access: its time in its block, and its location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) time: u64,
    pub(super) site: Site,
    pub(super) kind: AccessKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RaceKind {
    /// They are not ordered, and one of them is weak or of another size.
    Race,
    /// Both are strong, but the scope of one excludes the other's thread.
    Narrow,
}

/// One of the two parties.
#[derive(Clone, Copy, Debug)]
pub(super) enum Party {
    Device {
        who: Who,
        mark: Mark,
    },
    /// It writes.
    Host,
    HostReads,
}

impl Party {
    pub(super) fn launch(&self) -> u64 {
        match self {
            Self::Device { who, .. } => who.launch,
            Self::Host | Self::HostReads => 0,
        }
    }
}
