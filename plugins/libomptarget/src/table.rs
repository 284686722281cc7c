//! The data of a device that has an original on the host: OpenMP's device data environment.
//!
//! Ranges of host addresses, each with its counterpart and two counts of who has it mapped.
//! The table's lock is held for look-ups, counts and allocations, never during a copy. A copy
//! that makes new data what it is to be holds the entry's own lock, so that whoever finds the
//! entry waits for it there, and nobody holds two of these.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_rt::DeviceBuffer;
use host_rt::data::{Found, HostRange, HostRanges};
use host_rt::device::Event;

use crate::abi::Name;
use crate::device::Device;
use crate::message::{self, Failed};
use crate::settings::{self, Info};
use crate::source::{self, Named};
use crate::stream::Stream;

/// How often something is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Times(u64),
    /// It stays: a variable of an image, or what the program has associated itself.
    Always,
}

impl Count {
    fn increment(&mut self) {
        if let Self::Times(times) = self {
            *times += 1;
        }
    }

    fn decrement(&mut self) {
        if let Self::Times(times) = self {
            *times = times.saturating_sub(1);
        }
    }

    fn is_zero(self) -> bool {
        self == Self::Times(0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => times.fmt(f),
            Self::Always => f.pad("INF"),
        }
    }
}

/// The two counts: of `map` clauses, and of those with `ompx_hold`. Data stays while one of
/// them is not zero, and `delete` resets the first alone.
#[derive(Clone, Copy, Debug)]
struct Counts {
    dynamic: Count,
    hold: Count,
}

impl Counts {
    fn new(is_hold: bool) -> Self {
        let (mut dynamic, mut hold) = (Count::Times(1), Count::Times(0));
        if is_hold {
            std::mem::swap(&mut dynamic, &mut hold);
        }
        Self { dynamic, hold }
    }

    fn of(&mut self, is_hold: bool) -> (&mut Count, Count) {
        if is_hold {
            (&mut self.hold, self.dynamic)
        } else {
            (&mut self.dynamic, self.hold)
        }
    }

    fn are_zero(self) -> bool {
        self.dynamic.is_zero() && self.hold.is_zero()
    }

    /// Whether one construct alone has it mapped.
    fn are_one(self) -> bool {
        matches!(
            (self.dynamic, self.hold),
            (Count::Times(1), Count::Times(0)) | (Count::Times(0), Count::Times(1))
        )
    }

    /// In messages, with what has happened to one of them.
    fn shown(self, is_hold: bool, action: &str) -> String {
        let (to_dynamic, to_hold) = if is_hold { ("", action) } else { (action, "") };
        let Self { dynamic, hold } = self;
        format!("DynRefCount={dynamic}{to_dynamic}, HoldRefCount={hold}{to_hold}")
    }
}

/// An entry of the table, under its lock.
struct Slot {
    counts: Counts,
    /// Constructs that are at their end and have not yet settled whether it goes.
    ending: u32,
    entry: Arc<Entry>,
}

/// Data on the device that has an original on the host.
pub(crate) struct Entry {
    /// Where the variable begins that it is a part of.
    base: usize,
    range: HostRange,
    /// Where the host's first byte is.
    device: u64,
    name: NameOf,
    /// Freed with the entry; `None` if the memory is somebody else's.
    _memory: Option<DeviceBuffer>,
    content: Mutex<Content>,
}

/// A name of the program's.
#[derive(Clone, Copy)]
pub(crate) struct NameOf(pub(crate) Name);

// SAFETY: a C string in the program, or null: read alone, and there as long as whoever
// registered it.
unsafe impl Send for NameOf {}
// SAFETY: as above.
unsafe impl Sync for NameOf {}

impl NameOf {
    pub(crate) fn shown(self) -> String {
        // SAFETY: what compilers hand over is null or a C string.
        unsafe { source::name_or_unknown(self.0) }
    }
}

