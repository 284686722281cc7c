//! `target update`: what is on the device and its original are made the same.

use std::sync::Arc;

use crate::abi::{Dimension, MapType};
use crate::args::{Args, OneArg};
use crate::device::Device;
use crate::mapped::{Attached, Mapped};
use crate::message::{self, Failed};
use crate::section;
use crate::stream::Stream;

/// Copies what a `target update` names; [`restore`] has to follow when the stream is
/// synchronised.
///
/// # Safety
/// As for [`begin`](crate::begin::begin).
///
/// # Errors
/// Something is not there that must be, or the device fails.
pub(crate) unsafe fn update(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    copied: &mut Vec<Arc<Mapped>>,
) -> Result<(), Failed> {
    for (_, arg) in args.iter() {
        if arg.map.has(MapType::LITERAL | MapType::PRIVATE) {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: as in `begin`.
            unsafe { Args::expand(&arg, |args| update(device, stream, args, copied))? };
        } else if arg.map.has(MapType::NON_CONTIGUOUS) {
            // SAFETY: the caller's promise: the begin is an array of dimensions, which
            // compilers put on the stack of whoever calls; that goes on behind it.
            let dimensions =
                unsafe { section::dimensions(arg.begin as *const Dimension, arg.bytes()) };
            for (offset, bytes) in section::pieces(dimensions) {
                let begin = arg.base.wrapping_add(offset as usize);
                // SAFETY: as above.
                unsafe { update_range(device, stream, &arg, begin, bytes, copied)? };
            }
        } else {
            let (begin, bytes) = (arg.begin, arg.bytes());
            // SAFETY: as above.
            unsafe { update_range(device, stream, &arg, begin, bytes, copied)? };
        }
    }
    Ok(())
}

/// # Safety
/// As for [`begin`](crate::begin::begin).
unsafe fn update_range(
    device: &Device,
    stream: &mut Stream<'_>,
    arg: &OneArg,
    begin: usize,
    bytes: usize,
    copied: &mut Vec<Arc<Mapped>>,
) -> Result<(), Failed> {
    let Some(used) = device.table.find(device, begin, bytes, true) else {
        if arg.map.has(MapType::PRESENT) {
            message::message(&format!(
                "device mapping required by 'present' motion modifier does not exist for host address \
                 {begin:#018x} ({bytes} bytes)"
            ));
            return Err(Failed);
        }
        return Ok(());
    };
    let name = used.mapped.name();
    // What others have under way comes first.
    if let Some(event) = used.mapped.wait_until_ready() {
        stream.wait_for(&event);
    }
    if arg.map.has(MapType::TO) {
        // SAFETY: the caller's promise.
        unsafe { stream.copy_to(used.device, begin as *const u8, bytes, name)? };
        let mut content = used.mapped.content();
        for Attached {
            place, on_device, ..
        } in content.attached.values()
        {
            stream.copy_bytes_to(*place, on_device, name)?;
        }
        content.event = stream.record();
    }
    if arg.map.has(MapType::FROM) {
        // SAFETY: as above.
        unsafe { stream.copy_from(begin as *mut u8, used.device, bytes, name)? };
        copied.push(used.mapped);
    }
    Ok(())
}

/// Gives the host its own pointers back in what [`update`] has copied there.
///
/// # Safety
/// As for [`settle`](crate::end::settle).
pub(crate) unsafe fn restore(copied: &[Arc<Mapped>]) {
    for mapped in copied {
        // SAFETY: the caller's promise.
        unsafe { mapped.restore_host_pointers() };
    }
}
