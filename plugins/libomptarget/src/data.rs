//! Mapping: what constructs do with data at their beginning, their end, and on `update`.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::{Dimension, MapType, Name};
use crate::device::Device;
use crate::mapper::{self, Components};
use crate::message::{self, Failed};
use crate::registry;
use crate::settings::{self, Info};
use crate::stream::Stream;
use crate::table::{Attached, Begun, End, Entry, NameOf, Want};

/// Alignment up to which members of a structure that is mapped in part are aligned on the
/// device as on the host.
const MEMBER_ALIGN: usize = 16;

/// Bytes of a pointer.
const POINTER: usize = size_of::<*const c_void>();

/// The arguments of a construct, as compilers describe them.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    bases: *mut *mut c_void,
    begins: &'a [*mut c_void],
    sizes: &'a [i64],
    types: &'a [i64],
    names: &'a [Name],
    mappers: &'a [*mut c_void],
    /// They are what a mapper has made of one argument.
    from_mapper: bool,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneArg {
    pub(crate) base: usize,
    pub(crate) begin: usize,
    /// As it came: what is no size may be a number of dimensions.
    pub(crate) size: i64,
    pub(crate) map: MapType,
    pub(crate) name: Name,
    pub(crate) mapper: *mut c_void,
}

impl OneArg {
    /// Its size; a negative one is none.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.size).unwrap_or(0)
    }
}

/// The elements of an array of C's.
///
/// # Safety
/// It has as many, and stays as it is, or it is null.
unsafe fn slice<'a, T>(start: *const T, len: usize) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, len) }
}

