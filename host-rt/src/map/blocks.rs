//! Host memory for ranges that have none: one block for each set of overlapping ranges.

use std::{cmp::Reverse, ptr::NonNull};

use super::{
    Arg, ArgInfo, MapError, Scratch,
    arena::MAX_ALIGN,
    kinds::{Class, Missing, classify},
    pointers::POINTER_SIZE,
};

/// Host addresses of a block equal its device addresses modulo this, or modulo the largest
/// requested alignment, so that parts of it are aligned as on the device.
pub(super) const CONGRUENCE: usize = 64;

/// The use of a range by the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeKind {
    /// Bytes.
    Data,
    /// The extent of a structure, whose members are arguments themselves.
    Header,
    /// A pointer that the host sets.
    Pointer,
}

/// A range of device memory that needs host memory; never empty.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Index of its argument.
    pub(super) entry: usize,
    /// Binary logarithm of the alignment.
    pub(super) align_log: u8,
    pub(super) kind: RangeKind,
    /// Copied to the host.
    pub(super) to: bool,
    /// Copied back.
    pub(super) from: bool,
}

/// Host memory of some ranges.
pub(super) struct Block {
    start: u64,
    end: u64,
    /// Host address of `start`; valid for all of the block.
    host: NonNull<u8>,
    /// Its ranges, as indices.
    ranges: (usize, usize),
    /// Whether all of its arguments are known to share their bytes.
    shared: bool,
}

impl Scratch {
    /// Assigns memory to all ranges, and lists their copies.
    pub(super) fn lay_out(&mut self, args: &[Arg]) -> Result<(), MapError> {
        if self.ranges.len() > 1 {
            // Ranges with the same start are ordered longest first, because it covers the others.
            self.ranges
                .sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
        }
        let mut first = 0;
        while first < self.ranges.len() {
            first = self.lay_out_block(args, first)?;
        }
        Ok(())
    }

    /// Makes a block of range `first` and all that overlap it, directly or through others. Returns
    /// the index of the next range.
    fn lay_out_block(&mut self, args: &[Arg], first: usize) -> Result<usize, MapError> {
        let Range { start, entry, .. } = self.ranges[first];
        let (mut end, mut fetched, mut align_log, mut stores) = (start, start, 0, false);
        let mut past = first;
        for range in &self.ranges[first..] {
            if past != first && range.start >= end {
                break;
            }
            past += 1;
            end = end.max(range.end);
            align_log = align_log.max(range.align_log);
            stores |= range.from;
            if range.to && range.start <= fetched {
                fetched = fetched.max(range.end);
            }
        }

        let align = 1 << align_log;
        // A range that overlaps no other is aligned on the host even if it is not on the device.
        let (align, phase) = if past - first == 1 && start % align as u64 != 0 {
            (align, 0)
        } else {
            let align = align.max(CONGRUENCE);
            (align, start as usize & (align - 1))
        };
        let len = (end - start) as usize;
        let Some(host) = self.arena.take(len, align, phase, fetched < end) else {
            return Err(MapError::OutOfMemory {
                arg: ArgInfo::new(entry, &args[entry]),
                bytes: end - start,
            });
        };
        self.blocks.push(Block {
            start,
            end,
            host,
            ranges: (first, past),
            shared: false,
        });

        // Earlier ranges begin at or before the next one. The one that ends last decides whether
        // the next has bytes of its own, and whether another argument shares its bytes.
        let (mut fetched, mut stored) = (start, start);
        let mut furthest: Option<(u64, usize)> = None;
        for index in first..past {
            let range = self.ranges[index];
            let to = range.to || (range.kind == RangeKind::Pointer && stores);
            let copies = (to && range.end > fetched, range.from && range.end > stored);
            if copies.0 {
                fetched = range.end;
            }
            if copies.1 {
                stored = range.end;
            }
            self.place_range(args, &range, start, host, copies);

            if range.kind == RangeKind::Header {
                continue;
            }
            if let Some((end, entry)) = furthest
                && range.start < end
            {
                self.args[entry].exclusive = false;
                self.args[range.entry].exclusive = false;
            }
            if furthest.is_none_or(|(end, _)| range.end > end) {
                furthest = Some((range.end, range.entry));
            }
        }
        Ok(past)
    }