/// What is known of what is in an entry's memory.
#[derive(Default)]
pub(crate) struct Content {
    /// Reached when it is what it is to be; `None` once and for all, or if it is.
    event: Option<Arc<dyn Event>>,
    /// Pointers in it that point to other device data, by their host address.
    pub(crate) attached: BTreeMap<usize, Attached>,
}

/// A pointer, or a Fortran descriptor, that differs on host and device.
#[derive(Clone)]
pub(crate) struct Attached {
    /// Where it is on the device.
    pub(crate) place: u64,
    pub(crate) on_host: Vec<u8>,
    pub(crate) on_device: Vec<u8>,
}

impl Entry {
    pub(crate) fn name(&self) -> NameOf {
        self.name
    }

    fn at(&self, host: usize) -> u64 {
        self.device
            .wrapping_add(host.wrapping_sub(self.range.start()) as u64)
    }

    /// What is known of its memory.
    pub(crate) fn content(&self) -> MutexGuard<'_, Content> {
        // A map of pointers is whole whatever panics.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the host's versions of pointers over what was copied from the device.
    ///
    /// # Safety
    /// The host's memory of the entry is writable.
    pub(crate) unsafe fn restore_host_pointers(&self) {
        for (&host, attached) in &self.content().attached {
            let from = attached.on_host.as_ptr();
            // SAFETY: the caller's promise; what is attached lies in the entry.
            unsafe { std::ptr::copy_nonoverlapping(from, host as *mut u8, attached.on_host.len()) };
        }
    }
}

/// What a construct wants of a range at its beginning.
pub(crate) struct Want {
    pub(crate) base: usize,
    pub(crate) begin: usize,
    pub(crate) bytes: usize,
    /// Bytes before the first, for alignment.
    pub(crate) padding: u64,
    pub(crate) name: NameOf,
    /// Copied if it is new.
    pub(crate) to: bool,
    /// Copied in any case.
    pub(crate) always: bool,
    pub(crate) implicit: bool,
    /// Whether it counts.
    pub(crate) counts: bool,
    pub(crate) present: bool,
    pub(crate) hold: bool,
    /// The device may use the host's memory instead.
    pub(crate) may_share: bool,
}

/// What it got.
pub(crate) enum Begun {
    /// It is on the device.
    There {
        device: u64,
        is_new: bool,
        entry: Arc<Entry>,
    },
    /// The device uses the host's memory.
    Shared,
    /// It is empty, and nowhere on the device.
    Nowhere,
}

/// What a construct uses, or has ended with.
pub(crate) struct Used {
    pub(crate) device: u64,
    pub(crate) entry: Arc<Entry>,
    /// Nobody else has it mapped.
    pub(crate) is_last: bool,
}

/// How a range is looked up at the end of a construct.
pub(crate) struct End {
    pub(crate) counts: bool,
    pub(crate) hold: bool,
    pub(crate) delete: bool,
    /// All of it must be there.
    pub(crate) whole: bool,
}

/// The table of one device.
#[derive(Default)]
pub(crate) struct Table {
    ranges: Mutex<HostRanges<Slot>>,
}

/// Why something could not be associated.
pub(crate) type Refused = &'static str;

