//! The arguments of a request, and their bytes.

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::native::{
    ENTRY_ROWS, HEADER_ROWS, MAX_MARSHALLED, MapEntry, PLACE_BOUNCE, PLACE_DEVICE, PLACE_SLOT,
    ROW_DATA, is_list_in_slot, lane_rows, reply_payload_row,
};
use shared_abi::words::{Load, SystemWords};

use super::NativeRequest;
use super::words::{HeldRows, Words};
use crate::wire::arg::{Arg, ArgLocation, MarshalledBit, SlotRange};
use crate::wire::memory::Wire;
use crate::wire::{ArgsError, Copier};

/// Reads the entries of `request.mapnum` arguments.
#[inline]
pub(in crate::wire) fn read_args(
    wire: &Wire,
    request: &NativeRequest,
    copier: &Copier,
    args: &mut Vec<Arg>,
) -> Result<(), ArgsError> {
    let (first, blocks) = (request.bounce_first, request.bounce_blocks);
    let extent = first as usize * BLOCK;
    let extent_len = blocks as usize * BLOCK;
    let extent_end = extent.checked_add(extent_len);
    if blocks > MAX_EXTENT || extent_end.is_none_or(|end| end > copier.bounce_bytes()) {
        return Err(ArgsError::NoSuchExtent { first, blocks });
    }
    let bounce = copier.bounce();
    let words = Words::of(wire);
    let (lane, mapnum) = (request.lane, request.meta.mapnum());
    let count = mapnum as usize;
    let is_in_slot = is_list_in_slot(mapnum);
    if !is_in_slot && count * size_of::<MapEntry>() > extent_len {
        return Err(ArgsError::ListTooLong { count, blocks });
    }
    let max_rows = lane_rows(words.lanes, lane.count);
    let mut request = Rows {
        next: HEADER_ROWS + u32::from(request.meta.has_extent()),
        end: request.meta.rows().min(max_rows),
    };
    let mut reply = Rows {
        next: reply_payload_row(mapnum),
        end: max_rows,
    };
    let mut marshalled = 0;
    for index in 0..count {
        let words: [u64; 3] = if is_in_slot {
            let Some(first) = request.take(ENTRY_ROWS) else {
                let rows = request.end;
                return Err(ArgsError::ListOutsideSlot { count, rows });
            };
            std::array::from_fn(|i| words.request_data(lane, first + i as u32))
        } else {
            let at = extent + index * size_of::<MapEntry>();
            // Relaxed: N1 orders it.
            std::array::from_fn(|i| bounce.load64(at + i * 8, Load::Relaxed))
        };
        let [addr, size, tail] = words;
        let (kind, place, offset) = (
            MapKind(tail as u16),
            (tail >> 16) as u16,
            (tail >> 32) as u32,
        );
        let bit = MarshalledBit(marshalled);
        let mut slot_range = || {
            // No request is that long.
            let size = usize::from(u16::try_from(size).ok()?);
            let rows = size.div_ceil(ROW_DATA) as u32;
            let range = SlotRange {
                request_row: request.take_if(kind.reads_device(), rows)?,
                reply_row: reply.take_if(kind.writes_device(), rows)?,
                size,
            };
            Some(ArgLocation::Slot(range, bit))
        };
        let bounce_range = || {
            let (offset, size) = (offset as usize, usize::try_from(size).ok()?);
            let fits = offset
                .checked_add(size)
                .is_some_and(|end| end <= extent_len);
            (fits && offset.is_multiple_of(8)).then_some(ArgLocation::Bounce(extent + offset, bit))
        };
        let location = match place {
            PLACE_DEVICE => Some(ArgLocation::Device),
            _ if marshalled == MAX_MARSHALLED => return Err(ArgsError::TooManyMarshalled),
            PLACE_SLOT => slot_range(),
            PLACE_BOUNCE => bounce_range(),
            _ => None,
        };
        let Some(location) = location else {
            return Err(ArgsError::NotMarshalled {
                index,
                place,
                offset,
                size,
            });
        };
        marshalled += u32::from(location != ArgLocation::Device);
        args.push(Arg {
            addr,
            size,
            kind,
            location,
        });
    }
    Ok(())
}

/// The rows of a lane that no argument has yet.
struct Rows {
    next: u32,
    end: u32,
}