impl<'a> Args<'a> {
    /// # Safety
    /// All arrays have `count` elements, or are null, and stay as they are but for `bases`.
    #[allow(
        clippy::too_many_arguments,
        reason = "as many arrays as compilers hand over"
    )]
    pub(crate) unsafe fn new(
        count: i32,
        bases: *mut *mut c_void,
        begins: *const *mut c_void,
        sizes: *const i64,
        types: *const i64,
        names: *const Name,
        mappers: *const *mut c_void,
    ) -> Self {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the caller's promise, for all of them.
        unsafe {
            Self {
                bases,
                begins: slice(begins, count),
                sizes: slice(sizes, count),
                types: slice(types, count),
                names: slice(names, count),
                mappers: slice(mappers, count),
                from_mapper: false,
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.types.len()
    }

    pub(crate) fn get(&self, at: usize) -> OneArg {
        OneArg {
            // SAFETY: `new` was promised as many as there are types.
            base: unsafe { self.bases.add(at).read() }.addr(),
            begin: self.begins[at].addr(),
            size: self.sizes[at],
            map: MapType(self.types[at] as u64),
            name: self.names.get(at).copied().unwrap_or(std::ptr::null()),
            mapper: self
                .mappers
                .get(at)
                .copied()
                .unwrap_or(std::ptr::null_mut()),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, OneArg)> {
        (0..self.len()).map(|at| (at, self.get(at)))
    }

    fn set_base(&self, at: usize, base: u64) {
        // SAFETY: as in `get`; compilers ask for it with `RETURN_PARAM`, in arrays of theirs.
        unsafe { self.bases.add(at).write(base as usize as *mut c_void) };
    }

    /// Whether the argument at `at` stands for a structure whose members follow it.
    fn has_members(&self, at: usize) -> bool {
        let next = self.types.get(at + 1).map(|&next| MapType(next as u64));
        !MapType(self.types[at] as u64).is_member() && next.and_then(MapType::parent) == Some(at)
    }

    /// Whether the argument after this one is a member of something.
    pub(crate) fn next_is_member(&self, at: usize) -> bool {
        let next = self.types.get(at + 1);
        next.is_some_and(|&next| MapType(next as u64).is_member())
    }

    /// The same arguments, of other types.
    pub(crate) fn with_types(self, types: &'a [i64]) -> Self {
        debug_assert_eq!(types.len(), self.types.len());
        Self { types, ..self }
    }

    /// Arguments that outlive the construct's arrays.
    pub(crate) fn keep(self) -> OwnedArgs {
        let mut owned = OwnedArgs(Components::default());
        for (_, arg) in self.iter() {
            let (base, begin) = (arg.base as *mut c_void, arg.begin as *mut c_void);
            owned
                .0
                .push(base, begin, arg.size, arg.map.0 as i64, arg.name);
            owned.0.mappers.push(arg.mapper);
        }
        owned
    }

    /// What the argument's mapper makes of it.
    ///
    /// # Safety
    /// The mapper is a function that a compiler has made for such arguments.
    unsafe fn expand<R>(arg: &OneArg, with: impl FnOnce(&Args<'_>) -> R) -> R {
        // SAFETY: the caller's promise.
        let mut components = unsafe { mapper::components(arg) };
        with(&Args {
            bases: components.bases.as_mut_ptr(),
            begins: &components.begins,
            sizes: &components.sizes,
            types: &components.types,
            names: &components.names,
            mappers: &[],
            from_mapper: true,
        })
    }
}

/// Arguments of a construct that goes on when its caller has returned.
pub(crate) struct OwnedArgs(Components);

impl OwnedArgs {
    pub(crate) fn as_args(&mut self) -> Args<'_> {
        Args {
            bases: self.0.bases.as_mut_ptr(),
            begins: &self.0.begins,
            sizes: &self.0.sizes,
            types: &self.0.types,
            names: &self.0.names,
            mappers: &self.0.mappers,
            from_mapper: false,
        }
    }
}

/// Bytes before the first member of a structure, so that members are aligned.
fn padding(base: usize, begin: usize) -> u64 {
    let alignment = if base == 0 {
        MEMBER_ALIGN
    } else {
        (1 << base.trailing_zeros()).min(MEMBER_ALIGN)
    };
    (begin % alignment) as u64
}

/// Pointers that are to point to what is mapped, once all of it is.
#[derive(Default)]
pub(crate) struct Attachments {
    wanted: Vec<OneArg>,
    /// What is new on the device, by host address: its length.
    new: BTreeMap<usize, usize>,
}

impl Attachments {
    /// Begins the mapping of a range, and notes if it is new.
    ///
    /// # Safety
    /// As for [`Table::begin`](crate::table::Table::begin).
    unsafe fn begin(
        &mut self,
        device: &Device,
        stream: &mut Stream<'_>,
        want: &Want,
    ) -> Result<Begun, Failed> {
        // SAFETY: passed on.
        let begun = unsafe { device.table.begin(device, stream, want)? };
        if let Begun::There { is_new: true, .. } = begun {
            self.new.insert(want.begin, want.bytes);
        }
        Ok(begun)
    }

    fn is_new(&self, address: usize) -> bool {
        let before = self.new.range(..=address).next_back();
        before.is_some_and(|(&start, &len)| address - start < len)
    }
}

/// Maps and copies at the beginning of a construct.
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
    attachments: &mut Attachments,
) -> Result<(), Failed> {
    for (at, arg) in args.iter() {
        if arg.map.has(MapType::LITERAL | MapType::PRIVATE) {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: the caller's promise covers what its mappers make of it.
            unsafe { Args::expand(&arg, |args| begin(device, stream, args, attachments))? };
            continue;
        }
        if arg.map.has(MapType::ATTACH) {
            attachments.wanted.push(arg);
            continue;
        }
        // SAFETY: passed on.
        unsafe { begin_one(device, stream, args, at, &arg, attachments)? };
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
    attachments: &mut Attachments,
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
        may_share: registry::is_memory_shared() && !map.has(MapType::CLOSE),
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
        pointer = Some(unsafe { attachments.begin(device, stream, &own)? });
        // SAFETY: as above.
        want.base = unsafe { (arg.base as *const usize).read_unaligned() };
        want.counts = !is_whole;
    }
    // SAFETY: the caller's promise.
    let begun = unsafe { attachments.begin(device, stream, &want)? };
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
        entry,
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
        unsafe { attach(stream, &entry, arg.base, place, to, POINTER)? };
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

/// Makes the device's counterpart of the pointer at `host`, which lies in `entry` and on the
/// device at `place`, point to `to`. What is longer than a pointer is a Fortran descriptor,
/// whose other fields are the host's.
///
/// # Safety
/// There are `bytes` readable bytes at `host`.
unsafe fn attach(
    stream: &mut Stream<'_>,
    entry: &Entry,
    host: usize,
    place: u64,
    to: u64,
    bytes: usize,
) -> Result<(), Failed> {
    // SAFETY: the caller's promise.
    let on_host =
        unsafe { std::slice::from_raw_parts(host as *const u8, bytes.max(POINTER)) }.to_vec();
    let mut on_device = on_host.clone();
    on_device[..POINTER].copy_from_slice(&to.to_ne_bytes());
    let mut content = entry.content();
    if let Some(there) = content.attached.get(&host)
        && there.on_device == on_device
    {
        return Ok(());
    }
    stream.copy_bytes_to(place, &on_device, entry.name())?;
    let attached = Attached {
        place,
        on_host,
        on_device,
    };
    content.attached.insert(host, attached);
    Ok(())
}

/// Attaches what [`begin`] has noted: where pointer and data are on the device, and one of
/// them is new there.
///
/// # Safety
/// As for [`begin`].
///
/// # Errors
/// The device fails.
pub(crate) unsafe fn attach_all(
    device: &Device,
    stream: &mut Stream<'_>,
    attachments: &Attachments,
) -> Result<(), Failed> {
    for arg in &attachments.wanted {
        let (pointer, begin, bytes) = (arg.base, arg.begin, arg.bytes());
        let is_new = attachments.is_new(begin) || attachments.is_new(pointer);
        if !arg.map.has(MapType::ALWAYS) && !is_new {
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
        unsafe { attach(stream, &place.entry, pointer, place.device, to, bytes)? };
    }
    Ok(())
}

/// What a construct that has ended still has to settle, once its copies are done.
#[derive(Default)]
pub(crate) struct Ending {
    entries: Vec<Ended>,
}

struct Ended {
    entry: Arc<Entry>,
    bytes: usize,
    map: MapType,
}

/// Copies back what is to be copied back at the end of a construct, and ends its mappings;
/// [`settle`] has to follow when the stream is synchronised.
///
/// # Safety
/// As for [`begin`].
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
        };
        let bytes = arg.bytes();
        let Some(used) = device.table.end(device, arg.begin, bytes, &how) else {
            if map.has(MapType::PRESENT) {
                message::message(&format!(
                    "device mapping required by 'present' map type modifier does not exist for host \
                     address {:#018x} ({bytes} bytes)",
                    arg.begin
                ));
                return Err(Failed);
            }
            continue;
        };
        let copies = map.has(MapType::FROM) && (used.is_last || map.has(MapType::ALWAYS));
        if copies && bytes > 0 {
            let to = arg.begin as *mut u8;
            // SAFETY: the caller's promise.
            unsafe { stream.copy_from(to, used.device, bytes, used.entry.name())? };
        }
        ending.entries.push(Ended {
            entry: used.entry,
            bytes,
            map,
        });
    }
    Ok(())
}

