//! Printing from a kernel, on the host's standard output or standard error.
//!
//! A thread's text is printed in order, before the launch is reported as complete, and before the
//! calls that the thread makes afterwards, unless the output is blocked.
//!
//! Each print is a call of [`FUNCTION`](print::FUNCTION). Only on `gcn-queue` a text for the standard
//! output travels in messages of that wire, unless it is printed in pieces, and an earlier message of
//! another thread that is still incomplete delays it.
//!
//! The macros ([`println!`](crate::println!) and the others of `std`) format into a buffer of 256 bytes.

use core::fmt::{self, Write};
use core::panic::Location;

use shared_abi::image::FunctionInfo;
use shared_abi::map_kind::MapKind;
use shared_abi::print;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
#[cfg(feature = "gcc-wires")]
use shared_abi::wire::gcn_queue;

use crate::call::{Args, StatusTo};
use crate::host_written::RUNTIME;
use crate::pieces::PieceBuffer;
use crate::wire;
#[cfg(feature = "gcc-wires")]
use crate::wire::gcn_queue::Queue;

/// Represents the host function.
#[unsafe(export_name = "__revoff_fn_revoff_print")]
static PRINT: FunctionInfo = FunctionInfo { signature: 0 };

/// A standard stream of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The standard output.
    Output,
    /// The standard error.
    Error,
}

/// Prints `text` verbatim. Returns whether it was printed.
pub fn text(text: &str) -> bool {
    text_after_pieces(Stream::Output, text, 0)
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

/// Prints formatted text, and ends the line if `ends_line`. No other text comes between its parts,
/// however long it is, unless the host lacks memory for it.
///
/// An error of formatting ends the text; a text that cannot be printed is lost.
#[inline(never)]
pub fn formatted(stream: Stream, text: fmt::Arguments<'_>, ends_line: bool) {
    let send_end = |text: &str, pieces| {
        text_after_pieces(stream, text, pieces);
    };
    let mut buffer = PieceBuffer::new(piece, send_end);
    let _ = match text.as_str() {
        Some(text) => buffer.write_str(text),
        None => buffer.write_fmt(text),
    };
    if ends_line {
        let _ = buffer.write_str("\n");
    }
    buffer.finish();
}

/// Prints the caller's location, an expression and its value on the standard error.
#[inline(never)]
#[track_caller]
pub fn debug(expression: &str, value: &dyn fmt::Debug) {
    let at = Location::caller();
    formatted(
        Stream::Error,
        format_args!("[{at}] {expression} = {value:#?}"),
        true,
    );
}

/// Prints the text that begins with the pieces of that number (0: none) and ends with `text`.
fn text_after_pieces(stream: Stream, text: &str, pieces: u64) -> bool {
    #[cfg(feature = "gcc-wires")]
    if prints_in_messages() && stream == Stream::Output && pieces == 0 {
        if !text.is_empty() {
            Queue::print_text(&RUNTIME, text.as_bytes());
        }
        return true;
    }
    let what = match stream {
        Stream::Output => print::TEXT,
        Stream::Error => print::TEXT | print::STDERR,
    };
    call(what, text, (pieces, MapKind::FIRSTPRIVATE_INT))
}

/// Sends a piece of a text, after those with the number `pieces` (0: none). Returns the number of the
/// pieces with this one; 0 if the host has not kept it.
pub(crate) fn piece(text: &str, pieces: u64) -> u64 {
    let mut number = pieces;
    let is_kept = call(
        print::PIECE,
        text,
        ((&raw mut number) as u64, MapKind::TOFROM),
    );
    if is_kept { number } else { 0 }
}

fn number(label: &str, what: u32, bits: u64) -> bool {
    #[cfg(feature = "gcc-wires")]
    if prints_in_messages() {
        let message = if what == print::DOUBLE {
            gcn_queue::DOUBLE
        } else {
            gcn_queue::INTEGER
        };
        Queue::print_number(&RUNTIME, label.as_bytes(), message, bits);
        return true;
    }
    call(what, label, (bits, MapKind::FIRSTPRIVATE_INT))
}

/// Whether the wire has messages for text.
#[cfg(feature = "gcc-wires")]
fn prints_in_messages() -> bool {
    wire::has(WireKind::GCN_QUEUE) && wire() == WireKind::GCN_QUEUE
}

fn wire() -> WireKind {
    WireKind(RUNTIME.wire_kind())
}

/// Calls the host function. `last` is the last argument, of 8 bytes, with its kind: its bits, or the
/// address of a variable of ours.
fn call(what: u32, text: &str, last: (u64, MapKind)) -> bool {
    let addrs = [what.into(), text.as_ptr() as u64, last.0];
    let sizes = [4, text.len() as u64, 8];
    let kinds = [MapKind::FIRSTPRIVATE_INT, MapKind::TO, last.1].map(|kind| kind.0);
    let mut status = Status::NONE.0;
    // SAFETY: three elements each; the ranges are that of `text`, which the host reads, and perhaps
    // that of a variable of `piece`, which it also writes; the status goes to a variable of ours.
    unsafe {
        let args = Args::new(3, addrs.as_ptr(), sizes.as_ptr(), kinds.as_ptr());
        let func = (&raw const PRINT) as u64;
        wire::call(wire(), func, args, 0, false, StatusTo::new(&mut status));
    }
    // GCC's wires report none.
    matches!(Status(status), Status::DONE | Status::NONE)
}