impl Table {
    fn lock(&self) -> MutexGuard<'_, HostRanges<Slot>> {
        // Nothing panics half-way through a change of it.
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that what is wanted is on the device, and counts it.
    ///
    /// # Safety
    /// The host's memory is readable, and stays as it is until `stream` is synchronised.
    ///
    /// # Errors
    /// It overlaps with what is there, it is not there and must be, or the device fails.
    pub(crate) unsafe fn begin(
        &self,
        device: &Device,
        stream: &mut Stream<'_>,
        want: &Want,
    ) -> Result<Begun, Failed> {
        let mut ranges = self.lock();
        let missing = || {
            message::message(&format!(
                "device mapping required by 'present' map type modifier does not exist for host \
                 address {:#018x} ({} bytes)",
                want.begin, want.bytes
            ));
            let why =
                "Call to getTargetPointer returned null pointer ('present' map type modifier).";
            message::error(why)
        };
        let (entry, is_new) = match find(&ranges, want.begin, want.bytes) {
            Some((start, at, is_whole)) if is_whole || want.implicit => {
                let Some(slot) = ranges.get_mut(start) else {
                    unreachable!("it was just found")
                };
                let action = if want.counts {
                    slot.counts.of(want.hold).0.increment();
                    " (incremented)"
                } else {
                    " (update suppressed)"
                };
                if settings::info().has(Info::EXISTING) {
                    message::info(
                        device.number,
                        &format!(
                            "Mapping exists{} with HstPtrBegin={:#018x}, TgtPtrBegin={:#018x}, Size={}, \
                             {}, Name={}",
                            if want.implicit { " (implicit)" } else { "" },
                            want.begin,
                            slot.entry.at(want.begin),
                            want.bytes,
                            slot.counts.shown(want.hold, action),
                            want.name.shown(),
                        ),
                    );
                }
                debug_assert_eq!(at.start(), start);
                // What comes with its parent is as new as that.
                let is_new = !want.counts && slot.counts.are_one();
                (Arc::clone(&slot.entry), is_new)
            }
            Some((_, at, _)) => {
                message::message(&format!(
                    "explicit extension not allowed: host address specified is {:#018x} ({} bytes), \
                     but device allocation maps to host at {:#018x} ({} bytes)",
                    want.begin,
                    want.bytes,
                    at.start(),
                    at.len()
                ));
                if want.present {
                    return Err(missing());
                }
                return Err(message::error(
                    "Call to getTargetPointer returned null pointer (device failure or illegal mapping).",
                ));
            }
            None if want.present => return Err(missing()),
            None if want.bytes == 0 => return Ok(Begun::Nowhere),
            None if want.may_share => {
                if settings::info().has(Info::CHANGES) {
                    let text = format!(
                        "Return HstPtrBegin {:#018x} Size={} for unified shared memory",
                        want.begin, want.bytes
                    );
                    message::info(device.number, &text);
                }
                return Ok(Begun::Shared);
            }
            None => (self.create(&mut ranges, device, want)?, true),
        };
        // Under the table's lock still: whoever finds the entry from now on waits for it.
        let mut content = entry.content();
        drop(ranges);
        let at = entry.at(want.begin);
        let copies = want.to && (is_new || want.always) && want.bytes > 0;
        // A copy would undo what has been attached in the same construct.
        let end = want.begin.saturating_add(want.bytes);
        if copies && content.attached.range(want.begin..end).next().is_none() {
            // SAFETY: the caller's promise.
            unsafe { stream.copy_to(at, want.begin as *const u8, want.bytes, entry.name)? };
            content.event = stream.record();
        } else if !want.present
            && let Some(event) = &content.event
        {
            stream.wait_for(event);
        }
        drop(content);
        Ok(Begun::There {
            device: at,
            is_new,
            entry,
        })
    }

    fn create(
        &self,
        ranges: &mut HostRanges<Slot>,
        device: &Device,
        want: &Want,
    ) -> Result<Arc<Entry>, Failed> {
        let Some(range) = HostRange::new(want.begin, want.bytes) else {
            return Err(message::error(&format!(
                "{} bytes at {:#x} run past the end of the address space",
                want.bytes, want.begin
            )));
        };
        let memory = device.alloc(want.padding + want.bytes as u64)?;
        let allocation = memory.address();
        let entry = Arc::new(Entry {
            base: want.base,
            range,
            device: allocation + want.padding,
            name: want.name,
            _memory: Some(memory),
            content: Mutex::default(),
        });
        let counts = Counts::new(want.hold);
        if settings::info().has(Info::CHANGES) {
            message::info(
                device.number,
                &format!(
                    "Creating new map entry with HstPtrBase={:#018x}, HstPtrBegin={:#018x}, \
                     TgtAllocBegin={:#018x}, TgtPtrBegin={:#018x}, Size={}, {}, Name={}",
                    want.base,
                    want.begin,
                    allocation,
                    entry.device,
                    want.bytes,
                    counts.shown(false, ""),
                    want.name.shown(),
                ),
            );
        }
        let slot = Slot {
            counts,
            ending: 0,
            entry: Arc::clone(&entry),
        };
        match ranges.insert(range, slot) {
            Ok(_) => Ok(entry),
            Err(error) => Err(message::error(&error.to_string())),
        }
    }

