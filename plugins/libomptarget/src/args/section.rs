//! Array sections that are not contiguous.

use super::slice;
use crate::abi::Dimension;

/// Most dimensions of a section: those of an array, and one for a stride.
const MOST: usize = 32;

/// The dimensions of a section. If a section's length is known only at run time, clang 22 passes
/// its bytes instead of the number of dimensions. So the list ends at the first dimension that
/// does not fit into the one before, which is a guess: memory after the last may look like one.
///
/// # Safety
/// The memory is readable for `count` dimensions, or [`MOST`]: the dimensions, and the caller's
/// stack, on which clang puts them.
pub(crate) unsafe fn dimensions<'a>(start: *const Dimension, count: usize) -> &'a [Dimension] {
    let mut real: usize = 0;
    let mut most = u64::MAX;
    while real < count.min(MOST) {
        // SAFETY: the caller's promise; any bytes are a dimension.
        let dimension = unsafe { start.add(real).read_unaligned() };
        // An offset counts elements, which have at least one byte.
        let last = dimension.count.saturating_sub(1);
        let last = last.checked_mul(dimension.stride);
        let last = last.and_then(|last| last.checked_add(dimension.offset));
        let is_empty = dimension.stride == 0 || (real > 0 && dimension.count == 0);
        if is_empty || last.is_none_or(|last| last >= most) {
            break;
        }
        most = dimension.stride;
        real += 1;
    }
    // SAFETY: as above.
    unsafe { slice(start, real) }
}

/// The bytes from the base of a section to its begin. An offset counts elements, and clang passes
/// the bytes of an element for the last dimension only: it adds a dimension with a single element.
/// The others are assumed to have no stride of the program's, see [`is_unclear`].
pub(crate) fn first(dimensions: &[Dimension]) -> u64 {
    let units = dimensions.iter().enumerate().map(|(at, dimension)| {
        let is_innermost = at + 2 == dimensions.len();
        match dimensions.last() {
            Some(element) if is_innermost && (element.offset, element.count) == (0, 1) => {
                element.stride
            }
            _ => dimension.stride,
        }
    });
    let offsets = dimensions.iter().zip(units);
    offsets.fold(0, |sum: u64, (dimension, unit)| {
        sum.wrapping_add(dimension.offset.wrapping_mul(unit))
    })
}

/// Whether the begin of the section `name` is ambiguous: a dimension before the last has both an
/// offset and a stride. Only the name shows that; without one the section passes.
pub(crate) fn is_unclear(dimensions: &[Dimension], name: &str) -> bool {
    let outer = dimensions.iter().rev().skip(2);
    let sections = subscripts(name).into_iter().rev().skip(1);
    outer.zip(sections).any(|(dimension, section)| {
        let stride = section.splitn(3, ':').nth(2);
        dimension.offset > 0 && stride.is_some_and(|stride| stride.trim() != "1")
    })
}

/// The subscripts of an expression.
fn subscripts(name: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_u32, 0);
    let mut found = Vec::new();
    for (at, c) in name.char_indices() {
        match c {
            '[' => {
                if depth == 0 {
                    start = at + 1;
                }
                depth += 1;
            }
            ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    found.push(&name[start..at]);
                }
            }
            _ => {}
        }
    }
    found
}

/// The contiguous pieces of a section: offset from its [begin](first), and length in bytes. The
/// last dimensions are one piece as far as they leave no gaps.
pub(crate) fn pieces(dimensions: &[Dimension]) -> Vec<(u64, usize)> {
    let Some(last) = dimensions.last() else {
        return Vec::new();
    };
    let mut bytes = last.count.saturating_mul(last.stride);
    let mut outer = dimensions.len() - 1;
    while outer > 0 && bytes == dimensions[outer - 1].stride {
        let dimension = &dimensions[outer - 1];
        bytes = dimension.count.saturating_mul(dimension.stride);
        outer -= 1;
    }
    let mut pieces = vec![0_u64];
    for dimension in dimensions[..outer].iter().rev() {
        let starts = (0..dimension.count).map(|n| n.wrapping_mul(dimension.stride));
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

    fn placed(dimensions: &[Dimension]) -> Vec<(u64, usize)> {
        let first = first(dimensions);
        let pieces = pieces(dimensions).into_iter();
        pieces.map(|(at, bytes)| (first + at, bytes)).collect()
    }

    #[test]
    fn pieces_of_sections() {
        let element = dimension(0, 1, 4);
        assert_eq!(placed(&[]), []);
        // a[2:3] of ints
        assert_eq!(placed(&[dimension(2, 3, 4), element]), [(8, 12)]);
        // a[1:2][3:2] of rows of 10 ints
        let rows = [dimension(1, 2, 40), dimension(3, 2, 4), element];
        assert_eq!(placed(&rows), [(52, 8), (92, 8)]);
        // Whole rows are one piece.
        let whole = [dimension(1, 2, 40), dimension(0, 10, 4), element];
        assert_eq!(placed(&whole), [(40, 80)]);
        // a[0:3:2] and a[1:3:2]
        let strided = [dimension(0, 3, 8), element];
        assert_eq!(placed(&strided), [(0, 4), (8, 4), (16, 4)]);
        let offset = [dimension(1, 3, 8), element];
        assert_eq!(placed(&offset), [(4, 4), (12, 4), (20, 4)]);
        // a[1:2][2:3:2] of rows of 8 ints
        let both = [dimension(1, 2, 32), dimension(2, 2, 8), element];
        assert_eq!(placed(&both), [(40, 4), (48, 4), (72, 4), (80, 4)]);
        let nothing = [dimension(0, 0, 40), dimension(0, 2, 4), element];
        assert_eq!(placed(&nothing), []);
    }

    #[test]
    fn strides_with_offsets_are_unclear_before_the_last_dimension() {
        let element = dimension(0, 1, 4);
        let rows = [dimension(1, 2, 64), dimension(2, 3, 8), element];
        assert!(is_unclear(&rows, "b[1:2:2][2:3:2]"));
        assert!(is_unclear(&rows, "b[i[0]:2:n][2:3:2]"));
        assert!(!is_unclear(&rows, "b[1:2][2:3:2]"));
        assert!(!is_unclear(&rows, "b[1:2:1][2:3:2]"));
        assert!(!is_unclear(&rows, "unknown"));
        let from_0 = [dimension(0, 2, 64), dimension(2, 3, 8), element];
        assert!(!is_unclear(&from_0, "b[0:2:2][2:3:2]"));
        assert!(!is_unclear(&rows[1..], "b[1:2:2]"));
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
        // A stride may lead past the end of the row.
        let strided = [dimension(0, 2, 32), dimension(4, 2, 8), dimension(0, 1, 4)];
        assert_eq!(count(&strided), 3);
    }
}
