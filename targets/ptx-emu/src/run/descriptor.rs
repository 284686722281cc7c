//! Matrices in shared memory as `wgmma` describes them. Source: the PTX ISA, "Asynchronous Warpgroup
//! Level Matrix Shared Memory Layout" and "Matrix Descriptor Format".

/// Rows of the smallest block that is contiguous.
const ROWS: u64 = 8;

/// Bytes of such a row without swizzling.
const ROW_BYTES: u64 = 16;

/// A matrix whose contiguous elements are along `k`, or along the other dimension if it is transposed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    start: u64,
    /// Bytes to the next block along the contiguous dimension, and across it.
    leading: u64,
    stride: u64,
    /// Bytes of a swizzled row.
    swizzle: u64,
}

impl Descriptor {
    /// `None` if the bits have a reserved value.
    pub(super) fn new(bits: u64) -> Option<Self> {
        let field = |from: u32| (bits >> from & 0x3fff) << 4;
        let has_offset = bits >> 49 & 7 != 0;
        let swizzle = match bits >> 62 {
            0 => ROW_BYTES,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        (!has_offset).then_some(Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            swizzle,
        })
    }

    /// The offset in shared memory of an element of `bytes`: `k` is along the product's inner
    /// dimension, and `outer` along the other one.
    pub(super) fn offset(&self, outer: usize, k: usize, bytes: u32, is_transposed: bool) -> u64 {
        let (along, across) = if is_transposed {
            (outer as u64 * u64::from(bytes), k as u64)
        } else {
            (k as u64 * u64::from(bytes), outer as u64)
        };
        let width = self.swizzle;
        let (blocks_along, blocks_across) = match (is_transposed, width) {
            // Without swizzling the two are exchanged.
            (true, ROW_BYTES) => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        };
        let offset = self.start
            + along / width * blocks_along
            + across / ROWS * blocks_across
            + across % ROWS * width
            + along % width;
        // Rows of 16 bytes change places within a row, by the number of the row.
        let places = width / ROW_BYTES - 1;
        offset ^ (offset >> 7 & places) << 4
    }
}
