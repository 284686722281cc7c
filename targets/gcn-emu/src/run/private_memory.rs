//! Private memory of a wave's lanes, which hardware calls scratch.
//!
//! The words of the lanes are interleaved: word `n` of lane `l` is at `(n * LANES + l) * 4`, with the
//! lanes of the wave's size. Code for gfx9 computes such addresses itself.

use crate::arch::{Generation, Target, WaveSize};

/// Content of uninitialised registers and memory.
pub(super) const GARBAGE: u32 = 0xdead_beef;

/// Maximum private memory of a lane: a field has the size for all lanes of a wave.
/// Source: LLVM, "User Guide for AMDGPU Backend", `SPI_TMPRING_SIZE` and `COMPUTE_TMPRING_SIZE`, field
/// `WAVESIZE`.
pub(crate) fn max_private(target: Target) -> u32 {
    let (bits, granule) = match target.arch.generation() {
        Generation::Gfx9 => (13, 1024),
        Generation::Gfx11 => (15, 256),
        Generation::Gfx12 => (18, 256),
    };
    let lanes = match target.wave {
        WaveSize::Wave32 => 32,
        WaveSize::Wave64 => 64,
    };
    ((1 << bits) - 1) * granule / lanes
}

/// Private memory of a wave.
#[derive(Debug, Default)]
pub(super) struct PrivateMemory {
    words: Vec<u32>,
    /// Number of lanes.
    lanes: u32,
    /// Bytes per lane.
    bytes: u32,
}

impl PrivateMemory {
    /// Creates private memory for `lanes` lanes of `bytes` bytes each, reusing the allocation of `old`.
    pub(super) fn new(old: Self, lanes: u32, bytes: u32) -> Self {
        let bytes = bytes.next_multiple_of(4);
        let mut words = old.words;
        words.clear();
        words.resize(bytes as usize / 4 * lanes as usize, GARBAGE);
        Self {
            words,
            lanes,
            bytes,
        }
    }

    /// Bytes per lane.
    pub(super) fn lane_bytes(&self) -> u32 {
        self.bytes
    }

    /// Bytes of all lanes.
    pub(super) fn wave_bytes(&self) -> u64 {
        self.words.len() as u64 * 4
    }

    /// The offset of a lane's byte in the memory of all lanes.
    pub(super) fn interleaved(&self, lane: usize, offset: u32) -> u64 {
        let word = u64::from(offset / 4) * u64::from(self.lanes) + lane as u64;
        word * 4 + u64::from(offset % 4)
    }

    /// The memory of an access at an interleaved offset, which does not cross a word.
    pub(super) fn at(&mut self, offset: u64, bytes: u32) -> Option<*mut u8> {
        let end = offset.checked_add(bytes.into())?;
        if end > self.wave_bytes() {
            return None;
        }
        let base = self.words.as_mut_ptr().cast::<u8>();
        Some(base.wrapping_add(offset as usize))
    }
}
