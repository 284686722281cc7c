//! The allocated and free blocks of an arena.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ALIGN;

/// The longest blocks that are kept for reuse.
const MAX_KEPT: u64 = 64 << 10;

/// The number of lengths up to that.
const LENGTHS: usize = (MAX_KEPT / ALIGN) as usize;

/// With delayed reuse, the number of freed short blocks of a length, and of freed long blocks, that
/// are not allocated again while there is other memory.
const DELAYED: usize = 32;

/// The number of freed blocks that are remembered.
const REMEMBERED: usize = 256;

/// The blocks of an arena, by their offsets.
///
/// A freed short block is first kept for reuse, so that the next allocation of its length costs one
/// look-up. Kept blocks become free memory when memory runs short.
#[derive(Debug)]
pub(super) struct Blocks {
    /// All blocks cut out of free memory.
    blocks: BTreeMap<u64, Block>,
    /// Offsets of kept blocks, by length, in the order of their release.
    kept: Vec<VecDeque<u64>>,
    /// Offsets and lengths of long blocks that were freed last.
    delayed: VecDeque<(u64, u64)>,
    delays_reuse: bool,
    /// Offsets and requested sizes of the blocks that were freed last.
    freed: VecDeque<(u64, u64)>,
    /// Free memory by offset, with its length; neighbours are merged.
    free: BTreeMap<u64, u64>,
    /// The same as lengths and offsets.
    by_len: BTreeSet<(u64, u64)>,
    used_bytes: u64,
    /// Bytes after each block that belong to none, while there is room.
    gap: u64,
    /// Lengths of blocks are multiples of this.
    align: u64,
    /// No block has been allocated from this offset on, so memory there is all zeros.
    fresh: u64,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// A multiple of [`ALIGN`].
    len: u64,
    /// The requested size; `None` if the block is kept.
    bytes: Option<u64>,
}

/// A newly allocated block.
#[derive(Clone, Copy, Debug)]
pub(super) struct New {
    pub(super) offset: u64,
    /// The length of its start that may be non-zero.
    pub(super) dirty: u64,
}

/// The index of kept blocks of a length.
fn kept_at(len: u64) -> Option<usize> {
    (len <= MAX_KEPT).then(|| (len / ALIGN) as usize - 1)
}

/// The length of a block of `bytes`, without a gap.
fn rounded(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(ALIGN)
}