    /// Gives the argument of `range` its address in the block at `host`, and lists its copies.
    #[inline]
    fn place_range(
        &mut self,
        args: &[Arg],
        range: &Range,
        start: u64,
        host: NonNull<u8>,
        copies: (bool, bool),
    ) {
        let entry = range.entry;
        let arg = &args[entry];
        // A structure may begin before its first member, so this address may lie outside the block:
        // it is only a base for offsets then.
        let ptr = host
            .as_ptr()
            .wrapping_add(arg.addr.wrapping_sub(start) as usize);
        self.args[entry].ptr = ptr;
        self.args[entry].size = match range.kind {
            RangeKind::Data => arg.size,
            RangeKind::Header => 0,
            RangeKind::Pointer => POINTER_SIZE,
        };
        // SAFETY: the block is valid from `start` to at least `range.end`, and
        // `start <= range.start`.
        let place = unsafe { host.add((range.start - start) as usize) };
        let len = (range.end - range.start) as usize;
        // SAFETY: `place` is in the block, which has `len` bytes from there on and which the arena
        // keeps until the request ends.
        unsafe { self.copy(entry, range.start, place, len, copies) };
    }

    /// Finds addresses for arguments without memory of their own.
    pub(super) fn locate_unbacked(&mut self, args: &[Arg]) -> Result<(), MapError> {
        for at in 0..self.unbacked.len() {
            let entry = self.unbacked[at];
            let arg = &args[entry];
            let info = || ArgInfo::new(entry, arg);
            let (copies, missing, size) = match classify(arg.kind) {
                Some(Class::Data { to, from, missing }) => {
                    ((to.holds(false), from.holds(false)), missing, arg.size)
                }
                // A structure or a descriptor without bytes.
                _ => ((false, false), Missing::Make, 0),
            };
            if size > 0 {
                let Some((host, shares)) = self.locate(arg.addr, arg.addr + size) else {
                    match missing {
                        Missing::Null => continue,
                        _ => return Err(MapError::NotPresent { arg: info() }),
                    }
                };
                self.share_block(shares);
                let place = &mut self.args[entry];
                (place.ptr, place.size, place.exclusive) = (host.as_ptr(), size, false);
                // SAFETY: `locate` found all of the range in one block, which the
                // arena keeps until the request ends.
                unsafe { self.copy(entry, arg.addr, host, size as usize, copies) };
                continue;
            }

            let align_log = (arg.kind.0 >> 8) as u8;
            if u32::from(align_log) > MAX_ALIGN.trailing_zeros() {
                return Err(MapError::Alignment {
                    arg: info(),
                    max: MAX_ALIGN,
                });
            }
            let align = 1 << align_log;
            let inside = self.locate(arg.addr, arg.addr).map(|(host, _)| host);
            let place = match (inside, missing) {
                (Some(host), _) if host.as_ptr().addr() % align == 0 => Some(host),
                (_, Missing::Make) => self.arena.take(0, align, 0, true),
                (Some(host), _) => Some(host),
                (None, Missing::Null) => continue,
                (None, Missing::Refuse) => return Err(MapError::NotPresent { arg: info() }),
            };
            let Some(place) = place else {
                return Err(MapError::OutOfMemory {
                    arg: info(),
                    bytes: 0,
                });
            };
            self.args[entry].ptr = place.as_ptr();
        }
        Ok(())
    }

    /// The host address of `[start, end)` if it lies in a block, and the block's index. An empty
    /// range also lies in a block that ends at it.
    pub(super) fn locate(&self, start: u64, end: u64) -> Option<(NonNull<u8>, usize)> {
        let past = self.blocks.partition_point(|block| block.start <= start);
        let index = past.checked_sub(1)?;
        let block = &self.blocks[index];
        if end > block.end {
            return None;
        }
        // SAFETY: `block.start <= start <= end <= block.end`, for which `host` is valid.
        let host = unsafe { block.host.add((start - block.start) as usize) };
        Some((host, index))
    }

    /// Records that an argument uses bytes of block `index` that others may use.
    fn share_block(&mut self, index: usize) {
        let block = &mut self.blocks[index];
        if !block.shared {
            block.shared = true;
            for range in &self.ranges[block.ranges.0..block.ranges.1] {
                self.args[range.entry].exclusive = false;
            }
        }
    }
}