impl Rows {
    /// The first of the next `count` rows, if they are there.
    fn take(&mut self, count: u32) -> Option<u32> {
        let first = self.next;
        // No overflow: both are small.
        self.next += count;
        (self.next <= self.end).then_some(first)
    }

    /// The first of the next `count` rows, if they are there; 0 if none is needed.
    fn take_if(&mut self, is_needed: bool, count: u32) -> Option<u32> {
        if is_needed { self.take(count) } else { Some(0) }
    }
}

/// Copies the `len` bytes from `skip` on of `range` in the request to `to`; zeros if the kind of the
/// argument does not read.
///
/// # Safety
/// `to` is writable for the range's length.
#[inline]
pub(in crate::wire) unsafe fn read_payload(
    wire: &Wire,
    request: &NativeRequest,
    range: SlotRange,
    skip: usize,
    to: *mut u8,
    len: usize,
) {
    let words = Words::of(wire);
    range.assert_contains(skip, len);
    if range.request_row == 0 {
        // SAFETY: the caller's promise.
        return unsafe { to.write_bytes(0, len) };
    }
    let mut done = 0;
    while done < len {
        let at = skip + done;
        let row = range.request_row + (at / ROW_DATA) as u32;
        let data = words.request_data(request.lane, row).to_le_bytes();
        if at.is_multiple_of(ROW_DATA) && len - done >= ROW_DATA {
            // SAFETY: `done + ROW_DATA <= len`, for which the caller vouches.
            unsafe { to.add(done).cast::<[u8; ROW_DATA]>().write(data) };
            done += ROW_DATA;
            continue;
        }
        let part = &data[at % ROW_DATA..];
        let part = &part[..part.len().min(len - done)];
        // SAFETY: `done + part.len() <= len`, for which the caller vouches.
        unsafe {
            to.add(done)
                .copy_from_nonoverlapping(part.as_ptr(), part.len())
        };
        done += part.len();
    }
}

/// Copies `from` to the bytes from `skip` on of `range` in the reply; does nothing if the kind of the
/// argument does not write. `is_first`: nothing has been written there; then the rest of
/// the range gets the bytes of the request, or zeros.
///
/// # Safety
/// `from` is readable.
#[inline]
pub(in crate::wire) unsafe fn write_payload(
    wire: &Wire,
    request: &NativeRequest,
    held: &mut HeldRows,
    range: SlotRange,
    is_first: bool,
    skip: usize,
    from: *const [u8],
) {
    let words = Words::of(wire);
    let (from, len) = (from.cast::<u8>(), from.len());
    range.assert_contains(skip, len);
    if range.reply_row == 0 {
        return;
    }
    let lane = request.lane;
    words.prefetch_reply(lane, range.reply_row..range.reply_row + range.rows());
    if is_first && len < range.size {
        for row in 0..range.rows() {
            let data = if range.request_row != 0 {
                words.request_data(lane, range.request_row + row)
            } else {
                0
            };
            words.hold_or_write(lane, range.reply_row + row, data, held);
        }
    }
    let mut done = 0;
    while done < len {
        let at = skip + done;
        let row = range.reply_row + (at / ROW_DATA) as u32;
        if at.is_multiple_of(ROW_DATA) && len - done >= ROW_DATA {
            // SAFETY: `done + ROW_DATA <= len`, and the caller vouches for `from`.
            let data = unsafe { from.add(done).cast::<[u8; ROW_DATA]>().read() };
            words.hold_or_write(lane, row, u64::from_le_bytes(data), held);
            done += ROW_DATA;
            continue;
        }
        let (first, count) = (at % ROW_DATA, (ROW_DATA - at % ROW_DATA).min(len - done));
        let mut data = if at + count == range.size && first == 0 {
            [0; ROW_DATA]
        } else {
            words.reply_data(lane, row, held).to_le_bytes()
        };
        let part = &mut data[first..first + count];
        // SAFETY: `done + count <= len`, and the caller vouches for `from`.
        unsafe {
            from.add(done)
                .copy_to_nonoverlapping(part.as_mut_ptr(), count)
        };
        words.hold_or_write(lane, row, u64::from_le_bytes(data), held);
        done += count;
    }
}