    /// What is on the device of a range, without counting it; with `whole`, all of it must be
    /// there.
    pub(crate) fn find(
        &self,
        device: &Device,
        begin: usize,
        bytes: usize,
        whole: bool,
    ) -> Option<Used> {
        let ranges = self.lock();
        let (start, _, is_whole) = find(&ranges, begin, bytes)?;
        if whole && !is_whole {
            return None;
        }
        let (_, slot) = ranges.get(start)?;
        let used = Used {
            device: slot.entry.at(begin),
            entry: Arc::clone(&slot.entry),
            is_last: slot.counts.are_one(),
        };
        tell_existing(
            device,
            begin,
            bytes,
            &used,
            slot.counts,
            false,
            " (update suppressed)",
        );
        Some(used)
    }

    /// Looks a range up at the end of a construct, and counts it. Who gets it settles with
    /// [`settle`](Self::settle) when it has been copied back.
    pub(crate) fn end(
        &self,
        device: &Device,
        begin: usize,
        bytes: usize,
        end: &End,
    ) -> Option<Used> {
        let mut ranges = self.lock();
        let (start, _, is_whole) = find(&ranges, begin, bytes)?;
        if end.whole && !is_whole {
            return None;
        }
        let slot = ranges.get_mut(start)?;
        let (count, other) = slot.counts.of(end.hold);
        let is_last = other.is_zero()
            && match *count {
                Count::Always => false,
                Count::Times(times) => end.delete || times == 1,
            };
        if end.delete && *count != Count::Always {
            *count = Count::Times(1);
        }
        let action = if !end.counts {
            " (update suppressed)"
        } else {
            count.decrement();
            match (is_last, end.delete) {
                (true, true) => " (reset, delayed deletion)",
                (true, false) => " (decremented, delayed deletion)",
                (false, _) => " (decremented)",
            }
        };
        slot.ending += 1;
        let used = Used {
            device: slot.entry.at(begin),
            entry: Arc::clone(&slot.entry),
            is_last,
        };
        tell_existing(device, begin, bytes, &used, slot.counts, end.hold, action);
        Some(used)
    }

    /// A construct that has ended is done with the entry: it goes if that `may_go`, nobody
    /// has it mapped, and no other construct is still at it.
    pub(crate) fn settle(&self, device: &Device, entry: &Arc<Entry>, bytes: usize, may_go: bool) {
        let mut ranges = self.lock();
        let start = entry.range.start();
        let Some(slot) = ranges.get_mut(start) else {
            return;
        };
        if !Arc::ptr_eq(&slot.entry, entry) {
            return;
        }
        slot.ending -= 1;
        if !may_go || !slot.counts.are_zero() || slot.ending != 0 {
            return;
        }
        if settings::info().has(Info::CHANGES) {
            message::info(
                device.number,
                &format!(
                    "Removing map entry with HstPtrBegin={start:#018x}, TgtPtrBegin={:#018x}, Size={bytes}, \
                     Name={}",
                    entry.device,
                    entry.name.shown(),
                ),
            );
        }
        let removed = ranges.remove(start);
        drop(ranges);
        // Freeing may take its time.
        drop(removed);
    }

    /// A variable of an image: it is there as long as the program, unless another image has
    /// it already.
    pub(crate) fn add_variable(&self, range: HostRange, device: u64, name: NameOf) {
        let mut ranges = self.lock();
        if find(&ranges, range.start(), range.len()).is_none() {
            // What is empty or overlaps needs no place.
            let _ = ranges.insert(range, Slot::always(range, device, name));
        }
    }

