//! Printing from a kernel, on the host's standard output.
//!
//! A thread's text is printed in order, before the launch is reported as complete, and before the
//! calls that the thread makes afterwards, unless the output is blocked.
//!
//! Each print is a call of [`FUNCTION`](print::FUNCTION). Only on `gcn-queue` text travels in messages
//! of that wire, and an earlier message of another thread that is still incomplete delays it.

use shared_abi::image::FunctionInfo;
use shared_abi::map_kind::MapKind;
use shared_abi::print;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
#[cfg(feature = "gcc-wires")]
use shared_abi::wire::gcn_queue;

use crate::call::{Args, StatusTo};
use crate::host_written::RUNTIME;
use crate::wire;
#[cfg(feature = "gcc-wires")]
use crate::wire::gcn_queue::Queue;

/// Represents the host function.
#[unsafe(export_name = "__revoff_fn_revoff_print")]
static PRINT: FunctionInfo = FunctionInfo { signature: 0 };

/// Prints `text` verbatim. Returns whether it was printed.
pub fn text(text: &str) -> bool {
    #[cfg(feature = "gcc-wires")]
    if wire() == WireKind::GCN_QUEUE {
        if !text.is_empty() {
            Queue::print_text(&RUNTIME, text.as_bytes());
        }
        return true;
    }
    call(print::TEXT, text, 0)
}

/// Prints at most 128 bytes of `label`, then `value` in decimal, and ends the line.
/// Returns whether it was printed.
pub fn integer(label: &str, value: i64) -> bool {
    number(label, print::INTEGER, value as u64)
}

/// Like [`integer`], for a number with six digits after the point.
pub fn double(label: &str, value: f64) -> bool {
    number(label, print::DOUBLE, value.to_bits())
}

fn number(label: &str, what: u32, bits: u64) -> bool {
    #[cfg(feature = "gcc-wires")]
    if wire() == WireKind::GCN_QUEUE {
        let message = if what == print::DOUBLE {
            gcn_queue::DOUBLE
        } else {
            gcn_queue::INTEGER
        };
        Queue::print_number(&RUNTIME, label.as_bytes(), message, bits);
        return true;
    }
    call(what, label, bits)
}

fn wire() -> WireKind {
    WireKind(RUNTIME.wire_kind())
}

fn call(what: u32, text: &str, bits: u64) -> bool {
    let addrs = [what.into(), text.as_ptr() as u64, bits];
    let sizes = [4, text.len() as u64, 8];
    let kinds = [
        MapKind::FIRSTPRIVATE_INT,
        MapKind::TO,
        MapKind::FIRSTPRIVATE_INT,
    ]
    .map(|kind| kind.0);
    let mut status = Status::NONE.0;
    // SAFETY: three elements each; the only range is that of `text`, which the host reads; the status
    // goes to a variable of ours.
    unsafe {
        let args = Args::new(3, addrs.as_ptr(), sizes.as_ptr(), kinds.as_ptr());
        let func = (&raw const PRINT) as u64;
        wire::call(wire(), func, args, 0, false, StatusTo::new(&mut status));
    }
    // GCC's wires report none.
    matches!(Status(status), Status::DONE | Status::NONE)
}
