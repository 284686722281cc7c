//! `target update`: copies between mapped data and its original.

use std::sync::Arc;

use crate::abi::{Dimension, MapType};
use crate::args::{Args, OneArg, section};
use crate::device::Device;
use crate::device::mapped::Mapped;
use crate::device::stream::Stream;
use crate::report::message::{self, Failed};
use crate::report::source::SourceName;

/// Copies the data of a `target update`; [`restore`] must follow when the stream is synchronised.
///
/// # Safety
/// As for [`map_args`](crate::mapping::map::map_args).
///
/// # Errors
/// Data is not present although it must be, or the device fails.
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
            // SAFETY: the caller's promise covers the arguments that its mappers produce.
            unsafe { Args::expand(&arg, |args| update(device, stream, args, copied))? };
        } else if arg.map.has(MapType::NON_CONTIGUOUS) {
            // SAFETY: the caller's promise is that of `map_args`.
            unsafe { update_section(device, stream, args, &arg, copied)? };
        } else {
            let (begin, bytes) = (arg.begin, arg.bytes());
            // SAFETY: the caller's promise is that of `map_args`.
            unsafe { update_range(device, stream, &arg, begin, bytes, copied)? };
        }
    }
    Ok(())
}

/// Copies a section that is not contiguous.
///
/// # Safety
/// As for [`map_args`](crate::mapping::map::map_args).
unsafe fn update_section(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    arg: &OneArg,
    copied: &mut Vec<Arc<Mapped>>,
) -> Result<(), Failed> {
    // A length at run time may be 0. The number of dimensions is not.
    if arg.bytes() == 0 {
        return Ok(());
    }
    let name = SourceName(arg.name).shown();
    // SAFETY: the caller's promise: the begin is an array of dimensions on the caller's stack,
    // which continues after it.
    let dimensions =
        unsafe { section::dimensions(arg.begin as *const Dimension, arg.bytes(), &name) };
    let refuse = |why: &str| {
        Err(message::error(&format!(
            "section {name} cannot be updated: {why}"
        )))
    };
    let Some(dimensions) = dimensions else {
        return refuse("its description by clang does not end; update its rows one by one");
    };
    let unclear = || section::unclear(dimensions, &name);
    let first = match arg.map.parent() {
        // The base is the structure's; the structure's argument begins where the section begins.
        Some(parent) if args.members(parent) == 1 => args.get(parent).begin,
        Some(_) => {
            return refuse(
                "clang does not pass where it begins; update sections of a structure's members one by one",
            );
        }
        None if let Some(why) = unclear() => return refuse(why),
        None => arg.base.wrapping_add(section::first(dimensions) as usize),
    };
    for (offset, bytes) in section::pieces(dimensions) {
        let begin = first.wrapping_add(offset as usize);
        // SAFETY: the caller's promise: the section is the program's memory.
        unsafe { update_range(device, stream, arg, begin, bytes, copied)? };
    }
    Ok(())
}

/// # Safety
/// As for [`map_args`](crate::mapping::map::map_args).
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
    // Operations of other constructs come first.
    if let Some(event) = used.mapped.wait_until_ready() {
        stream.wait_for(&event);
    }
    if arg.map.has(MapType::TO) {
        let mut content = used.mapped.content();
        // SAFETY: the caller's promise.
        unsafe { stream.copy_mapped(&used.mapped, &mut content, begin, bytes)? };
    }
    if arg.map.has(MapType::FROM) {
        // SAFETY: the caller's promise.
        unsafe { stream.copy_from(begin as *mut u8, used.device, bytes, name)? };
        copied.push(used.mapped);
    }
    Ok(())
}

/// Restores the host's pointers in data that [`update`] copied to the host.
///
/// # Safety
/// As for [`finish_unmap`](crate::mapping::unmap::finish_unmap).
pub(crate) unsafe fn restore(copied: &[Arc<Mapped>]) {
    for mapped in copied {
        // SAFETY: the caller's promise.
        unsafe { mapped.restore_host_pointers() };
    }
}
