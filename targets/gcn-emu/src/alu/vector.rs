//! Vector arithmetic: VOP1, VOP2, VOPC and VOP3.

use super::{Operation, compare, convert, divide, double, half, integer, single};
use crate::isa::ValuOp;

/// The arithmetic of an operation.
pub(super) fn find(op: ValuOp) -> Option<&'static Operation> {
    let tables = [
        integer::find,
        single::find,
        compare::find,
        convert::find,
        half::find,
        double::find,
        divide::find,
    ];
    tables.into_iter().find_map(|find| find(op))
}
