//! Printing from a kernel, on the host's standard output.
//!
//! Only the wire `gcn-queue` has messages for it. What one thread prints comes out in its
//! order, and before anybody who waits for the launch goes on; a call that the thread makes
//! afterwards comes after it, unless another thread is slow to write what it has begun to
//! print before.

use shared_abi::wire::WireKind;
use shared_abi::wire::gcn_queue::{DOUBLE, INTEGER};

use crate::runtime::RUNTIME;
use crate::wire::gcn_queue::Queue;

/// Prints `text` as it is. Returns whether there is a way for it.
pub fn text(text: &str) -> bool {
    is_possible() && {
        if !text.is_empty() {
            Queue::print_text(&RUNTIME, text.as_bytes());
        }
        true
    }
}

/// Prints at most 128 bytes of `label`, then `value` in decimal, and ends the line.
/// Returns whether there is a way for it.
pub fn integer(label: &str, value: i64) -> bool {
    number(label, INTEGER, value as u64)
}

/// As [`integer`], with six digits behind the point.
pub fn double(label: &str, value: f64) -> bool {
    number(label, DOUBLE, value.to_bits())
}

fn number(label: &str, kind: u32, bits: u64) -> bool {
    is_possible() && {
        Queue::print_number(&RUNTIME, label.as_bytes(), kind, bits);
        true
    }
}

fn is_possible() -> bool {
    WireKind(RUNTIME.get().wire_kind) == WireKind::GCN_QUEUE
}
