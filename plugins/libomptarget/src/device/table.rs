//! The mapping table of a device: OpenMP's device data environment.
//!
//! It has ranges of host addresses, each with its counterpart and two reference counts. The
//! table's lock is held for look-ups, counts and allocations, never during a copy. A construct
//! waits for data that others create ([`Mapped::wait_until_ready`]), but only after the data that
//! it creates itself is ready.
//!
//! Calls to the host do not use the table: their data is copied.
//! [`PresentTable`](host_rt::map::PresentTable), which they do use, has no counts and no device
//! memory.

use std::sync::{Arc, Mutex, MutexGuard};

use host_rt::ranges::{AddrRange, Found, RangeMap};

use super::Device;
use super::counts::{Count, Counts};
use super::mapped::Mapped;
use super::stream::Stream;
use crate::locks::lock;
use crate::report::message::{self, Failed};
use crate::report::source::{Named, SourceName};
use crate::settings::{self, Info};

/// An entry of the table, under its lock.
struct Slot {
    counts: Counts,
    /// Constructs that have unmapped it and not called [`Table::finish_unmap`] yet.
    unmapping: u32,
    mapped: Arc<Mapped>,
}

/// A range that a construct maps.
pub(crate) struct MapRequest {
    pub(crate) base: usize,
    pub(crate) begin: usize,
    pub(crate) bytes: usize,
    /// Bytes before the first, for alignment.
    pub(crate) padding: u64,
    pub(crate) name: SourceName,
    /// Whether it is copied if it is new.
    pub(crate) to: bool,
    /// Whether it is always copied.
    pub(crate) always: bool,
    pub(crate) implicit: bool,
    /// Whether the reference count changes.
    pub(crate) counts: bool,
    pub(crate) present: bool,
    pub(crate) hold: bool,
    /// The device may use the host's memory instead.
    pub(crate) may_share: bool,
}

/// The result of a [`MapRequest`].
pub(crate) enum MapResult {
    /// It is on the device.
    Mapped {
        device: u64,
        is_new: bool,
        /// This construct created it.
        is_created: bool,
        mapped: Arc<Mapped>,
    },
    /// The device uses the host's memory.
    Shared,
    /// It is empty, and not on the device.
    Empty,
}

/// A range on the device that a construct uses or has unmapped.
pub(crate) struct MappedRange {
    pub(crate) device: u64,
    pub(crate) mapped: Arc<Mapped>,
    /// After unmapping: whether it must be copied back, which others wait for.
    pub(crate) copies: bool,
}

/// How a construct unmaps a range.
pub(crate) struct UnmapRequest {
    pub(crate) counts: bool,
    pub(crate) hold: bool,
    pub(crate) delete: bool,
    /// Whether all of it must be there.
    pub(crate) whole: bool,
    /// Whether the last construct that has it mapped copies it back.
    pub(crate) from: bool,
    /// Whether every construct copies it back.
    pub(crate) always: bool,
}

/// The table of one device.
#[derive(Default)]
pub(crate) struct Table {
    ranges: Mutex<RangeMap<Slot>>,
}

/// The reason why an association was rejected.
pub(crate) type Refused = &'static str;

