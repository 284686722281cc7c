//! The beginning of a construct: what it uses is put on the device.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::abi::MapType;
use crate::args::{Args, OneArg, POINTER, alignment};
use crate::device::Device;
use crate::device::mapped::{Attached, Mapped};
use crate::device::stream::Stream;
use crate::device::table::{Begun, Want};
use crate::registry::requirements;
use crate::report::message::{self, Failed};
use crate::report::source::NameOf;
use crate::settings::{self, Info};

/// Bytes before the first member of a structure that is mapped in part, so that members are
/// aligned as on the host.
fn padding(base: usize, begin: usize) -> u64 {
    (begin % alignment(base)) as u64
}

/// A construct that begins.
#[derive(Default)]
pub(crate) struct Beginning {
    /// Pointers that are to point to what is mapped, once all of it is.
    wanted: Vec<OneArg>,
    /// What is new on the device, by host address: its length.
    new: BTreeMap<usize, usize>,
    /// What this construct has put on the device: nobody uses it before it is
    /// [ready](Mapped::set_ready).
    made: Vec<Arc<Mapped>>,
    /// What was there.
    found: Vec<Arc<Mapped>>,
}

impl Beginning {
    /// Begins the mapping of a range, and notes what it is to the construct.
    ///
    /// # Safety
    /// As for [`Table::begin`](crate::device::table::Table::begin).
    pub(crate) unsafe fn map(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        want: &Want,
    ) -> Result<Begun, Failed> {
        // SAFETY: passed on.
        let begun = unsafe { device.table.begin(device, stream, want)? };
        if let Begun::There {
            is_new,
            is_made,
            mapped,
            ..
        } = &begun
        {
            if *is_new {
                self.new.insert(want.begin, want.bytes);
            }
            let known = if *is_made {
                &mut self.made
            } else {
                &mut self.found
            };
            known.push(Arc::clone(mapped));
        }
        Ok(begun)
    }

    fn is_new(&self, address: usize) -> bool {
        // Members are noted beside the structure around them.
        let mut before = self.new.range(..=address).rev();
        before.any(|(&start, &len)| address - start < len)
    }

    /// Attaches what is to be attached, lets others use what is new, and has the stream go on
    /// only when what was there is what it is to be. Nothing is waited for before what this
    /// construct makes is ready, so that two which use each other's get on.
    ///
    /// # Safety
    /// As for [`begin`].
    ///
    /// # Errors
    /// The device fails.
    pub(crate) unsafe fn finish(
        self,
        device: &Device,
        stream: &mut Stream<'_>,
    ) -> Result<(), Failed> {
        // SAFETY: passed on.
        unsafe { self.attach_all(device, stream)? };
        let event = if self.made.is_empty() {
            None
        } else {
            stream.record()
        };
        for made in &self.made {
            made.set_ready(event.clone());
        }
        for found in &self.found {
            if let Some(event) = found.wait_until_ready() {
                stream.wait_for(&event);
            }
        }
        Ok(())
    }

    /// Attaches the pointers that are to be attached: where pointer and data are on the device,
    /// and one of them is new there.
    ///
    /// # Safety
    /// As for [`begin`].
    unsafe fn attach_all(&self, device: &Device, stream: &mut Stream<'_>) -> Result<(), Failed> {
        for arg in &self.wanted {
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
            // SAFETY: as above.
            unsafe { attach(stream, &place.mapped, pointer, place.device, to, bytes)? };
        }
        Ok(())
    }
}

/// Maps and copies at the beginning of a construct; [`Beginning::finish`] has to follow.
///
/// # Safety
/// The arguments describe the program's memory as their types say; it stays until the stream
/// is synchronised.
///
/// # Errors
/// Something cannot be mapped.
pub(crate) unsafe fn begin(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    beginning: &mut Beginning,
) -> Result<(), Failed> {
    for (at, arg) in args.iter() {
        if arg.map.has(MapType::LITERAL | MapType::PRIVATE) {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: the caller's promise covers what its mappers make of it.
            unsafe { Args::expand(&arg, |args| begin(device, stream, args, beginning))? };
            continue;
        }
        if arg.map.has(MapType::ATTACH) {
            beginning.wanted.push(arg);
            continue;
        }
        // SAFETY: passed on.
        unsafe { begin_one(device, stream, args, at, &arg, beginning)? };
    }
    Ok(())
}

/// # Safety
/// As for [`begin`].
unsafe fn begin_one(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    at: usize,
    arg: &OneArg,
    beginning: &mut Beginning,
) -> Result<(), Failed> {
    let map = arg.map;
    // What a mapper makes of an argument begins with all of it, which was counted.
    let is_whole = args.from_mapper && at == 0;
    let mut want = Want {
        base: arg.base,
        begin: arg.begin,
        bytes: arg.bytes(),
        padding: if args.has_members(at) {
            padding(arg.base, arg.begin)
        } else {
            0
        },
        name: NameOf(arg.name),
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
        let own = Want {
            base: arg.base,
            begin: arg.base,
            bytes: POINTER,
            padding: 0,
            name: NameOf(std::ptr::null()),
            to: false,
            always: false,
            ..want
        };
        // SAFETY: the caller's promise: the base is the address of a pointer.
        pointer = Some(unsafe { beginning.map(device, stream, &own)? });
        // SAFETY: as above.
        want.base = unsafe { (arg.base as *const usize).read_unaligned() };
        want.counts = !is_whole;
    }
    // SAFETY: the caller's promise.
    let begun = unsafe { beginning.map(device, stream, &want)? };
    let target = match &begun {
        Begun::There { device, .. } => *device,
        // It keeps its address.
        Begun::Shared | Begun::Nowhere => want.begin as u64,
    };
    if map.has(MapType::RETURN_PARAM) {
        args.set_base(at, base_of(&want, target));
    }
    if let Some(Begun::There {
        device: place,
        mapped,
        ..
    }) = pointer
        && !matches!(begun, Begun::Shared)
    {
        let is_nowhere = matches!(begun, Begun::Nowhere);
        let to = if is_nowhere {
            0
        } else {
            base_of(&want, target)
        };
        // SAFETY: as above.
        unsafe { attach(stream, &mapped, arg.base, place, to, POINTER)? };
    }
    if matches!(begun, Begun::Nowhere)
        && settings::info().has(Info::EMPTY)
        && map.0 != 0
        && !map.is_member()
        && !want.implicit
        && !want.may_share
    {
        let text = format!(
            "variable {} does not have a valid device counterpart",
            NameOf(arg.name).shown()
        );
        message::info(device.number, &text);
    }
    Ok(())
}

/// Where a variable would begin on the device whose part lies at `target`.
fn base_of(want: &Want, target: u64) -> u64 {
    target.wrapping_sub(want.begin.wrapping_sub(want.base) as u64)
}

/// Makes the device's counterpart of the pointer at `host`, which lies in `mapped` and on the
/// device at `place`, point to `to`. What is longer than a pointer is a Fortran descriptor,
/// whose other fields are the host's.
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
    // Whatever is on its way there would undo it.
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
        let mut beginning = Beginning::default();
        beginning.new.insert(100, 50);
        beginning.new.insert(110, 8);
        assert!(beginning.is_new(149) && beginning.is_new(110));
        assert!(!beginning.is_new(150) && !beginning.is_new(99));
    }
}
