//! The beginning of a construct: its data is mapped.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abi::MapType;
use crate::args::{Args, OneArg, POINTER, alignment};
use crate::device::Device;
use crate::device::mapped::{Attached, Mapped};
use crate::device::request::{MapRequest, MapResult};
use crate::device::stream::Stream;
use crate::registry::requirements;
use crate::report::message::{self, Failed};
use crate::report::source::SourceName;
use crate::settings::{self, Info};

/// Bytes before the first member of a partly mapped structure, so that members are aligned as on
/// the host.
fn padding(base: usize, begin: usize) -> u64 {
    (begin % alignment(base)) as u64
}

/// The mappings of a construct that begins.
#[derive(Default)]
pub(crate) struct MapBatch {
    /// Pointers to attach, once all data is mapped.
    attachments: Vec<OneArg>,
    /// The lengths of new data, by host address.
    new: BTreeMap<usize, usize>,
    /// Data that this construct created; it must not be used before it is
    /// [ready](Mapped::set_ready).
    created: Vec<Arc<Mapped>>,
    /// Data that was mapped before.
    existing: Vec<Arc<Mapped>>,
}

impl MapBatch {
    /// Maps a range, and adds it to the batch.
    ///
    /// # Safety
    /// As for [`Table::map`](crate::device::table::Table::map).
    pub(crate) unsafe fn map(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        request: &MapRequest,
    ) -> Result<MapResult, Failed> {
        // SAFETY: the caller's promise is that of `Table::map`.
        let mapped_object = unsafe { device.table.map(device, stream, request)? };
        if let MapResult::Mapped {
            is_new,
            is_created,
            mapped,
            ..
        } = &mapped_object
        {
            if *is_new {
                self.new.insert(request.begin, request.bytes);
            }
            let known = if *is_created {
                &mut self.created
            } else {
                &mut self.existing
            };
            known.push(Arc::clone(mapped));
        }
        Ok(mapped_object)
    }

    fn is_new(&self, address: usize) -> bool {
        // Members are listed beside the structure around them.
        let mut before = self.new.range(..=address).rev();
        before.any(|(&start, &len)| address - start < len)
    }

    /// Attaches pointers, marks new data as ready, and makes the stream wait for data that other
    /// constructs create or copy back. It waits only after its own data is ready, so that two
    /// constructs that use each other's data make progress.
    ///
    /// # Safety
    /// As for [`map_args`].
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn finish(
        self,
        device: &Device,
        stream: &mut Stream<'_>,
    ) -> Result<(), Failed> {
        // SAFETY: the caller's promise is that of `map_args`.
        unsafe { self.attach_all(device, stream)? };
        let event = if self.created.is_empty() {
            None
        } else {
            stream.record()
        };
        for created in &self.created {
            created.set_ready(event.clone());
        }
        for existing in &self.existing {
            if let Some(event) = existing.wait_until_ready() {
                stream.wait_for(&event);
            }
        }
        Ok(())
    }

    /// Attaches pointers if pointer and data are on the device and one of them is new.
    ///
    /// # Safety
    /// As for [`map_args`].
    unsafe fn attach_all(&self, device: &Device, stream: &mut Stream<'_>) -> Result<(), Failed> {
        for arg in &self.attachments {
            let (pointer, begin, bytes) = (arg.base, arg.begin, arg.bytes());
            if !arg.map.has(MapType::ALWAYS) && !self.is_new(begin) && !self.is_new(pointer) {
                continue;
            }
            let Some(data) = device.table.find(device, begin, 0, true) else {
                continue;
            };
            let Some(place) = device.table.find(device, pointer, bytes, true) else {
                continue;
            };
            // SAFETY: the caller's promise: the base is the address of a pointer.
            let base = unsafe { (pointer as *const usize).read_unaligned() };
            let to = data.device.wrapping_sub(begin.wrapping_sub(base) as u64);
            // SAFETY: the caller's promise: the pointer's memory is readable.
            unsafe { attach(stream, &place.mapped, pointer, place.device, to, bytes)? };
        }
        Ok(())
    }
}

/// Maps and copies at the beginning of a construct; [`MapBatch::finish`] must follow.
///
/// # Safety
/// The arguments describe the program's memory correctly; it does not change until the stream is
/// synchronised.
///
/// # Errors
/// Something cannot be mapped.
pub(crate) unsafe fn map_args(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    batch: &mut MapBatch,
) -> Result<(), Failed> {
    for (at, arg) in args.iter() {
        if arg.map.has(MapType::LITERAL | MapType::PRIVATE) {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: the caller's promise covers the arguments that its mappers produce.
            unsafe { Args::expand(&arg, |args| map_args(device, stream, args, batch))? };
            continue;
        }
        if arg.map.has(MapType::ATTACH) {
            batch.attachments.push(arg);
            continue;
        }
        // SAFETY: the caller's promise is that of `map_args`.
        unsafe { map_arg(device, stream, args, at, &arg, batch)? };
    }
    Ok(())
}

