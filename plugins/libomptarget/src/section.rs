//! Array sections that are not contiguous.

use crate::abi::Dimension;
use crate::args::slice;

/// Most dimensions of a section: those of an array, and one for a stride.
const MOST: usize = 32;

/// The dimensions of a section. Of sections whose length is known at run time, clang 22 passes
/// the bytes instead of the number of dimensions. So they end where one is none within the one
/// before, which is a guess: what lies behind the last may look like one.
///
/// # Safety
/// The memory is readable for `count` dimensions, or [`MOST`]: the dimensions, and the caller's
/// stack, on which clang puts them.
pub(crate) unsafe fn dimensions<'a>(start: *const Dimension, count: usize) -> &'a [Dimension] {
    let mut real: usize = 0;
    let mut most = u64::MAX;
    while real < count.min(MOST) {
        // SAFETY: the caller's promise; any bytes make one.
        let dimension = unsafe { start.add(real).read_unaligned() };
        let end = dimension.offset.checked_add(dimension.count);
        let end = end.and_then(|end| end.checked_mul(dimension.stride));
        let is_empty = dimension.stride == 0 || (real > 0 && dimension.count == 0);
        if is_empty || end.is_none_or(|end| end > most) {
            break;
        }
        most = dimension.stride;
        real += 1;
    }
    // SAFETY: as above.
    unsafe { slice(start, real) }
}

/// The contiguous pieces of a section: offset and bytes. The last dimensions are one piece as
/// far as they leave no gaps.
pub(crate) fn pieces(dimensions: &[Dimension]) -> Vec<(u64, usize)> {
    let Some(last) = dimensions.last() else {
        return Vec::new();
    };
    let mut bytes = last.count.saturating_mul(last.stride);
    let mut outer = dimensions.len() - 1;
    let mut inner = last.offset.saturating_mul(last.stride);
    while outer > 0 {
        let dimension = &dimensions[outer - 1];
        if bytes != dimension.stride {
            break;
        }
        bytes = dimension.count.saturating_mul(dimension.stride);
        inner = inner.saturating_add(dimension.offset.saturating_mul(dimension.stride));
        outer -= 1;
    }
    let mut pieces = vec![inner];
    for dimension in dimensions[..outer].iter().rev() {
        let starts =
            (0..dimension.count).map(|n| (dimension.offset + n).wrapping_mul(dimension.stride));
        pieces = starts
            .flat_map(|start| pieces.iter().map(move |piece| start.wrapping_add(*piece)))
            .collect();
    }
    pieces
        .into_iter()
        .map(|piece| (piece, bytes as usize))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(offset: u64, count: u64, stride: u64) -> Dimension {
        Dimension {
            offset,
            count,
            stride,
        }
    }

    #[test]
    fn pieces_of_sections() {
        assert_eq!(pieces(&[]), []);
        // a[2:3] of ints
        assert_eq!(pieces(&[dimension(2, 3, 4)]), [(8, 12)]);
        // a[1:2][3:2] of rows of 10 ints
        let rows = [dimension(1, 2, 40), dimension(3, 2, 4)];
        assert_eq!(pieces(&rows), [(52, 8), (92, 8)]);
        // Whole rows are one piece.
        let whole = [dimension(1, 2, 40), dimension(0, 10, 4)];
        assert_eq!(pieces(&whole), [(40, 80)]);
        // Every other element, as clang has it: one more dimension of one element.
        let strided = [dimension(0, 3, 8), dimension(0, 1, 4)];
        assert_eq!(pieces(&strided), [(0, 4), (8, 4), (16, 4)]);
        let nothing = [dimension(0, 0, 40), dimension(0, 2, 4)];
        assert_eq!(pieces(&nothing), []);
    }

    #[test]
    fn dimensions_end_where_they_are_none() {
        let count = |dimensions: &[Dimension]| {
            // SAFETY: as many as there are.
            unsafe { super::dimensions(dimensions.as_ptr(), dimensions.len()) }.len()
        };
        assert_eq!(count(&[dimension(0, 12, 8), dimension(0, 1, 4)]), 2);
        let behind = [dimension(0, 12, 8), dimension(0, 1, 4), dimension(48, 1, 7)];
        assert_eq!(count(&behind), 2);
        let nothing_behind = [dimension(0, 12, 8), dimension(0, 1, 4), dimension(0, 0, 3)];
        assert_eq!(count(&nothing_behind), 2);
        assert_eq!(count(&[dimension(u64::MAX, 2, 8)]), 0);
        let rows = [dimension(0, 4, 24), dimension(1, 2, 4), dimension(0, 1, 4)];
        assert_eq!(count(&rows), 3);
    }
}
