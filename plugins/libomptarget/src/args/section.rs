//! Array sections that are not contiguous.

use super::slice;
use crate::abi::Dimension;

/// Most dimensions of a section: those of an array, and one for a stride.
const MAX_DIMENSIONS: usize = 32;

/// The dimensions of the section `name`; the last is one element, `{0, 1, its bytes}`. clang 22 passes
/// their number as `size`, but the section's bytes if its length is known only at run time. So the
/// end is the dimension of that form within those before it. A dimension of length 1 and memory
/// after the last may have that form, too: then `size` decides if it is the number of one of them,
/// otherwise the name, which programs compiled with `-g` have, and otherwise it is the last of them.
/// `None` if there is no such dimension.
///
/// # Safety
/// [`MAX_DIMENSIONS`] dimensions are readable: those of the section, and the caller's stack behind them, on
/// which clang puts them.
pub(crate) unsafe fn dimensions<'a>(
    start: *const Dimension,
    size: usize,
    name: &str,
) -> Option<&'a [Dimension]> {
    let mut ends = Vec::new();
    let mut bound = u64::MAX;
    for at in 0..MAX_DIMENSIONS {
        // SAFETY: the caller's promise; any bytes make a dimension.
        let dimension = unsafe { start.add(at).read_unaligned() };
        // An offset counts elements, which have a byte at least.
        let last = dimension
            .count
            .saturating_sub(1)
            .checked_mul(dimension.stride);
        let last = last.and_then(|last| last.checked_add(dimension.offset));
        let is_inside = last.is_some_and(|last| last < bound) && dimension.stride <= bound;
        if dimension.stride == 0 || !is_inside {
            break;
        }
        if at > 0 && (dimension.offset, dimension.count) == (0, 1) {
            ends.push(at + 1);
        }
        bound = dimension.stride;
    }
    let by = |wanted: usize| ends.iter().copied().find(|&end| end == wanted);
    let by_name = || by(subscripts(name).len() + 1);
    let count = by(size).or_else(by_name).or(ends.last().copied())?;
    // SAFETY: the loop above read `count` dimensions.
    Some(unsafe { slice(start, count) })
}

/// The bytes from the base of a section to its begin. An offset counts elements, and clang passes
/// the bytes of an element for the last dimension only: it adds a dimension with a single element.
/// The others are assumed to have no stride of the program's, see [`unclear`].
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

/// The reason why the begin of the section called `name` is unknown, if it is. Only names tell;
/// without them the section is accepted.
pub(crate) fn unclear(dimensions: &[Dimension], name: &str) -> Option<&'static str> {
    let sections = subscripts(name);
    if sections.len() >= dimensions.len() {
        return Some(
            "clang does not pass the index before its first section; make that a section of one (`[1:1]`)",
        );
    }
    let outer = dimensions.iter().rev().skip(2);
    let mut sections = outer.zip(sections.into_iter().rev().skip(1));
    let is_strided = sections.any(|(dimension, section)| {
        let stride = section.splitn(3, ':').nth(2);
        dimension.offset > 0 && stride.is_some_and(|stride| stride.trim() != "1")
    });
    is_strided.then_some(
        "clang does not pass where it begins, since a dimension before the last has a stride and does \
         not begin at 0; let it begin at 0, or update its rows one by one",
    )
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
    fn sections_whose_start_nobody_can_tell() {
        let element = dimension(0, 1, 4);
        let rows = [dimension(1, 2, 64), dimension(2, 3, 8), element];
        let is_unclear = |dimensions: &[Dimension], name| unclear(dimensions, name).is_some();
        assert!(is_unclear(&rows, "b[1:2:2][2:3:2]"));
        assert!(is_unclear(&rows, "b[i[0]:2:n][2:3:2]"));
        assert!(!is_unclear(&rows, "b[1:2][2:3:2]"));
        assert!(!is_unclear(&rows, "b[1:2:1][2:3:2]"));
        assert!(!is_unclear(&rows, "unknown"));
        let from_0 = [dimension(0, 2, 64), dimension(2, 3, 8), element];
        assert!(!is_unclear(&from_0, "b[0:2:2][2:3:2]"));
        assert!(!is_unclear(&rows[1..], "b[1:2:2]"));
        assert!(is_unclear(&rows[1..], "b[1][2:3:2]"));
        assert!(is_unclear(&rows, "d[2][1:2][2:3]"));
    }

    #[test]
    fn dimensions_end_with_an_element() {
        let count_of = |dimensions: &[Dimension], size, name| {
            let mut memory = dimensions.to_vec();
            memory.resize(MAX_DIMENSIONS, dimension(0, 0, 0));
            // SAFETY: there are as many dimensions as the function may read.
            unsafe { super::dimensions(memory.as_ptr(), size, name) }.map(<[_]>::len)
        };
        let count = |dimensions: &[Dimension], size| count_of(dimensions, size, "unknown");
        let strided = [dimension(0, 12, 8), dimension(0, 1, 4)];
        // The size is the number of dimensions, or bytes: of one char, of many ints.
        for size in [2, 1, 48] {
            assert_eq!(count(&strided, size), Some(2));
        }
        // A dimension after the last is not part of the section, or not an element.
        for behind in [dimension(48, 1, 7), dimension(0, 0, 3), dimension(0, 2, 1)] {
            assert_eq!(count(&[strided[0], strided[1], behind], 48), Some(2));
        }
        // It may look like an element. Then the number of dimensions tells, or the name.
        let element = [strided[0], strided[1], dimension(0, 1, 2)];
        assert_eq!(count(&element, 2), Some(2));
        assert_eq!(count_of(&element, 48, "a[0:n:2]"), Some(2));
        // So does a dimension of length 1.
        let narrow = [dimension(0, 4, 16), dimension(0, 1, 8), dimension(0, 1, 4)];
        assert_eq!(count(&narrow, 16), Some(3));
        let plane = [
            dimension(1, 2, 96),
            dimension(0, 1, 24),
            dimension(1, 2, 8),
            dimension(0, 1, 4),
        ];
        assert_eq!(count(&plane, 4), Some(4));
        assert_eq!(count(&[dimension(u64::MAX, 2, 8)], 2), None);
        assert_eq!(count(&strided[..1], 1), None);
        let rows = [dimension(0, 4, 24), dimension(1, 2, 4), dimension(0, 1, 4)];
        assert_eq!(count(&rows, 3), Some(3));
        // A stride may lead past the end of the row.
        let long = [dimension(0, 2, 32), dimension(4, 2, 8), dimension(0, 1, 4)];
        assert_eq!(count(&long, 3), Some(3));
    }
}
