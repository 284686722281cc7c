//! Accesses of instructions that copy or load many words: checked by the race checker, without
//! registers.

use device_arena::AccessKind;
use race_check::{BlockClocks, Operation, Outcome, Site};

use super::copies::{CopyAddress, ThreadId};
use super::memory_ref::MemoryRef;
use super::space::{Access, Spaces, shared_offset};
use crate::code::op::{Scope, Semantics, StateSpace};
use crate::error::FaultKind;
use crate::memory::is_global;

pub(super) struct CheckedMemory<'a> {
    pub(super) spaces: Spaces<'a>,
    pub(super) clocks: Option<&'a mut BlockClocks>,
    /// The instruction, for the checker.
    pub(super) site: Site,
}

/// The place that an instruction names: in global memory, or else in shared memory.
pub(super) fn place_of(
    space: StateSpace,
    address: u64,
    access: Access,
) -> Result<CopyAddress, FaultKind> {
    match space {
        StateSpace::Global => Ok(CopyAddress::Global(address)),
        StateSpace::Generic if is_global(address) => Ok(CopyAddress::Global(address)),
        space => shared_offset(space, address, access).map(CopyAddress::Shared),
    }
}

impl CheckedMemory<'_> {
    fn find(
        &self,
        lane: usize,
        at: CopyAddress,
        kind: AccessKind,
        bytes: u32,
    ) -> Result<MemoryRef, FaultKind> {
        let (space, address) = match at {
            CopyAddress::Global(address) => (StateSpace::Global, address),
            CopyAddress::Shared(offset) => (StateSpace::Shared, offset),
        };
        let access = Access { kind, bytes };
        self.spaces.find(lane, space, address, access)
    }

    /// Checks that a range is aligned to `align` bytes, and that its first `bytes` can be accessed.
    pub(super) fn check(
        &mut self,
        (_, lane): ThreadId,
        at: CopyAddress,
        (align, bytes): (u32, u32),
        kind: AccessKind,
    ) -> Result<(), FaultKind> {
        let (CopyAddress::Global(address) | CopyAddress::Shared(address)) = at;
        if !address.is_multiple_of(align.into()) {
            return Err(FaultKind::Misaligned {
                access: kind.name(),
                address,
                bytes: align,
            });
        }
        // A hole in the middle is found when the copy happens.
        for offset in [0, bytes.saturating_sub(1)].map(u64::from) {
            if bytes > 0 {
                self.find(lane, moved(at, offset), kind, 1)?;
            }
        }
        Ok(())
    }

    pub(super) fn load(
        &mut self,
        (warp, lane): ThreadId,
        at: CopyAddress,
        bytes: u32,
    ) -> Result<u64, FaultKind> {
        let place = self.find(lane, at, AccessKind::Load, bytes)?;
        let load = || place.load(bytes, Semantics::Weak);
        match (&mut self.clocks, at) {
            (Some(clocks), CopyAddress::Global(address)) => {
                let operation = operation(AccessKind::Load, address, bytes);
                let perform = || {
                    let seen = load();
                    Outcome {
                        seen,
                        left: seen,
                        wrote: false,
                    }
                };
                clocks
                    .access((warp, 1 << lane), &operation, self.site, perform)
                    .map_err(|report| FaultKind::Race(report.text))
            }
            _ => Ok(load()),
        }
    }

    pub(super) fn store(
        &mut self,
        (warp, lane): ThreadId,
        at: CopyAddress,
        bytes: u32,
        value: u64,
    ) -> Result<(), FaultKind> {
        let place = self.find(lane, at, AccessKind::Store, bytes)?;
        let left = value & (u64::MAX >> (64 - bytes * 8));
        match (&mut self.clocks, at) {
            (Some(clocks), CopyAddress::Global(address)) => {
                let operation = operation(AccessKind::Store, address, bytes);
                let perform = || {
                    let seen = place.load(bytes, Semantics::Relaxed);
                    place.store(bytes, left, Semantics::Weak);
                    Outcome {
                        seen,
                        left,
                        wrote: true,
                    }
                };
                clocks
                    .access((warp, 1 << lane), &operation, self.site, perform)
                    .map(drop)
                    .map_err(|report| FaultKind::Race(report.text))
            }
            _ => {
                place.store(bytes, left, Semantics::Weak);
                Ok(())
            }
        }
    }

    /// Copies bytes, of which the first `source_bytes` have a source; the others become zero.
    pub(super) fn copy(
        &mut self,
        thread: ThreadId,
        (to, from): (CopyAddress, CopyAddress),
        (bytes, source_bytes): (u32, u32),
    ) -> Result<(), FaultKind> {
        // Both addresses are multiples of 4, unless only a part is copied.
        let step = 1 << (bytes | source_bytes | 8).trailing_zeros();
        let (CopyAddress::Global(a) | CopyAddress::Shared(a)) = to;
        let (CopyAddress::Global(b) | CopyAddress::Shared(b)) = from;
        let step = (1 << (a | b | 8).trailing_zeros()).min(step);
        for offset in (0..bytes).step_by(step as usize) {
            let by = u64::from(offset);
            let value = if offset < source_bytes {
                self.load(thread, moved(from, by), step)?
            } else {
                0
            };
            self.store(thread, moved(to, by), step, value)?;
        }
        Ok(())
    }
}

fn moved(at: CopyAddress, by: u64) -> CopyAddress {
    match at {
        CopyAddress::Global(address) => CopyAddress::Global(address + by),
        CopyAddress::Shared(offset) => CopyAddress::Shared(offset + by),
    }
}

fn operation(kind: AccessKind, address: u64, bytes: u32) -> Operation {
    Operation {
        kind,
        address,
        bytes,
        semantics: Semantics::Weak,
        scope: Scope::Cta,
        is_old: false,
    }
}