impl Blocks {
    /// `bytes` of free memory, all zeros.
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            blocks: BTreeMap::new(),
            kept: Vec::new(),
            delayed: VecDeque::new(),
            delays_reuse: false,
            freed: VecDeque::new(),
            free: BTreeMap::from([(0, bytes)]),
            by_len: BTreeSet::from([(bytes, 0)]),
            used_bytes: 0,
            gap: 0,
            align: ALIGN,
            fresh: 0,
        }
    }

    /// Sets the distance between blocks that are allocated from now on.
    pub(super) fn set_gap(&mut self, gap: u64) {
        self.gap = gap;
    }

    /// Sets the alignment of blocks that are allocated from now on, if those before have it.
    pub(super) fn set_alignment(&mut self, align: u64) {
        self.align = align;
    }

    /// From now on, does not allocate blocks again that were freed just before.
    pub(super) fn delay_reuse(&mut self) {
        self.delays_reuse = true;
    }

    /// The block that contained an offset and was freed recently: its begin and its size.
    pub(super) fn freed(&self, offset: u64) -> Option<(u64, u64)> {
        let mut last_first = self.freed.iter().rev();
        let contains = |&&(start, bytes): &&(u64, u64)| (start..start + bytes).contains(&offset);
        last_first.find(contains).copied()
    }

    /// Allocated bytes, without gaps.
    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Allocates a block of `bytes` bytes.
    pub(super) fn alloc(&mut self, bytes: u64) -> Option<New> {
        let tight = rounded(bytes)?;
        let aligned = |len: u64| len.checked_next_multiple_of(self.align);
        let spaced = tight.checked_add(self.gap).and_then(aligned);
        let tight = aligned(tight)?;
        spaced
            .and_then(|len| self.alloc_of(len, bytes))
            .or_else(|| self.alloc_of(tight, bytes))
    }

    /// Allocates a block of `len` bytes, of which `bytes` were requested.
    fn alloc_of(&mut self, len: u64, bytes: u64) -> Option<New> {
        if let Some(offset) = self.take_kept(len, bytes) {
            self.used_bytes += rounded(bytes)?;
            return Some(New { offset, dirty: len });
        }
        let offset = self.cut(len).or_else(|| {
            self.release_kept();
            self.cut(len)
        })?;
        self.used_bytes += rounded(bytes)?;
        let bytes = Some(bytes);
        self.blocks.insert(offset, Block { len, bytes });
        let dirty = self.fresh.clamp(offset, offset + len) - offset;
        self.fresh = self.fresh.max(offset + len);
        Some(New { offset, dirty })
    }

    fn take_kept(&mut self, len: u64, bytes: u64) -> Option<u64> {
        let kept = self.kept.get_mut(kept_at(len)?)?;
        let offset = if self.delays_reuse {
            (kept.len() > DELAYED).then(|| kept.pop_front())??
        } else {
            kept.pop_back()?
        };
        let block = self.blocks.get_mut(&offset)?;
        block.bytes = Some(bytes);
        Some(offset)
    }

    /// Frees the block at `offset`. Returns its length; `None` if there is no such block.
    pub(super) fn free(&mut self, offset: u64) -> Option<u64> {
        let block = self.blocks.get_mut(&offset)?;
        let bytes = block.bytes.take()?;
        let len = block.len;
        self.used_bytes -= rounded(bytes)?;
        if self.delays_reuse {
            self.freed.push_back((offset, bytes));
            if self.freed.len() > REMEMBERED {
                self.freed.pop_front();
            }
        }
        match kept_at(len) {
            Some(at) => {
                if self.kept.is_empty() {
                    self.kept.resize_with(LENGTHS, VecDeque::new);
                }
                self.kept[at].push_back(offset);
            }
            None => {
                self.blocks.remove(&offset);
                self.delayed.push_back((offset, len));
                if !self.delays_reuse || self.delayed.len() > DELAYED {
                    self.release_delayed();
                }
            }
        }
        Some(len)
    }

    /// The requested size of the block at `offset`, if there is one.
    pub(super) fn bytes(&self, offset: u64) -> Option<u64> {
        self.blocks.get(&offset)?.bytes
    }

    /// Whether the range lies in one block.
    pub(super) fn contain(&self, offset: u64, len: u64) -> bool {
        let Some((start, block)) = self.blocks.range(..=offset).next_back() else {
            return false;
        };
        let end = (offset - start).checked_add(len);
        end.zip(block.bytes)
            .is_some_and(|(end, bytes)| end <= bytes)
    }

    /// Cuts a block out of the shortest free range that has room, preferring the lowest offset.
    fn cut(&mut self, len: u64) -> Option<u64> {
        let &(room, offset) = self.by_len.range((len, 0)..).next()?;
        self.remove_free(offset, room);
        if room > len {
            self.insert_free(offset + len, room - len);
        }
        Some(offset)
    }

    /// Turns the long block that was freed first into free memory.
    fn release_delayed(&mut self) {
        if let Some((offset, len)) = self.delayed.pop_front() {
            self.merge(offset, len);
        }
    }

    /// Turns all kept and delayed blocks into free memory.
    fn release_kept(&mut self) {
        while !self.delayed.is_empty() {
            self.release_delayed();
        }
        for offset in std::mem::take(&mut self.kept).into_iter().flatten() {
            if let Some(block) = self.blocks.remove(&offset) {
                self.merge(offset, block.len);
            }
        }
    }

    /// Frees a range, and merges it with its free neighbours.
    fn merge(&mut self, mut offset: u64, mut len: u64) {
        if let Some(&next) = self.free.get(&(offset + len)) {
            self.remove_free(offset + len, next);
            len += next;
        }
        if let Some((&before, &size)) = self.free.range(..offset).next_back()
            && before + size == offset
        {
            self.remove_free(before, size);
            offset = before;
            len += size;
        }
        self.insert_free(offset, len);
    }

    fn insert_free(&mut self, offset: u64, len: u64) {
        self.free.insert(offset, len);
        self.by_len.insert((len, offset));
    }

    fn remove_free(&mut self, offset: u64, len: u64) {
        self.free.remove(&offset);
        self.by_len.remove(&(len, offset));
    }
}
