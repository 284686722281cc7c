//! The host function that prints for kernels.

use std::fmt;
use std::slice;
use std::sync::Arc;

use revoff_fn::{BadArguments, Failure, HostFunction, RawArg};
use shared_abi::map_kind::MapKind;
use shared_abi::print::{DOUBLE, FUNCTION, INTEGER, PIECE, STDERR, TEXT};

use super::call_context::current_call;
use super::pieces::Pieces;
use super::text::Text;
use crate::base::number;

/// Prints a text, and perhaps a number, or keeps a piece of a text.
pub(super) struct Print {
    pub(super) output: Text,
    pub(super) error: Text,
    pub(super) pieces: Arc<Pieces>,
}

impl HostFunction for Print {
    fn name(&self) -> &str {
        FUNCTION
    }

    fn signature(&self) -> u64 {
        // Not compared: device-rt makes the calls.
        0
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn fmt::Write) -> Result<(), Failure> {
        let [what, text, last] = args else {
            let (expected, found) = (3, args.len());
            return Err(BadArguments::Count { expected, found }.into());
        };
        check_kind(0, what, MapKind::FIRSTPRIVATE_INT)?;
        check_kind(1, text, MapKind::TO)?;
        let is_piece = what.ptr.addr() == PIECE as usize;
        let last_kind = if is_piece {
            MapKind::TOFROM
        } else {
            MapKind::FIRSTPRIVATE_INT
        };
        check_kind(2, last, last_kind)?;
        // A copy, so that the number's memory, which is written, may overlap it.
        let text = if text.size == 0 {
            Vec::new()
        } else {
            // SAFETY: the caller ensures that memory of that size is there and initialised. Nothing
            // writes it while this reference lives.
            unsafe { slice::from_raw_parts(text.ptr.cast_const(), text.size as usize) }.to_vec()
        };
        if is_piece {
            let (expected, found) = (size_of::<u64>() as u64, last.size);
            if expected != found {
                return Err(BadArguments::Size {
                    argument: 2,
                    expected,
                    found,
                }
                .into());
            }
            let number = last.ptr.cast::<u64>();
            let launch = current_call().map_or(0, |call| call.launch);
            // SAFETY: the caller ensures that 8 bytes are there, initialised and writable.
            unsafe {
                let before = number.read_unaligned();
                number.write_unaligned(self.pieces.add(before, launch, &text));
            }
            return Ok(());
        }
        let bits = last.ptr.addr() as u64;
        let what = u32::try_from(what.ptr.addr()).unwrap_or(u32::MAX);
        let number = match what & !STDERR {
            TEXT => String::new(),
            INTEGER => number::integer_line(bits.cast_signed()),
            DOUBLE => number::double_line(f64::from_bits(bits)),
            _ => {
                // A message that does not fit is cut; the call fails in any case.
                let _ = write!(message, "cannot print {what:#x}");
                return Err(Failure::Function);
            }
        };
        let pieces = match what & !STDERR {
            TEXT if bits != 0 => self.pieces.take(bits),
            _ => Vec::new(),
        };
        let stream = if what & STDERR == 0 {
            &self.output
        } else {
            &self.error
        };
        stream.print(&[&*pieces, &text, number.as_bytes()].concat());
        Ok(())
    }
}

fn check_kind(argument: usize, raw: &RawArg, expected: MapKind) -> Result<(), BadArguments> {
    let found = raw.kind;
    if found.base() == expected.base() {
        return Ok(());
    }
    Err(BadArguments::Kind {
        argument,
        expected,
        found,
    })
}
