//! The memory at an address.
//!
//! Global memory is accessed atomically, since the host and other waves may use it concurrently. LDS
//! and private memory belong to the OS thread that runs the workgroup.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use race_check::Outcome;

use super::atomic::AtomicOp;
use super::check;
use super::group::Group;
use super::space::{Space, of_flat};
use super::wave::Wave;
use crate::fault::FaultKind;
use crate::memory::{AccessKind, SCRATCH};

/// A piece of memory.
#[derive(Clone, Copy)]
struct Piece {
    at: *mut u8,
    /// Whether other threads may access it.
    is_common: bool,
}

impl Piece {
    /// Reads 1, 2, 4 or 8 bytes, aligned to their number.
    #[inline]
    fn load(self, bytes: u32) -> u64 {
        // SAFETY: `Memory::piece` has found so many bytes there. They are aligned, and all threads
        // access common memory atomically alone.
        unsafe {
            match (self.is_common, bytes) {
                // Relaxed: the GPU's fences are fences here.
                (true, 1) => AtomicU8::from_ptr(self.at).load(Ordering::Relaxed).into(),
                (true, 2) => AtomicU16::from_ptr(self.at.cast())
                    .load(Ordering::Relaxed)
                    .into(),
                (true, 4) => AtomicU32::from_ptr(self.at.cast())
                    .load(Ordering::Relaxed)
                    .into(),
                (true, _) => AtomicU64::from_ptr(self.at.cast()).load(Ordering::Relaxed),
                (false, 1) => self.at.read().into(),
                (false, 2) => self.at.cast::<u16>().read_unaligned().into(),
                (false, 4) => self.at.cast::<u32>().read_unaligned().into(),
                (false, _) => self.at.cast::<u64>().read_unaligned(),
            }
        }
    }

    /// Writes 1, 2, 4 or 8 bytes, aligned to their number.
    #[inline]
    fn store(self, bytes: u32, value: u64) {
        // SAFETY: as for `load`.
        unsafe {
            match (self.is_common, bytes) {
                // Relaxed: the GPU's fences are fences here.
                (true, 1) => AtomicU8::from_ptr(self.at).store(value as u8, Ordering::Relaxed),
                (true, 2) => {
                    AtomicU16::from_ptr(self.at.cast()).store(value as u16, Ordering::Relaxed);
                }
                (true, 4) => {
                    AtomicU32::from_ptr(self.at.cast()).store(value as u32, Ordering::Relaxed);
                }
                (true, _) => AtomicU64::from_ptr(self.at.cast()).store(value, Ordering::Relaxed),
                (false, 1) => self.at.write(value as u8),
                (false, 2) => self.at.cast::<u16>().write_unaligned(value as u16),
                (false, 4) => self.at.cast::<u32>().write_unaligned(value as u32),
                (false, _) => self.at.cast::<u64>().write_unaligned(value),
            }
        }
    }

    /// Applies an atomic operation to 4 or 8 bytes; returns the old value.
    fn update(self, bytes: u32, op: AtomicOp, data: [u64; 2]) -> u64 {
        if !self.is_common {
            let old = self.load(bytes);
            self.store(bytes, op.apply(bytes, old, data));
            return old;
        }
        // SAFETY: as for `load`.
        unsafe {
            // SeqCst: stronger than the GPU's, whose fences order the rest.
            if bytes == 4 {
                let word = AtomicU32::from_ptr(self.at.cast());
                let new = |old: u32| Some(op.apply(bytes, old.into(), data) as u32);
                let old = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, new);
                old.unwrap_or_default().into()
            } else {
                let word = AtomicU64::from_ptr(self.at.cast());
                let new = |old: u64| Some(op.apply(bytes, old, data));
                let old = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, new);
                old.unwrap_or_default()
            }
        }
    }
}

/// The memory of a lane.
pub(super) struct Memory<'a> {
    pub(super) wave: &'a mut Wave,
    pub(super) group: &'a mut Group,
    pub(super) lane: usize,
}