/// # Safety
/// As for [`map_args`].
unsafe fn map_arg(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    at: usize,
    arg: &OneArg,
    batch: &mut MapBatch,
) -> Result<(), Failed> {
    let map = arg.map;
    // The first argument of a mapper is all of the variable, which was counted.
    let is_whole = args.from_mapper && at == 0;
    let mut request = MapRequest {
        base: arg.base,
        begin: arg.begin,
        bytes: arg.bytes(),
        padding: if args.has_members(at) {
            padding(arg.base, arg.begin)
        } else {
            0
        },
        name: SourceName(arg.name),
        to: map.has(MapType::TO),
        always: map.has(MapType::ALWAYS),
        implicit: map.has(MapType::IMPLICIT),
        counts: !map.is_member() && !is_whole,
        present: map.has(MapType::PRESENT),
        hold: map.has(MapType::HOLD),
        may_share: requirements::is_memory_shared() && !map.has(MapType::CLOSE),
    };
    let mut pointer = None;
    if map.has(MapType::PTR_AND_OBJ) {
        let own = MapRequest {
            base: arg.base,
            begin: arg.base,
            bytes: POINTER,
            padding: 0,
            name: SourceName(std::ptr::null()),
            to: false,
            always: false,
            ..request
        };
        // SAFETY: the caller's promise: the base is the address of a pointer.
        pointer = Some(unsafe { batch.map(device, stream, &own)? });
        // SAFETY: the caller's promise: the base is the address of a pointer.
        request.base = unsafe { (arg.base as *const usize).read_unaligned() };
        request.counts = !is_whole;
    }
    // SAFETY: the caller's promise.
    let mapped_object = unsafe { batch.map(device, stream, &request)? };
    let target = match &mapped_object {
        MapResult::Mapped { device, .. } => *device,
        // The address stays the host's.
        MapResult::Shared | MapResult::Empty => request.begin as u64,
    };
    if map.has(MapType::RETURN_PARAM) {
        args.set_base(at, base_of(&request, target));
    }
    if let Some(MapResult::Mapped {
        device: place,
        mapped,
        ..
    }) = pointer
        && !matches!(mapped_object, MapResult::Shared)
    {
        let is_empty = matches!(mapped_object, MapResult::Empty);
        let to = if is_empty {
            0
        } else {
            base_of(&request, target)
        };
        // SAFETY: the caller's promise: the base is the address of a pointer.
        unsafe { attach(stream, &mapped, arg.base, place, to, POINTER)? };
    }
    if matches!(mapped_object, MapResult::Empty)
        && settings::info().has(Info::EMPTY)
        && map.0 != 0
        && !map.is_member()
        && !request.implicit
        && !request.may_share
    {
        let text = format!(
            "variable {} does not have a valid device counterpart",
            SourceName(arg.name).shown()
        );
        message::info(device.number, &text);
    }
    Ok(())
}

/// The device address of the begin of a variable whose part is at `target`.
fn base_of(request: &MapRequest, target: u64) -> u64 {
    target.wrapping_sub(request.begin.wrapping_sub(request.base) as u64)
}

/// Attaches the device's counterpart of the pointer at `host`, which is in `mapped` and at `place`
/// on the device, to `to`. If it is longer than a pointer, it is a Fortran descriptor, whose other
/// fields are the host's.
///
/// # Safety
/// There are `bytes` readable bytes at `host`.
unsafe fn attach(
    stream: &mut Stream<'_>,
    mapped: &Mapped,
    host: usize,
    place: u64,
    to: u64,
    bytes: usize,
) -> Result<(), Failed> {
    let bytes = bytes.max(POINTER);
    // SAFETY: the caller's promise.
    let on_host = unsafe { std::slice::from_raw_parts(host as *const u8, bytes) }.to_vec();
    let mut on_device = on_host.clone();
    on_device[..POINTER].copy_from_slice(&to.to_ne_bytes());
    let mut content = mapped.content();
    if let Some(there) = content.attached.get(&host)
        && there.on_device == on_device
    {
        return Ok(());
    }
    // A copy in flight would overwrite the pointer.
    if let Some(event) = &content.event {
        stream.wait_for(event);
    }
    stream.copy_bytes_to(place, &on_device, mapped.name())?;
    content.event = stream.record();
    let attached = Attached {
        place,
        on_host,
        on_device,
    };
    content.attached.insert(host, attached);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_aligned() {
        assert_eq!(padding(0x100, 0x104), 4);
        assert_eq!(padding(0x104, 0x106), 2);
        assert_eq!(padding(0x100, 0x110), 0);
        assert_eq!(padding(0, 0x108), 8);
    }

    #[test]
    fn a_member_does_not_hide_the_structure_around_it() {
        let mut batch = MapBatch::default();
        batch.new.insert(100, 50);
        batch.new.insert(110, 8);
        assert!(batch.is_new(149) && batch.is_new(110));
        assert!(!batch.is_new(150) && !batch.is_new(99));
    }
}
