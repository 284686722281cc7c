//! Filling memory with a value.

use super::in_turn;
use super::place::Range;
use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::state::Context;

/// Bytes that are written at a time.
const PIECE: usize = 64 << 10;

/// Fills `height` rows, `pitch` bytes apart, with `width` values each.
fn fill(
    context: &Context,
    (stream, default): (u64, u64),
    (address, pitch): (u64, usize),
    value: &[u8],
    (width, height): (usize, usize),
    is_async: bool,
) -> Answer {
    let stream = context.stream(stream, default)?;
    let size = value.len();
    if !address.is_multiple_of(size as u64) || (height > 1 && !pitch.is_multiple_of(size)) {
        return Err(Code::INVALID_VALUE);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    let row = width.checked_mul(size).ok_or(Code::INVALID_VALUE)?;
    if height > 1 && pitch < row {
        return Err(Code::INVALID_VALUE);
    }
    let before = pitch.checked_mul(height - 1).ok_or(Code::INVALID_VALUE)?;
    let len = before.checked_add(row).ok_or(Code::INVALID_VALUE)?;
    let range = Range::of_device(context, address, len)?;
    let values = value.repeat(PIECE.min(row) / size);
    in_turn(context, &stream, move || {
        let place = range.resolve()?;
        for start in (0..height).map(|y| y * pitch) {
            for at in (0..row).step_by(values.len()) {
                let len = values.len().min(row - at);
                // SAFETY: the range has these rows, and `values` that many bytes.
                unsafe { place.write(start + at, values.as_ptr(), len) };
            }
        }
        Ok(())
    })?;
    if !is_async {
        context.end(&stream)?.wait()?;
    }
    Ok(())
}

macro_rules! fills {
    ($($one:ident, $one_later:ident, $rows:ident, $rows_later:ident: $type:ty;)*) => {$(
        pub extern "C" fn $one<const DEFAULT: u64>(address: u64, value: $type, count: usize) -> u32 {
            with_context(stringify!($one), |context| {
                let value = value.to_ne_bytes();
                fill(context, (0, DEFAULT), (address, 0), &value, (count, 1), false)
            })
        }

        pub extern "C" fn $one_later<const DEFAULT: u64>(
            address: u64,
            value: $type,
            count: usize,
            stream: u64,
        ) -> u32 {
            with_context(stringify!($one_later), |context| {
                let value = value.to_ne_bytes();
                fill(context, (stream, DEFAULT), (address, 0), &value, (count, 1), true)
            })
        }

        pub extern "C" fn $rows<const DEFAULT: u64>(
            address: u64,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
        ) -> u32 {
            with_context(stringify!($rows), |context| {
                let value = value.to_ne_bytes();
                fill(context, (0, DEFAULT), (address, pitch), &value, (width, height), false)
            })
        }

        pub extern "C" fn $rows_later<const DEFAULT: u64>(
            address: u64,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            stream: u64,
        ) -> u32 {
            with_context(stringify!($rows_later), |context| {
                let value = value.to_ne_bytes();
                fill(context, (stream, DEFAULT), (address, pitch), &value, (width, height), true)
            })
        }
    )*};
}

fills! {
    cuMemsetD8_v2, cuMemsetD8Async, cuMemsetD2D8_v2, cuMemsetD2D8Async: u8;
    cuMemsetD16_v2, cuMemsetD16Async, cuMemsetD2D16_v2, cuMemsetD2D16Async: u16;
    cuMemsetD32_v2, cuMemsetD32Async, cuMemsetD2D32_v2, cuMemsetD2D32Async: u32;
}