/// Settles what [`end`] has ended.
///
/// # Safety
/// As for [`begin`]; the stream is synchronised.
pub(crate) unsafe fn settle(device: &Device, ending: Ending) {
    for Ended { entry, bytes, map } in ending.entries {
        if map.has(MapType::FROM) {
            // SAFETY: the caller's promise.
            unsafe { entry.restore_host_pointers() };
        }
        // The structure that a member is of is still there.
        let may_go = !map.is_member() || map.has(MapType::PTR_AND_OBJ);
        device.table.settle(device, &entry, bytes, may_go);
    }
}

/// Copies what a `target update` names; [`restore`] has to follow when the stream is
/// synchronised.
///
/// # Safety
/// As for [`begin`].
///
/// # Errors
/// Something is not there that must be, or the device fails.
pub(crate) unsafe fn update(
    device: &Device,
    stream: &mut Stream<'_>,
    args: &Args<'_>,
    copied: &mut Vec<Arc<Entry>>,
) -> Result<(), Failed> {
    for (_, arg) in args.iter() {
        if arg.map.has(MapType::LITERAL | MapType::PRIVATE) {
            continue;
        }
        if !arg.mapper.is_null() {
            // SAFETY: as in `begin`.
            unsafe { Args::expand(&arg, |args| update(device, stream, args, copied))? };
        } else if arg.map.has(MapType::NON_CONTIGUOUS) {
            // SAFETY: the caller's promise: the begin is an array of dimensions.
            let dimensions = unsafe { dimensions(arg.begin as *const Dimension, arg.bytes()) };
            for (offset, bytes) in pieces(dimensions) {
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
/// As for [`begin`].
unsafe fn update_range(
    device: &Device,
    stream: &mut Stream<'_>,
    arg: &OneArg,
    begin: usize,
    bytes: usize,
    copied: &mut Vec<Arc<Entry>>,
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
    let name = used.entry.name();
    if arg.map.has(MapType::TO) {
        // SAFETY: the caller's promise.
        unsafe { stream.copy_to(used.device, begin as *const u8, bytes, name)? };
        let attached: Vec<Attached> = used.entry.content().attached.values().cloned().collect();
        for Attached {
            place, on_device, ..
        } in attached
        {
            stream.copy_bytes_to(place, &on_device, name)?;
        }
    }
    if arg.map.has(MapType::FROM) {
        // SAFETY: as above.
        unsafe { stream.copy_from(begin as *mut u8, used.device, bytes, name)? };
        copied.push(used.entry);
    }
    Ok(())
}

/// Gives the host its own pointers back in what [`update`] has copied there.
///
/// # Safety
/// As for [`settle`].
pub(crate) unsafe fn restore(copied: &[Arc<Entry>]) {
    for entry in copied {
        // SAFETY: the caller's promise.
        unsafe { entry.restore_host_pointers() };
    }
}

/// The dimensions of a section. Of sections whose length is known at run time, clang 22 passes
/// the bytes instead of the number of dimensions, so they end where one is none within the one
/// before.
///
/// # Safety
/// There are as many dimensions as there really are, at most `count`.
unsafe fn dimensions<'a>(start: *const Dimension, count: usize) -> &'a [Dimension] {
    let mut real: usize = 0;
    let mut most = u64::MAX;
    while real < count {
        // SAFETY: the caller's promise: a dimension, or what lies behind the last on the stack.
        let dimension = unsafe { &*start.add(real) };
        let end = dimension.offset.checked_add(dimension.count);
        let end = end.and_then(|end| end.checked_mul(dimension.stride));
        if dimension.stride == 0 || end.is_none_or(|end| end > most) {
            break;
        }
        most = dimension.stride;
        real += 1;
    }
    // SAFETY: as above.
    unsafe { slice(start, real) }
}

/// The contiguous pieces of a section: offset and bytes. The last dimensions are one piece as
/// far as they leave no gaps.
fn pieces(dimensions: &[Dimension]) -> Vec<(u64, usize)> {
    let Some(last) = dimensions.last() else {
        return Vec::new();
    };
    let mut bytes = last.count.saturating_mul(last.stride);
    let mut outer = dimensions.len() - 1;
    let mut inner = last.offset.saturating_mul(last.stride);
    while outer > 0 {
        let dimension = &dimensions[outer - 1];
        if bytes != dimension.stride {
            break;
        }
        bytes = dimension.count.saturating_mul(dimension.stride);
        inner = inner.saturating_add(dimension.offset.saturating_mul(dimension.stride));
        outer -= 1;
    }
    let mut pieces = vec![inner];
    for dimension in dimensions[..outer].iter().rev() {
        let starts =
            (0..dimension.count).map(|n| (dimension.offset + n).wrapping_mul(dimension.stride));
        pieces = starts
            .flat_map(|start| pieces.iter().map(move |piece| start.wrapping_add(*piece)))
            .collect();
    }
    pieces
        .into_iter()
        .map(|piece| (piece, bytes as usize))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(offset: u64, count: u64, stride: u64) -> Dimension {
        Dimension {
            offset,
            count,
            stride,
        }
    }

    #[test]
    fn pieces_of_sections() {
        assert_eq!(pieces(&[]), []);
        // a[2:3] of ints
        assert_eq!(pieces(&[dimension(2, 3, 4)]), [(8, 12)]);
        // a[1:2][3:2] of rows of 10 ints
        let rows = [dimension(1, 2, 40), dimension(3, 2, 4)];
        assert_eq!(pieces(&rows), [(52, 8), (92, 8)]);
        // Whole rows are one piece.
        let whole = [dimension(1, 2, 40), dimension(0, 10, 4)];
        assert_eq!(pieces(&whole), [(40, 80)]);
        // Every other element, as clang has it: one more dimension of one element.
        let strided = [dimension(0, 3, 8), dimension(0, 1, 4)];
        assert_eq!(pieces(&strided), [(0, 4), (8, 4), (16, 4)]);
        let nothing = [dimension(0, 0, 40), dimension(0, 2, 4)];
        assert_eq!(pieces(&nothing), []);
    }

    #[test]
    fn dimensions_end_where_they_are_none() {
        let count = |dimensions: &[Dimension]| {
            // SAFETY: as many as there are.
            unsafe { super::dimensions(dimensions.as_ptr(), dimensions.len()) }.len()
        };
        assert_eq!(count(&[dimension(0, 12, 8), dimension(0, 1, 4)]), 2);
        let behind = [dimension(0, 12, 8), dimension(0, 1, 4), dimension(48, 1, 7)];
        assert_eq!(count(&behind), 2);
        assert_eq!(count(&[dimension(u64::MAX, 2, 8)]), 0);
        let rows = [dimension(0, 4, 24), dimension(1, 2, 4), dimension(0, 1, 4)];
        assert_eq!(count(&rows), 3);
    }

    #[test]
    fn members_stay_aligned() {
        assert_eq!(padding(0x100, 0x104), 4);
        assert_eq!(padding(0x104, 0x106), 2);
        assert_eq!(padding(0x100, 0x110), 0);
        assert_eq!(padding(0, 0x108), 8);
    }
}
