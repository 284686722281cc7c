//! The end of a construct: what it has used goes back to the host.

use std::sync::Arc;

use crate::abi::MapType;
use crate::args::Args;
use crate::device::Device;
use crate::device::mapped::Mapped;
use crate::device::stream::Stream;
use crate::device::table::End;
use crate::registry::requirements;
use crate::report::message::{self, Failed};

/// What a construct that has ended still has to settle, once its copies are done.
#[derive(Default)]
pub(crate) struct Ending {
    entries: Vec<Ended>,
}

struct Ended {
    mapped: Arc<Mapped>,
    bytes: usize,
    map: MapType,
    /// It is being copied back.
    copies: bool,
}

/// Copies back what is to be copied back at the end of a construct, and ends its mappings;
/// [`settle`] has to follow when the stream is synchronised.
///
/// # Safety
/// As for [`begin`](crate::mapping::begin::begin).
///
/// # Errors
/// Something is not there that must be, or the device fails.
pub(crate) unsafe fn end(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    ending: &mut Ending,
) -> Result<(), Failed> {
    for (at, arg) in args.iter().rev() {
        if arg
            .map
            .has(MapType::LITERAL | MapType::PRIVATE | MapType::ATTACH)
        {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: as in `begin`.
            unsafe { Args::expand(&arg, |args| end(device, stream, args, ending))? };
            continue;
        }
        let map = arg.map;
        let is_counted = !map.is_member() || map.has(MapType::PTR_AND_OBJ);
        let how = End {
            counts: is_counted && !(args.from_mapper && at == 0),
            hold: map.has(MapType::HOLD),
            delete: map.has(MapType::DELETE),
            whole: !map.has(MapType::IMPLICIT),
            from: map.has(MapType::FROM),
            always: map.has(MapType::ALWAYS),
        };
        let bytes = arg.bytes();
        let Some(used) = device.table.end(device, arg.begin, bytes, &how) else {
            if map.has(MapType::PRESENT) && !requirements::is_memory_shared() {
                message::message(&format!(
                    "device mapping required by 'present' map type modifier does not exist for host \
                     address {:#018x} ({bytes} bytes)",
                    arg.begin
                ));
                return Err(Failed);
            }
            continue;
        };
        let copies = bytes > 0 && used.copies;
        if copies {
            if let Some(event) = &used.mapped.content().event {
                stream.wait_for(event);
            }
            let to = arg.begin as *mut u8;
            // SAFETY: the caller's promise.
            unsafe { stream.copy_from(to, used.device, bytes, used.mapped.name())? };
        }
        ending.entries.push(Ended {
            mapped: used.mapped,
            bytes,
            map,
            copies,
        });
    }
    Ok(())
}

/// Settles what [`end`] has ended.
///
/// # Safety
/// As for [`begin`](crate::mapping::begin::begin); the stream is synchronised.
pub(crate) unsafe fn settle(device: &Device, ending: Ending) {
    for ended in ending.entries {
        let Ended {
            mapped,
            bytes,
            map,
            copies,
        } = ended;
        if map.has(MapType::FROM) {
            // SAFETY: the caller's promise.
            unsafe { mapped.restore_host_pointers() };
        }
        // The structure that a member is of is still there.
        let may_go = !map.is_member() || map.has(MapType::PTR_AND_OBJ);
        device.table.settle(device, &mapped, bytes, may_go);
        if copies {
            mapped.end_return();
        }
    }
}

/// Ends the mappings of a construct.
///
/// # Safety
/// As for [`end`].
///
/// # Errors
/// As of [`end`].
pub(crate) unsafe fn finish(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
) -> Result<(), Failed> {
    let mut ending = Ending::default();
    // SAFETY: passed on.
    unsafe { end(device, stream, args, &mut ending)? };
    stream.synchronize()?;
    // SAFETY: passed on.
    unsafe { settle(device, ending) };
    Ok(())
}