/// The size of the next piece of an access, which starts at an address and has so many bytes left.
#[inline]
fn largest(space: Space, address: u64, left: u32) -> u32 {
    match address.trailing_zeros() {
        // Words of private memory are interleaved.
        3.. if left >= 8 && space != Space::Private => 8,
        2.. if left >= 4 => 4,
        1.. if left >= 2 => 2,
        _ => 1,
    }
}

impl Memory<'_> {
    /// Loads up to 16 bytes.
    #[inline]
    pub(super) fn load(&mut self, place: (Space, u64), bytes: u32) -> Result<u128, FaultKind> {
        match self.is_checked(place.0) {
            false => self.load_pieces::<false>(place, bytes),
            true => self.load_pieces::<true>(place, bytes),
        }
    }

    #[inline]
    fn load_pieces<const CHECKED: bool>(
        &mut self,
        (space, address): (Space, u64),
        bytes: u32,
    ) -> Result<u128, FaultKind> {
        let (mut all, mut done) = (0, 0);
        while done < bytes {
            let at = address.wrapping_add(done.into());
            let size = largest(space, at, bytes - done);
            let piece = self.piece(space, at, size, AccessKind::Load)?;
            let value = match CHECKED {
                false => piece.load(size),
                true => self.check((AccessKind::Load, at, size), || {
                    let seen = piece.load(size);
                    Outcome {
                        seen,
                        left: seen,
                        wrote: false,
                    }
                })?,
            };
            if space == Space::Global && self.group.kernel.memory.is_of_host(at) {
                self.group.note_poll();
            }
            all |= u128::from(value) << (8 * done);
            done += size;
        }
        Ok(all)
    }

    /// Stores up to 16 bytes.
    #[inline]
    pub(super) fn store(
        &mut self,
        place: (Space, u64),
        bytes: u32,
        all: u128,
    ) -> Result<(), FaultKind> {
        match self.is_checked(place.0) {
            false => self.store_pieces::<false>(place, bytes, all),
            true => self.store_pieces::<true>(place, bytes, all),
        }
    }

    #[inline]
    fn store_pieces<const CHECKED: bool>(
        &mut self,
        (space, address): (Space, u64),
        bytes: u32,
        all: u128,
    ) -> Result<(), FaultKind> {
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done.into());
            let size = largest(space, at, bytes - done);
            let piece = self.piece(space, at, size, AccessKind::Store)?;
            let value = (all >> (8 * done)) as u64;
            self.note_store(space, piece, size, value);
            match CHECKED {
                false => piece.store(size, value),
                true => {
                    self.check((AccessKind::Store, at, size), || {
                        let seen = piece.load(size);
                        piece.store(size, value);
                        Outcome {
                            seen,
                            left: value & (u64::MAX >> (64 - 8 * size)),
                            wrote: true,
                        }
                    })?;
                }
            }
            done += size;
        }
        Ok(())
    }

    /// Checks that up to 16 bytes can be stored.
    pub(super) fn check_store(
        &mut self,
        (space, address): (Space, u64),
        bytes: u32,
    ) -> Result<(), FaultKind> {
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done.into());
            let size = largest(space, at, bytes - done);
            self.piece(space, at, size, AccessKind::Store)?;
            done += size;
        }
        Ok(())
    }

    /// Applies an atomic operation to 4 or 8 bytes; returns the old value.
    pub(super) fn update(
        &mut self,
        (space, address): (Space, u64),
        bytes: u32,
        op: AtomicOp,
        data: [u64; 2],
    ) -> Result<u64, FaultKind> {
        let kind = AccessKind::Atomic;
        if !address.is_multiple_of(bytes.into()) {
            return Err(FaultKind::Misaligned {
                access: kind.name(),
                address,
                bytes,
            });
        }
        let piece = |memory: &mut Self| memory.piece(space, address, bytes, kind);
        let old = match space {
            // Words of private memory are interleaved, and nobody else accesses them.
            Space::Private => {
                let old = self.load((space, address), bytes)? as u64;
                let new = op.apply(bytes, old, data);
                self.store((space, address), bytes, new.into())?;
                old
            }
            _ if self.is_checked(space) => {
                let piece = piece(self)?;
                self.check((kind, address, bytes), || {
                    let seen = piece.update(bytes, op, data);
                    Outcome {
                        seen,
                        left: op.apply(bytes, seen, data),
                        wrote: op != AtomicOp::CompareSwap || seen == data[1],
                    }
                })?
            }
            _ => piece(self)?.update(bytes, op, data),
        };
        if op.apply(bytes, old, data) != old {
            self.group.note_change();
            if let Some(costs) = &mut self.wave.costs {
                costs.note_change(self.lane);
            }
        } else if space == Space::Global && self.group.kernel.memory.is_of_host(address) {
            self.group.note_poll();
        }
        Ok(old)
    }

    /// Whether accesses are checked for races.
    #[inline]
    fn is_checked(&self, space: Space) -> bool {
        self.wave.is_observed && space == Space::Global && self.group.clocks.is_some()
    }

    /// Performs a checked access. Returns what it has found.
    #[cold]
    fn check(
        &mut self,
        what: (AccessKind, u64, u32),
        perform: impl FnOnce() -> Outcome,
    ) -> Result<u64, FaultKind> {
        check::access(self.wave, self.group, what, perform)
    }

    /// Notes a store to memory of several waves if it changes the value.
    #[inline]
    fn note_store(&mut self, space: Space, piece: Piece, bytes: u32, value: u64) {
        let mask = u64::MAX >> (64 - 8 * bytes);
        if matches!(space, Space::Global | Space::Lds) && (piece.load(bytes) ^ value) & mask != 0 {
            self.group.note_change();
        }
    }

    #[inline]
    fn piece(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<Piece, FaultKind> {
        let own = match space {
            Space::Global => {
                let found = self
                    .group
                    .kernel
                    .memory
                    .resolve(address, bytes.into(), kind);
                return match found {
                    Some(at) => Ok(Piece {
                        at: at.as_ptr(),
                        is_common: true,
                    }),
                    None => Err(self.unreachable(space, address, bytes, kind)),
                };
            }
            Space::Lds => self.group.lds(address, bytes),
            Space::Private => {
                let private = &mut self.wave.private;
                let inside = address + u64::from(bytes) <= private.lane_bytes().into();
                let offset = private.interleaved(self.lane, address as u32);
                inside.then(|| private.at(offset, bytes)).flatten()
            }
            Space::Scratch => self.wave.private.at(address, bytes),
        };
        match own {
            Some(at) => Ok(Piece {
                at,
                is_common: false,
            }),
            None => Err(self.unreachable(space, address, bytes, kind)),
        }
    }

    #[cold]
    fn unreachable(&self, space: Space, address: u64, bytes: u32, kind: AccessKind) -> FaultKind {
        let declared = |what: &str, bytes: u64| {
            format!("beyond the {bytes} bytes of {what} that the launch has")
        };
        let what = match space {
            Space::Global if of_flat(address).0 != Space::Global => {
                "an address of LDS or private memory".to_owned()
            }
            Space::Global if address >= SCRATCH => "private memory, or nothing".to_owned(),
            Space::Global => match self.group.kernel.memory.describe(address) {
                Some(what) => format!("not accessible: {what}"),
                None => "not accessible".to_owned(),
            },
            Space::Lds => declared("LDS", self.group.lds_bytes().into()),
            Space::Private => declared("private memory", self.wave.private.lane_bytes().into()),
            Space::Scratch => declared("private memory", self.wave.private.wave_bytes()),
        };
        FaultKind::Unreachable {
            access: kind.name(),
            address,
            bytes,
            is_of_kernel: !matches!(space, Space::Global),
            what,
        }
    }
}