    /// Associates what the program has put on the device itself.
    ///
    /// # Errors
    /// Other data is there already.
    pub(crate) fn associate(&self, range: HostRange, device: u64) -> Result<(), Refused> {
        let mut ranges = self.lock();
        if let Some((there, slot)) = ranges.get(range.start()) {
            if there == range && slot.entry.device == device {
                return Ok(());
            }
            return Err(
                "Not allowed to re-associate a different device ptr+offset with the same host ptr",
            );
        }
        let slot = Slot::always(range, device, NameOf(std::ptr::null()));
        match ranges.insert(range, slot) {
            Ok(_) => Ok(()),
            Err(_) => Err("Not allowed to associate host memory of which a part is mapped already"),
        }
    }

    /// Ends what [`associate`](Self::associate) has begun.
    ///
    /// # Errors
    /// There is no such association.
    pub(crate) fn disassociate(&self, start: usize) -> Result<(), Refused> {
        let mut ranges = self.lock();
        let (_, slot) = ranges.get(start).ok_or("Association not found")?;
        if !slot.counts.hold.is_zero() {
            return Err("Trying to disassociate a pointer with a non-zero hold reference count");
        }
        if slot.counts.dynamic != Count::Always {
            return Err(
                "Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr",
            );
        }
        ranges.remove(start);
        Ok(())
    }

    /// Forgets the variables of an image that goes.
    pub(crate) fn forget(&self, starts: impl Iterator<Item = usize>) {
        let mut ranges = self.lock();
        for start in starts {
            ranges.remove(start);
        }
    }

    /// What is in it, a line each, for messages; `place` is where the construct is.
    pub(crate) fn lines(&self, place: &str) -> Vec<String> {
        let ranges = self.lock();
        if ranges.is_empty() {
            return vec!["OpenMP Host-Device pointer mappings table empty".to_owned()];
        }
        let mut lines = vec![
            format!("OpenMP Host-Device pointer mappings after block at {place}:"),
            format!(
                "{:<18} {:<18} Size (B) DynRefCount HoldRefCount Declaration",
                "Host Ptr", "Target Ptr"
            ),
        ];
        for (range, slot) in ranges.iter() {
            // SAFETY: see `NameOf`.
            let named = unsafe { Named::of(slot.entry.name.0) };
            let declared = named.map_or_else(
                || "unknown at unknown:0:0".to_owned(),
                |named| format!("{} at {}", named.name, named.place),
            );
            lines.push(format!(
                "{:#018x} {:#018x} {:<8} {:<11} {:<12} {declared}",
                range.start(),
                slot.entry.device,
                range.len(),
                slot.counts.dynamic,
                slot.counts.hold,
            ));
        }
        lines
    }
}

impl Slot {
    fn always(range: HostRange, device: u64, name: NameOf) -> Self {
        let entry = Entry {
            base: range.start(),
            range,
            device,
            name,
            _memory: None,
            content: Mutex::default(),
        };
        Self {
            counts: Counts {
                dynamic: Count::Always,
                hold: Count::Times(0),
            },
            ending: 0,
            entry: Arc::new(entry),
        }
    }
}

/// The entry of a range: where it starts, all of it, and whether it has all of the range. A
/// section without elements lies also in what its variable begins before.
fn find(ranges: &HostRanges<Slot>, begin: usize, bytes: usize) -> Option<(usize, HostRange, bool)> {
    let range = HostRange::new(begin, bytes)?;
    match ranges.find(range) {
        Found::Inside(at, _) => Some((at.start(), at, true)),
        Found::Partly(at, _) => Some((at.start(), at, false)),
        Found::Absent if bytes == 0 => {
            let (at, slot) = ranges.after(begin)?;
            (slot.entry.base <= begin).then_some((at.start(), at, true))
        }
        Found::Absent => None,
    }
}

fn tell_existing(
    device: &Device,
    begin: usize,
    bytes: usize,
    used: &Used,
    counts: Counts,
    is_hold: bool,
    action: &str,
) {
    if settings::info().has(Info::EXISTING) {
        message::info(
            device.number,
            &format!(
                "Mapping exists with HstPtrBegin={begin:#018x}, TgtPtrBegin={:#018x}, Size={bytes}, {}",
                used.device,
                counts.shown(is_hold, action),
            ),
        );
    }
}
