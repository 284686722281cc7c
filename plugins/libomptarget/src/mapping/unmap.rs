//! The end of a construct: its data is copied back and unmapped.

use std::sync::Arc;

use crate::abi::MapType;
use crate::args::Args;
use crate::device::Device;
use crate::device::mapped::Mapped;
use crate::device::request::UnmapRequest;
use crate::device::stream::Stream;
use crate::registry::requirements;
use crate::report::message::{self, Failed};

/// Unmapped data of a construct, until its copies are complete.
#[derive(Default)]
pub(crate) struct UnmapBatch {
    entries: Vec<Unmapped>,
}

struct Unmapped {
    mapped: Arc<Mapped>,
    bytes: usize,
    map: MapType,
    /// It is being copied back.
    copies: bool,
}

/// Copies data back and unmaps it at the end of a construct; [`finish_unmap`] must follow when the
/// stream is synchronised.
///
/// # Safety
/// As for [`map_args`](crate::mapping::map::map_args).
///
/// # Errors
/// Data is not present although it must be, or the device fails.
pub(crate) unsafe fn unmap_args(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    batch: &mut UnmapBatch,
) -> Result<(), Failed> {
    for (at, arg) in args.iter().rev() {
        if arg
            .map
            .has(MapType::LITERAL | MapType::PRIVATE | MapType::ATTACH)
        {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: the caller's promise covers the arguments that its mappers produce.
            unsafe { Args::expand(&arg, |args| unmap_args(device, stream, args, batch))? };
            continue;
        }
        let map = arg.map;
        let is_counted = !map.is_member() || map.has(MapType::PTR_AND_OBJ);
        let request = UnmapRequest {
            counts: is_counted && !(args.from_mapper && at == 0),
            hold: map.has(MapType::HOLD),
            delete: map.has(MapType::DELETE),
            whole: !map.has(MapType::IMPLICIT),
            from: map.has(MapType::FROM),
            always: map.has(MapType::ALWAYS),
        };
        let bytes = arg.bytes();
        let Some(used) = device.table.unmap(device, arg.begin, bytes, &request) else {
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
        batch.entries.push(Unmapped {
            mapped: used.mapped,
            bytes,
            map,
            copies,
        });
    }
    Ok(())
}

/// Finishes [`unmap_args`].
///
/// # Safety
/// As for [`map_args`](crate::mapping::map::map_args); the stream is synchronised.
pub(crate) unsafe fn finish_unmap(device: &Device, batch: UnmapBatch) {
    for unmapped in batch.entries {
        let Unmapped {
            mapped,
            bytes,
            map,
            copies,
        } = unmapped;
        if map.has(MapType::FROM) {
            // SAFETY: the caller's promise.
            unsafe { mapped.restore_host_pointers() };
        }
        // A member's structure keeps the entry.
        let may_go = !map.is_member() || map.has(MapType::PTR_AND_OBJ);
        device.table.finish_unmap(device, &mapped, bytes, may_go);
        if copies {
            mapped.end_return();
        }
    }
}

/// Unmaps the data of a construct.
///
/// # Safety
/// As for [`unmap_args`].
///
/// # Errors
/// As for [`unmap_args`].
pub(crate) unsafe fn unmap(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
) -> Result<(), Failed> {
    let mut batch = UnmapBatch::default();
    // SAFETY: the caller's promise is that of `unmap_args`.
    unsafe { unmap_args(device, stream, args, &mut batch)? };
    stream.synchronize()?;
    // SAFETY: the caller's promise; the stream is synchronised.
    unsafe { finish_unmap(device, batch) };
    Ok(())
}
