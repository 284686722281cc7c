//! Values that a compiler passes as if they were mapped.
//!
//! rustc 1.96 marks scalars as values when it enters a construct, but not when it launches the
//! kernel (fixed in 1.97). Instead of the value the kernel would get the address of uninitialised
//! memory.

use std::cell::RefCell;

use super::{Args, OneArg};
use crate::abi::MapType;

/// Most values that are remembered; older ones belong to constructs that have ended.
const MAX_LITERALS: usize = 128;

thread_local! {
    /// Values with which this thread entered constructs: base, begin, size.
    static VALUES: RefCell<Vec<(usize, usize, i64)>> = const { RefCell::new(Vec::new()) };
}

fn key(arg: &OneArg) -> (usize, usize, i64) {
    (arg.base, arg.begin, arg.size)
}

/// Remembers the values of a construct at its beginning.
pub(crate) fn note_all(args: &Args<'_>) {
    let values = args.iter().filter(|(_, arg)| arg.map.has(MapType::LITERAL));
    values.for_each(|(_, arg)| note(&arg));
}

/// The arguments of a kernel, with values marked as such; `types` holds their types.
pub(crate) fn corrected<'a>(args: Args<'a>, types: &'a mut Vec<i64>) -> Args<'a> {
    if VALUES.with_borrow(Vec::is_empty) || !args.iter().any(|(_, arg)| is_value(&arg)) {
        return args;
    }
    types.extend(args.iter().map(|(_, arg)| {
        let value = if is_value(&arg) {
            MapType::LITERAL
        } else {
            MapType(0)
        };
        (arg.map | value).0 as i64
    }));
    args.with_types(types)
}

fn note(arg: &OneArg) {
    VALUES.with_borrow_mut(|values| {
        let key = key(arg);
        values.retain(|&value| value != key);
        if values.len() == MAX_LITERALS {
            values.remove(0);
        }
        values.push(key);
    });
}

/// Whether the argument of a kernel, with no other mark, is such a value. Mapped data has a base
/// near its begin, and the program mapped it before.
fn is_value(arg: &OneArg) -> bool {
    arg.map == MapType::TARGET_PARAM && VALUES.with_borrow(|values| values.contains(&key(arg)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(base: usize, map: MapType) -> OneArg {
        OneArg {
            base,
            begin: 0x7fff_0000,
            size: 4,
            map,
            name: std::ptr::null(),
            mapper: std::ptr::null_mut(),
        }
    }

    #[test]
    fn what_was_begun_as_a_value_is_one() {
        let entered = arg(7, MapType::LITERAL | MapType::IMPLICIT);
        let launched = arg(7, MapType::TARGET_PARAM);
        assert!(!is_value(&launched));
        note(&entered);
        assert!(is_value(&launched));
        assert!(!is_value(&arg(8, MapType::TARGET_PARAM)), "another value");
        assert!(
            !is_value(&arg(7, MapType::TARGET_PARAM | MapType::TO)),
            "mapped"
        );
        for other in 0..MAX_LITERALS {
            note(&arg(1000 + other, MapType::LITERAL));
        }
        assert!(!is_value(&launched), "of a construct long ago");
    }
}