impl Table {
    fn lock(&self) -> MutexGuard<'_, RangeMap<Slot>> {
        lock(&self.ranges)
    }

    /// Maps a range: creates it if it is new, and counts it.
    ///
    /// # Safety
    /// The host's memory is readable and does not change until `stream` is synchronised.
    ///
    /// # Errors
    /// It overlaps with another range, it is not present although it must be, or the device fails.
    pub(crate) unsafe fn map(
        &self,
        device: &Device,
        stream: &mut Stream<'_>,
        request: &MapRequest,
    ) -> Result<MapResult, Failed> {
        let mut ranges = self.lock();
        let missing = || {
            message::message(&format!(
                "device mapping required by 'present' map type modifier does not exist for host \
                 address {:#018x} ({} bytes)",
                request.begin, request.bytes
            ));
            let why =
                "Call to getTargetPointer returned null pointer ('present' map type modifier).";
            message::error(why)
        };
        let (mapped, is_new, is_created) = match find(&ranges, request.begin, request.bytes) {
            Some((start, at, is_whole)) if is_whole || request.implicit => {
                let Some(slot) = ranges.get_mut(start) else {
                    unreachable!("it was just found")
                };
                let action = if request.counts {
                    slot.counts.of(request.hold).0.increment();
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
                            if request.implicit { " (implicit)" } else { "" },
                            request.begin,
                            slot.mapped.at(request.begin),
                            request.bytes,
                            slot.counts.shown(request.hold, action),
                            request.name.shown(),
                        ),
                    );
                }
                debug_assert_eq!(at.start(), start);
                // A member that its parent brought is as new as the parent.
                let is_new = !request.counts && slot.counts.are_one();
                (Arc::clone(&slot.mapped), is_new, false)
            }
            Some((_, at, _)) => {
                message::message(&format!(
                    "explicit extension not allowed: host address specified is {:#018x} ({} bytes), \
                     but device allocation maps to host at {:#018x} ({} bytes)",
                    request.begin,
                    request.bytes,
                    at.start(),
                    at.len()
                ));
                if request.present {
                    return Err(missing());
                }
                return Err(message::error(
                    "Call to getTargetPointer returned null pointer (device failure or illegal mapping).",
                ));
            }
            None if request.may_share && request.bytes > 0 => {
                if settings::info().has(Info::CHANGES) {
                    let text = format!(
                        "Return HstPtrBegin {:#018x} Size={} for unified shared memory",
                        request.begin, request.bytes
                    );
                    message::info(device.number, &text);
                }
                return Ok(MapResult::Shared);
            }
            None if request.present => return Err(missing()),
            None if request.bytes == 0 => return Ok(MapResult::Empty),
            None => (self.create(&mut ranges, device, request)?, true, true),
        };
        // New content is locked before the table is unlocked: another thread could otherwise
        // attach a pointer to it first, without waiting for the copy.
        let of_created = is_created.then(|| mapped.content());
        drop(ranges);
        let mut content = of_created.unwrap_or_else(|| mapped.content());
        if request.to && (is_new || request.always) && request.bytes > 0 {
            // SAFETY: the caller's promise.
            unsafe { stream.copy_mapped(&mapped, &mut content, request.begin, request.bytes)? };
        }
        drop(content);
        Ok(MapResult::Mapped {
            device: mapped.at(request.begin),
            is_new,
            is_created,
            mapped,
        })
    }

    fn create(
        &self,
        ranges: &mut RangeMap<Slot>,
        device: &Device,
        request: &MapRequest,
    ) -> Result<Arc<Mapped>, Failed> {
        let Some(range) = AddrRange::new(request.begin, request.bytes) else {
            return Err(message::error(&format!(
                "{} bytes at {:#x} run past the end of the address space",
                request.bytes, request.begin
            )));
        };
        let memory = device.alloc(request.padding + request.bytes as u64)?;
        let allocation = memory.address();
        let place = allocation + request.padding;
        let mapped = Mapped::new(request.base, range, place, request.name, Some(memory));
        let mapped = Arc::new(mapped);
        let counts = Counts::new(request.hold);
        if settings::info().has(Info::CHANGES) {
            message::info(
                device.number,
                &format!(
                    "Creating new map entry with HstPtrBase={:#018x}, HstPtrBegin={:#018x}, \
                     TgtAllocBegin={:#018x}, TgtPtrBegin={:#018x}, Size={}, {}, Name={}",
                    request.base,
                    request.begin,
                    allocation,
                    place,
                    request.bytes,
                    counts.shown(false, ""),
                    request.name.shown(),
                ),
            );
        }
        let slot = Slot {
            counts,
            unmapping: 0,
            mapped: Arc::clone(&mapped),
        };
        match ranges.insert(range, slot) {
            Ok(_) => Ok(mapped),
            Err(error) => Err(message::error(&error.to_string())),
        }
    }

    /// Looks a range up without counting it; with `whole`, all of it must be there.
    pub(crate) fn find(
        &self,
        device: &Device,
        begin: usize,
        bytes: usize,
        whole: bool,
    ) -> Option<MappedRange> {
        let ranges = self.lock();
        let (start, _, is_whole) = find(&ranges, begin, bytes)?;
        if whole && !is_whole {
            return None;
        }
        let (_, slot) = ranges.get(start)?;
        let used = MappedRange {
            device: slot.mapped.at(begin),
            mapped: Arc::clone(&slot.mapped),
            copies: false,
        };
        report_existing(
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

    /// Whether all of a range is there.
    pub(crate) fn has(&self, begin: usize, bytes: usize) -> bool {
        let ranges = self.lock();
        find(&ranges, begin, bytes).is_some_and(|(_, _, is_whole)| is_whole)
    }

    /// Unmaps a range at the end of a construct. The caller calls
    /// [`finish_unmap`](Self::finish_unmap) when it has been copied back.
    pub(crate) fn unmap(
        &self,
        device: &Device,
        begin: usize,
        bytes: usize,
        request: &UnmapRequest,
    ) -> Option<MappedRange> {
        let mut ranges = self.lock();
        let (start, _, is_whole) = find(&ranges, begin, bytes)?;
        if request.whole && !is_whole {
            return None;
        }
        let slot = ranges.get_mut(start)?;
        let (count, other) = slot.counts.of(request.hold);
        let is_last = other.is_zero()
            && match *count {
                Count::Always => false,
                Count::Times(times) => request.delete || times == 1,
            };
        if request.delete && *count != Count::Always {
            *count = Count::Times(1);
        }
        let action = if !request.counts {
            " (update suppressed)"
        } else {
            count.decrement();
            match (is_last, request.delete) {
                (true, true) => " (reset, delayed deletion)",
                (true, false) => " (decremented, delayed deletion)",
                (false, _) => " (decremented)",
            }
        };
        slot.unmapping += 1;
        let used = MappedRange {
            device: slot.mapped.at(begin),
            mapped: Arc::clone(&slot.mapped),
            copies: request.from && (is_last || request.always),
        };
        if used.copies && bytes > 0 {
            used.mapped.begin_return();
        }
        report_existing(
            device,
            begin,
            bytes,
            &used,
            slot.counts,
            request.hold,
            action,
        );
        Some(used)
    }

    /// Ends [`unmap`](Self::unmap): removes the entry if it `may_go`, it is not mapped any more, and
    /// no other construct is unmapping it.
    pub(crate) fn finish_unmap(
        &self,
        device: &Device,
        mapped: &Arc<Mapped>,
        bytes: usize,
        may_go: bool,
    ) {
        let mut ranges = self.lock();
        let start = mapped.range().start();
        let Some(slot) = ranges.get_mut(start) else {
            return;
        };
        if !Arc::ptr_eq(&slot.mapped, mapped) {
            return;
        }
        slot.unmapping -= 1;
        if !may_go || !slot.counts.are_zero() || slot.unmapping != 0 {
            return;
        }
        if settings::info().has(Info::CHANGES) {
            message::info(
                device.number,
                &format!(
                    "Removing map entry with HstPtrBegin={start:#018x}, TgtPtrBegin={:#018x}, Size={bytes}, \
                     Name={}",
                    mapped.device(),
                    mapped.name().shown(),
                ),
            );
        }
        let removed = ranges.remove(start);
        drop(ranges);
        // Freeing may take long.
        drop(removed);
    }

    /// Adds a variable of an image, unless another image has it already. Returns it for
    /// [`forget`](Self::forget).
    pub(crate) fn add_variable(
        &self,
        range: AddrRange,
        device: u64,
        name: SourceName,
    ) -> Option<Arc<Mapped>> {
        let mut ranges = self.lock();
        // An empty variable needs no entry either.
        let slot = ranges
            .insert(range, Slot::always(range, device, name))
            .ok()?;
        Some(Arc::clone(&slot.mapped))
    }

    /// Associates data that the program put on the device itself.
    ///
    /// # Errors
    /// Other data is mapped there already.
    pub(crate) fn associate(&self, range: AddrRange, device: u64) -> Result<(), Refused> {
        let mut ranges = self.lock();
        if let Some((there, slot)) = ranges.get(range.start()) {
            if there == range && slot.mapped.device() == device {
                return Ok(());
            }
            return Err(
                "Not allowed to re-associate a different device ptr+offset with the same host ptr",
            );
        }
        let slot = Slot::always(range, device, SourceName(std::ptr::null()));
        match ranges.insert(range, slot) {
            Ok(_) => Ok(()),
            Err(_) => Err("Not allowed to associate host memory of which a part is mapped already"),
        }
    }

    /// Removes an association of [`associate`](Self::associate).
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

    /// Removes a variable of an image that is unloaded.
    pub(crate) fn forget(&self, variable: &Arc<Mapped>) {
        let mut ranges = self.lock();
        let start = variable.range().start();
        let there = ranges.get(start);
        if there.is_some_and(|(_, slot)| Arc::ptr_eq(&slot.mapped, variable)) {
            ranges.remove(start);
        }
    }

    /// Its entries for messages, one line each; `place` is the construct's location.
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
            // SAFETY: a C string in the program, or null, valid as long as the library that
            // registered it.
            let named = unsafe { Named::of(slot.mapped.name().0) };
            let declared = named.map_or_else(
                || "unknown at unknown:0:0".to_owned(),
                |named| format!("{} at {}", named.name, named.location),
            );
            lines.push(format!(
                "{:#018x} {:#018x} {:<8} {:<11} {:<12} {declared}",
                range.start(),
                slot.mapped.device(),
                range.len(),
                slot.counts.dynamic,
                slot.counts.hold,
            ));
        }
        lines
    }
}

