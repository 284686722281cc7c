//! The mapping table of a device: OpenMP's device data environment.
//!
//! It has ranges of host addresses, each with its counterpart and two reference counts. The
//! table's lock is held for look-ups, counts and allocations, never during a copy. A construct
//! waits for data that others create ([`Mapped::wait_until_ready`]), but only after the data that
//! it creates itself is ready.
//!
//! Calls to the host do not use the table: their data is copied.
//! [`PresentTable`](revoff_host::map::PresentTable), which they do use, has no counts and no device
//! memory.

use std::sync::{Arc, Mutex, MutexGuard};

use revoff_host::ranges::{AddrRange, Found, RangeMap};

use super::counts::{Count, Counts};
use super::mapped::Mapped;
use super::request::{MapRequest, MapResult, MappedRange, Refused, UnmapRequest};
use super::stream::Stream;
use super::{Device, report};
use crate::locks::lock;
use crate::report::message::{self, Failed};
use crate::report::source::SourceName;

/// An entry of the table, under its lock.
struct MapEntry {
    counts: Counts,
    /// Constructs that have unmapped it and not called [`Table::finish_unmap`] yet.
    unmapping: u32,
    mapped: Arc<Mapped>,
}

/// The table of one device.
#[derive(Default)]
pub(crate) struct Table {
    ranges: Mutex<RangeMap<MapEntry>>,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, RangeMap<MapEntry>> {
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
        let (mapped, is_new, is_created) = match find(&ranges, request.begin, request.bytes) {
            Some((start, at, is_whole)) if is_whole || request.implicit => {
                let Some(entry) = ranges.get_mut(start) else {
                    unreachable!("it was just found")
                };
                let action = if request.counts {
                    entry.counts.of(request.hold).0.increment();
                    " (incremented)"
                } else {
                    " (update suppressed)"
                };
                report::existing_by_name(device, request, &entry.mapped, entry.counts, action);
                debug_assert_eq!(at.start(), start);
                // A member that its parent brought is as new as the parent.
                let is_new = !request.counts && entry.counts.are_one();
                (Arc::clone(&entry.mapped), is_new, false)
            }
            Some((_, at, _)) => {
                report::extension(request, at);
                return Err(match request.present {
                    true => report::not_present(request),
                    false => report::no_pointer(),
                });
            }
            None if request.may_share && request.bytes > 0 => {
                report::shared(device, request);
                return Ok(MapResult::Shared);
            }
            None if request.present => return Err(report::not_present(request)),
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
        ranges: &mut RangeMap<MapEntry>,
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
        let allocation = memory.address().0;
        let place = allocation + request.padding;
        let mapped = Mapped::new(request.base, range, place, request.name, Some(memory));
        let mapped = Arc::new(mapped);
        let counts = Counts::new(request.hold);
        report::created(device, request, allocation, place, counts);
        let entry = MapEntry {
            counts,
            unmapping: 0,
            mapped: Arc::clone(&mapped),
        };
        match ranges.insert(range, entry) {
            Ok(_) => Ok(mapped),
            Err(error) => Err(message::failure(&error)),
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
        let (_, entry) = ranges.get(start)?;
        let used = MappedRange {
            device: entry.mapped.at(begin),
            mapped: Arc::clone(&entry.mapped),
            copies: false,
        };
        report::existing(
            device,
            begin,
            bytes,
            &used,
            entry.counts,
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
        let entry = ranges.get_mut(start)?;
        let (count, other) = entry.counts.of(request.hold);
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
        entry.unmapping += 1;
        let used = MappedRange {
            device: entry.mapped.at(begin),
            mapped: Arc::clone(&entry.mapped),
            copies: request.from && (is_last || request.always),
        };
        if used.copies && bytes > 0 {
            used.mapped.begin_return();
        }
        report::existing(
            device,
            begin,
            bytes,
            &used,
            entry.counts,
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
        let Some(entry) = ranges.get_mut(start) else {
            return;
        };
        if !Arc::ptr_eq(&entry.mapped, mapped) {
            return;
        }
        entry.unmapping -= 1;
        if !may_go || !entry.counts.are_zero() || entry.unmapping != 0 {
            return;
        }
        report::removed(device, mapped, bytes);
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
        let entry = ranges
            .insert(range, MapEntry::always(range, device, name))
            .ok()?;
        Some(Arc::clone(&entry.mapped))
    }

    /// Associates data that the program put on the device itself.
    ///
    /// # Errors
    /// Other data is mapped there already.
    pub(crate) fn associate(&self, range: AddrRange, device: u64) -> Result<(), Refused> {
        let mut ranges = self.lock();
        if let Some((there, entry)) = ranges.get(range.start()) {
            if there == range && entry.mapped.device() == device {
                return Ok(());
            }
            return Err(Refused::Associated);
        }
        let entry = MapEntry::always(range, device, SourceName(std::ptr::null()));
        let inserted = ranges.insert(range, entry);
        inserted.map(|_| ()).map_err(|_| Refused::PartlyMapped)
    }

    /// Removes an association of [`associate`](Self::associate).
    ///
    /// # Errors
    /// There is no such association.
    pub(crate) fn disassociate(&self, start: usize) -> Result<(), Refused> {
        let mut ranges = self.lock();
        let (_, entry) = ranges.get(start).ok_or(Refused::NotFound)?;
        if !entry.counts.hold.is_zero() {
            return Err(Refused::Held);
        }
        if entry.counts.dynamic != Count::Always {
            return Err(Refused::NotAssociated);
        }
        ranges.remove(start);
        Ok(())
    }

    /// Removes a variable of an image that is unloaded.
    pub(crate) fn forget(&self, variable: &Arc<Mapped>) {
        let mut ranges = self.lock();
        let start = variable.range().start();
        let there = ranges.get(start);
        if there.is_some_and(|(_, entry)| Arc::ptr_eq(&entry.mapped, variable)) {
            ranges.remove(start);
        }
    }

    /// Its entries for messages, one line each; `place` is the construct's location.
    pub(crate) fn lines(&self, place: &str) -> Vec<String> {
        let ranges = self.lock();
        let entries = ranges.iter();
        report::lines(
            entries.map(|(range, entry)| (range, &*entry.mapped, entry.counts)),
            place,
        )
    }
}

impl MapEntry {
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
fn find(
    ranges: &RangeMap<MapEntry>,
    begin: usize,
    bytes: usize,
) -> Option<(usize, AddrRange, bool)> {
    let range = AddrRange::new(begin, bytes)?;
    match ranges.find(range) {
        Found::Inside(at, _) => Some((at.start(), at, true)),
        Found::Partly(at, _) => Some((at.start(), at, false)),
        Found::Absent if bytes == 0 => {
            let (at, entry) = ranges.after(begin)?;
            (entry.mapped.base() <= begin).then_some((at.start(), at, true))
        }
        Found::Absent => None,
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

    #[test]
    fn an_association_is_refused_with_the_reason() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let range = AddrRange::of(&data);
        let part = AddrRange::of(&data[8..16]);
        let table = &device.table;
        assert_eq!(table.disassociate(range.start()), Err(Refused::NotFound));
        assert_eq!(table.associate(range, 0x1000), Ok(()));
        assert_eq!(table.associate(range, 0x1000), Ok(()));
        assert_eq!(table.associate(range, 0x2000), Err(Refused::Associated));
        assert_eq!(table.associate(part, 0x1000), Err(Refused::PartlyMapped));
        assert_eq!(table.disassociate(range.start()), Ok(()));

        let mut batch = MapBatch::default();
        begin(&device, &data, &mut batch);
        finish(&device, batch);
        let refused = table.disassociate(range.start());
        assert_eq!(refused, Err(Refused::NotAssociated));
        assert!(
            Refused::NotAssociated
                .to_string()
                .contains("omp_target_associate_ptr")
        );
    }
}
