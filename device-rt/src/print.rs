//! Printing from a kernel, on the host's standard output.
//!
//! Only the wire `gcn-queue` has messages for it. A thread's text is printed in order, before the
//! launch is reported as complete, and before the calls that the thread makes afterwards, unless
//! an earlier message of another thread is still incomplete.

use shared_abi::wire::WireKind;
use shared_abi::wire::gcn_queue::{DOUBLE, INTEGER};

use crate::host_written::RUNTIME;
use crate::wire::gcn_queue::Queue;

/// Prints `text` verbatim. Returns whether the wire can print.
pub fn text(text: &str) -> bool {
    is_possible() && {
        if !text.is_empty() {
            Queue::print_text(&RUNTIME, text.as_bytes());
        }
        true
    }
}

/// Prints at most 128 bytes of `label`, then `value` in decimal, and ends the line.
/// Returns whether the wire can print.
pub fn integer(label: &str, value: i64) -> bool {
    number(label, INTEGER, value as u64)
}

/// Like [`integer`], for a number with six digits after the point.
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
