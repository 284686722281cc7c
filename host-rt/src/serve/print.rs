//! The host function that prints for kernels.

use std::fmt;
use std::slice;

use host_fn::{BadArguments, Failure, HostFunction, RawArg};
use shared_abi::map_kind::MapKind;
use shared_abi::print::{DOUBLE, FUNCTION, INTEGER, TEXT};

use super::text::Text;
use crate::base::number;

/// Prints a text, and perhaps a number.
pub(super) struct Print(pub(super) Text);

impl HostFunction for Print {
    fn name(&self) -> &str {
        FUNCTION
    }

    fn signature(&self) -> u64 {
        // Not compared: device-rt makes the calls.
        0
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn fmt::Write) -> Result<(), Failure> {
        let kinds = [
            MapKind::FIRSTPRIVATE_INT,
            MapKind::TO,
            MapKind::FIRSTPRIVATE_INT,
        ];
        let [what, text, bits] = args else {
            let (expected, found) = (kinds.len(), args.len());
            return Err(BadArguments::Count { expected, found }.into());
        };
        for (argument, (raw, expected)) in args.iter().zip(kinds).enumerate() {
            let found = raw.kind;
            if found.base() != expected.base() {
                return Err(BadArguments::Kind {
                    argument,
                    expected,
                    found,
                }
                .into());
            }
        }
        let text = if text.size == 0 {
            &[]
        } else {
            // SAFETY: the caller ensures that memory of that size is there and initialised; no other
            // argument has memory.
            unsafe { slice::from_raw_parts(text.ptr.cast_const(), text.size as usize) }
        };
        let bits = bits.ptr.addr() as u64;
        let number = match u32::try_from(what.ptr.addr()) {
            Ok(TEXT) => String::new(),
            Ok(INTEGER) => number::integer_line(bits.cast_signed()),
            Ok(DOUBLE) => number::double_line(f64::from_bits(bits)),
            _ => {
                // A message that does not fit is cut; the call fails in any case.
                let _ = write!(message, "cannot print {:#x}", what.ptr.addr());
                return Err(Failure::Function);
            }
        };
        self.0.print(&[text, number.as_bytes()].concat());
        Ok(())
    }
}