impl Slot {
    fn always(range: AddrRange, device: u64, name: SourceName) -> Self {
        let mapped = Mapped::new(range.start(), range, device, name, None);
        mapped.set_ready(None);
        Self {
            counts: Counts {
                dynamic: Count::Always,
                hold: Count::Times(0),
            },
            unmapping: 0,
            mapped: Arc::new(mapped),
        }
    }
}

/// The entry of a range: its start, its own range, and whether it contains all of the range. A
/// section without elements also matches an entry after it if the variable begins before it.
fn find(ranges: &RangeMap<Slot>, begin: usize, bytes: usize) -> Option<(usize, AddrRange, bool)> {
    let range = AddrRange::new(begin, bytes)?;
    match ranges.find(range) {
        Found::Inside(at, _) => Some((at.start(), at, true)),
        Found::Partly(at, _) => Some((at.start(), at, false)),
        Found::Absent if bytes == 0 => {
            let (at, slot) = ranges.after(begin)?;
            (slot.mapped.base() <= begin).then_some((at.start(), at, true))
        }
        Found::Absent => None,
    }
}

fn report_existing(
    device: &Device,
    begin: usize,
    bytes: usize,
    used: &MappedRange,
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::mapping::map::MapBatch;

    /// The request of `map(tofrom: data)`.
    fn request(data: &[u8]) -> MapRequest {
        MapRequest {
            base: data.as_ptr().addr(),
            begin: data.as_ptr().addr(),
            bytes: data.len(),
            padding: 0,
            name: SourceName(std::ptr::null()),
            to: true,
            always: false,
            implicit: false,
            counts: true,
            present: false,
            hold: false,
            may_share: false,
        }
    }

    const LAST: UnmapRequest = UnmapRequest {
        counts: true,
        hold: false,
        delete: false,
        whole: true,
        from: true,
        always: false,
    };

    /// Maps `data` in a construct.
    fn begin(device: &Device, data: &[u8], beginning: &mut MapBatch) -> MapResult {
        let mut stream = Stream::new(device);
        // SAFETY: the test keeps the data.
        let entered = unsafe { beginning.map(device, &mut stream, &request(data)) };
        entered.expect("it can be mapped")
    }

    fn finish(device: &Device, beginning: MapBatch) {
        // SAFETY: nothing is attached.
        let finished = unsafe { beginning.finish(device, &mut Stream::new(device)) };
        finished.expect("there is nothing to fail");
    }

    fn is_created(entered: &MapResult) -> bool {
        matches!(
            entered,
            MapResult::Mapped {
                is_created: true,
                ..
            }
        )
    }

    #[test]
    fn others_wait_for_what_is_being_made() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let mut first = MapBatch::default();
        assert!(is_created(&begin(&device, &data, &mut first)));
        let started = Barrier::new(2);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut second = MapBatch::default();
                assert!(!is_created(&begin(&device, &data, &mut second)));
                started.wait();
                finish(&device, second);
            });
            started.wait();
            // Long enough for a thread that does not wait.
            std::thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished(), "it used what is not ready");
            finish(&device, first);
            second.join().unwrap();
        });
    }

    #[test]
    fn two_that_make_what_the_other_uses_get_on() {
        let device = Device::open(0, "host").unwrap();
        let (a, b) = ([1; 64], [2; 64]);
        let both = Barrier::new(2);
        let construct = |own: &[u8], other: &[u8]| {
            let mut beginning = MapBatch::default();
            assert!(is_created(&begin(&device, own, &mut beginning)));
            both.wait();
            assert!(!is_created(&begin(&device, other, &mut beginning)));
            both.wait();
            finish(&device, beginning);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| construct(&a, &b));
            scope.spawn(|| construct(&b, &a));
        });
    }

    #[test]
    fn who_begins_again_waits_for_the_copy_back() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let start = data.as_ptr().addr();
        let mut first = MapBatch::default();
        begin(&device, &data, &mut first);
        finish(&device, first);
        let ended = device
            .table
            .unmap(&device, start, data.len(), &LAST)
            .unwrap();
        assert!(ended.copies);
        let started = Barrier::new(2);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut second = MapBatch::default();
                assert!(
                    !is_created(&begin(&device, &data, &mut second)),
                    "it is still there"
                );
                started.wait();
                finish(&device, second);
            });
            started.wait();
            std::thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished(), "it used what is being copied back");
            device
                .table
                .finish_unmap(&device, &ended.mapped, data.len(), true);
            ended.mapped.end_return();
            second.join().unwrap();
        });
        // The second construct has it mapped, so it has stayed.
        assert!(device.table.find(&device, start, 1, true).is_some());
    }

    #[test]
    fn it_goes_when_the_last_construct_at_its_end_has_settled() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let (start, bytes) = (data.as_ptr().addr(), data.len());
        let mut beginning = MapBatch::default();
        begin(&device, &data, &mut beginning);
        begin(&device, &data, &mut beginning);
        finish(&device, beginning);
        let first = device.table.unmap(&device, start, bytes, &LAST).unwrap();
        let last = device.table.unmap(&device, start, bytes, &LAST).unwrap();
        assert!(!first.copies && last.copies);
        last.mapped.end_return();
        device
            .table
            .finish_unmap(&device, &last.mapped, bytes, true);
        let there = |device: &Device| device.table.find(device, start, bytes, true).is_some();
        assert!(there(&device), "another construct is still at it");
        device
            .table
            .finish_unmap(&device, &first.mapped, bytes, true);
        assert!(!there(&device));
    }

    #[test]
    fn an_image_takes_its_own_variables_alone() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let range = AddrRange::of(&data);
        let name = SourceName(std::ptr::null());
        let first = device.table.add_variable(range, 0x1000, name);
        let second = device.table.add_variable(range, 0x2000, name);
        assert!(second.is_none(), "another image has it");
        let found = device.table.find(&device, range.start(), 1, true);
        assert_eq!(found.unwrap().device, 0x1000);
        device.table.forget(&first.unwrap());
        assert!(device.table.find(&device, range.start(), 1, true).is_none());
    }
}
