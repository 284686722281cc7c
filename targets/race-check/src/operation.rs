//! Accesses and their order, in the words of PTX's memory model, which those of other GPUs fit in.

use device_arena::AccessKind;

/// Which threads an operation orders accesses for. Source: the PTX ISA, "Memory Consistency Model: Scope".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Those of the block.
    Cta,
    /// Those of the device. Clusters count as the device.
    Gpu,
    /// All, the host's among them.
    Sys,
}

impl Scope {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Cta, Self::Gpu, Self::Sys];
}

/// The order of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Nothing: no other thread may use the word meanwhile.
    Weak,
    /// `.volatile`: as relaxed at system scope.
    Volatile,
    /// The word itself.
    Relaxed,
    /// Later accesses.
    Acquire,
    /// Earlier accesses.
    Release,
    /// Both.
    AcqRel,
    /// Both, in an order that all threads agree on.
    Sc,
}

impl Semantics {
    /// Whether later accesses are ordered after it.
    #[must_use]
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::Sc)
    }

    /// Whether earlier accesses are ordered before it.
    #[must_use]
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::Sc)
    }
}

/// An access to one element, which does not cross eight aligned bytes.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its kind.
    pub kind: AccessKind,
    /// The address.
    pub address: u64,
    /// Bytes of the element.
    pub bytes: u32,
    /// Its order.
    pub semantics: Semantics,
    /// The threads that may access the element meanwhile, if it is not weak.
    pub scope: Scope,
    /// Whether the text is for devices without orders other than fences, for which compilers lower
    /// atomic accesses to plain ones.
    pub is_old: bool,
}

impl Operation {
    /// The bytes of its cell that it uses.
    pub(crate) fn mask(&self) -> u8 {
        let bytes = ((1u32 << self.bytes) - 1) as u8;
        bytes << (self.address % 8)
    }

    /// The range, for reports.
    pub(crate) fn range(&self) -> (u64, u32) {
        (self.address, self.bytes)
    }
}

/// The old and the new value of an access.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The old value.
    pub seen: u64,
    /// The new value.
    pub left: u64,
    /// Whether it wrote: a compare-and-swap may fail to.
    pub wrote: bool,
}
