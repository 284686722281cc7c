//! The data of a device that has an original on the host: OpenMP's device data environment.
//!
//! Ranges of host addresses, each with its counterpart and two counts of who has it mapped.
//! The table's lock is held for look-ups, counts and allocations, never during a copy. What a
//! construct has put here, others wait for ([`Mapped::wait_until_ready`]) when they have made
//! ready what they have put here themselves.

use std::sync::{Arc, Mutex, MutexGuard};

use host_rt::ranges::{Found, HostRange, HostRanges};

use super::Device;
use super::counts::{Count, Counts};
use super::mapped::Mapped;
use super::stream::Stream;
use crate::locks::lock;
use crate::report::message::{self, Failed};
use crate::report::source::{NameOf, Named};
use crate::settings::{self, Info};

/// An entry of the table, under its lock.
struct Slot {
    counts: Counts,
    /// Constructs that are at their end and have not yet settled whether it goes.
    ending: u32,
    mapped: Arc<Mapped>,
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
        /// This construct has put it there.
        is_made: bool,
        mapped: Arc<Mapped>,
    },
    /// The device uses the host's memory.
    Shared,
    /// It is empty, and nowhere on the device.
    Nowhere,
}

/// What a construct uses, or has ended with.
pub(crate) struct Used {
    pub(crate) device: u64,
    pub(crate) mapped: Arc<Mapped>,
    /// At the end of a construct: whether it is to be copied back, until which others wait.
    pub(crate) copies: bool,
}

/// How a range is looked up at the end of a construct.
pub(crate) struct End {
    pub(crate) counts: bool,
    pub(crate) hold: bool,
    pub(crate) delete: bool,
    /// All of it must be there.
    pub(crate) whole: bool,
    /// It is copied back by the last that has it mapped.
    pub(crate) from: bool,
    /// By others too.
    pub(crate) always: bool,
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
        lock(&self.ranges)
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
        let (mapped, is_new, is_made) = match find(&ranges, want.begin, want.bytes) {
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
                            slot.mapped.at(want.begin),
                            want.bytes,
                            slot.counts.shown(want.hold, action),
                            want.name.shown(),
                        ),
                    );
                }
                debug_assert_eq!(at.start(), start);
                // What comes with its parent is as new as that.
                let is_new = !want.counts && slot.counts.are_one();
                (Arc::clone(&slot.mapped), is_new, false)
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
            None if want.may_share && want.bytes > 0 => {
                if settings::info().has(Info::CHANGES) {
                    let text = format!(
                        "Return HstPtrBegin {:#018x} Size={} for unified shared memory",
                        want.begin, want.bytes
                    );
                    message::info(device.number, &text);
                }
                return Ok(Begun::Shared);
            }
            None if want.present => return Err(missing()),
            None if want.bytes == 0 => return Ok(Begun::Nowhere),
            None => (self.create(&mut ranges, device, want)?, true, true),
        };
        // The lock of new content is taken before the table's is released: another thread that
        // found it could attach a pointer to it first, and wait for no copy.
        let of_made = is_made.then(|| mapped.content());
        drop(ranges);
        let mut content = of_made.unwrap_or_else(|| mapped.content());
        if want.to && (is_new || want.always) && want.bytes > 0 {
            // SAFETY: the caller's promise.
            unsafe { stream.copy_mapped(&mapped, &mut content, want.begin, want.bytes)? };
        }
        drop(content);
        Ok(Begun::There {
            device: mapped.at(want.begin),
            is_new,
            is_made,
            mapped,
        })
    }

    fn create(
        &self,
        ranges: &mut HostRanges<Slot>,
        device: &Device,
        want: &Want,
    ) -> Result<Arc<Mapped>, Failed> {
        let Some(range) = HostRange::new(want.begin, want.bytes) else {
            return Err(message::error(&format!(
                "{} bytes at {:#x} run past the end of the address space",
                want.bytes, want.begin
            )));
        };
        let memory = device.alloc(want.padding + want.bytes as u64)?;
        let allocation = memory.address();
        let place = allocation + want.padding;
        let mapped = Mapped::new(want.base, range, place, want.name, Some(memory));
        let mapped = Arc::new(mapped);
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
                    place,
                    want.bytes,
                    counts.shown(false, ""),
                    want.name.shown(),
                ),
            );
        }
        let slot = Slot {
            counts,
            ending: 0,
            mapped: Arc::clone(&mapped),
        };
        match ranges.insert(range, slot) {
            Ok(_) => Ok(mapped),
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
            device: slot.mapped.at(begin),
            mapped: Arc::clone(&slot.mapped),
            copies: false,
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

    /// Whether all of a range is there.
    pub(crate) fn has(&self, begin: usize, bytes: usize) -> bool {
        let ranges = self.lock();
        find(&ranges, begin, bytes).is_some_and(|(_, _, is_whole)| is_whole)
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
            device: slot.mapped.at(begin),
            mapped: Arc::clone(&slot.mapped),
            copies: end.from && (is_last || end.always),
        };
        if used.copies && bytes > 0 {
            used.mapped.begin_return();
        }
        tell_existing(device, begin, bytes, &used, slot.counts, end.hold, action);
        Some(used)
    }

    /// A construct that has ended is done with the entry: it goes if that `may_go`, nobody
    /// has it mapped, and no other construct is still at it.
    pub(crate) fn settle(&self, device: &Device, mapped: &Arc<Mapped>, bytes: usize, may_go: bool) {
        let mut ranges = self.lock();
        let start = mapped.range().start();
        let Some(slot) = ranges.get_mut(start) else {
            return;
        };
        if !Arc::ptr_eq(&slot.mapped, mapped) {
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
                    mapped.device(),
                    mapped.name().shown(),
                ),
            );
        }
        let removed = ranges.remove(start);
        drop(ranges);
        // Freeing may take its time.
        drop(removed);
    }

    /// A variable of an image: it is there as long as the program, unless another image has
    /// it already. Returns it to be [forgotten](Self::forget) with its image.
    pub(crate) fn add_variable(
        &self,
        range: HostRange,
        device: u64,
        name: NameOf,
    ) -> Option<Arc<Mapped>> {
        let mut ranges = self.lock();
        // What is empty needs no place either.
        let slot = ranges
            .insert(range, Slot::always(range, device, name))
            .ok()?;
        Some(Arc::clone(&slot.mapped))
    }

    /// Associates what the program has put on the device itself.
    ///
    /// # Errors
    /// Other data is there already.
    pub(crate) fn associate(&self, range: HostRange, device: u64) -> Result<(), Refused> {
        let mut ranges = self.lock();
        if let Some((there, slot)) = ranges.get(range.start()) {
            if there == range && slot.mapped.device() == device {
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

    /// Forgets a variable of an image that goes.
    pub(crate) fn forget(&self, variable: &Arc<Mapped>) {
        let mut ranges = self.lock();
        let start = variable.range().start();
        let there = ranges.get(start);
        if there.is_some_and(|(_, slot)| Arc::ptr_eq(&slot.mapped, variable)) {
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
            let named = unsafe { Named::of(slot.mapped.name().0) };
            let declared = named.map_or_else(
                || "unknown at unknown:0:0".to_owned(),
                |named| format!("{} at {}", named.name, named.place),
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
    fn always(range: HostRange, device: u64, name: NameOf) -> Self {
        let mapped = Mapped::new(range.start(), range, device, name, None);
        mapped.set_ready(None);
        Self {
            counts: Counts {
                dynamic: Count::Always,
                hold: Count::Times(0),
            },
            ending: 0,
            mapped: Arc::new(mapped),
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
            (slot.mapped.base() <= begin).then_some((at.start(), at, true))
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::mapping::begin::Beginning;

    /// What a construct asks of `data` with `map(tofrom: ..)`.
    fn want(data: &[u8]) -> Want {
        Want {
            base: data.as_ptr().addr(),
            begin: data.as_ptr().addr(),
            bytes: data.len(),
            padding: 0,
            name: NameOf(std::ptr::null()),
            to: true,
            always: false,
            implicit: false,
            counts: true,
            present: false,
            hold: false,
            may_share: false,
        }
    }

    const LAST: End = End {
        counts: true,
        hold: false,
        delete: false,
        whole: true,
        from: true,
        always: false,
    };

    /// Begins a construct with `data`, and says what it found.
    fn begin(device: &Device, data: &[u8], beginning: &mut Beginning) -> Begun {
        let mut stream = Stream::new(device);
        // SAFETY: the test keeps the data.
        let begun = unsafe { beginning.map(device, &mut stream, &want(data)) };
        begun.expect("it can be mapped")
    }

    fn finish(device: &Device, beginning: Beginning) {
        // SAFETY: nothing is attached.
        let finished = unsafe { beginning.finish(device, &mut Stream::new(device)) };
        finished.expect("there is nothing to fail");
    }

    fn is_made(begun: &Begun) -> bool {
        matches!(begun, Begun::There { is_made: true, .. })
    }

    #[test]
    fn others_wait_for_what_is_being_made() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let mut first = Beginning::default();
        assert!(is_made(&begin(&device, &data, &mut first)));
        let started = Barrier::new(2);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut second = Beginning::default();
                assert!(!is_made(&begin(&device, &data, &mut second)));
                started.wait();
                finish(&device, second);
            });
            started.wait();
            // Long enough for whoever does not wait.
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
            let mut beginning = Beginning::default();
            assert!(is_made(&begin(&device, own, &mut beginning)));
            both.wait();
            assert!(!is_made(&begin(&device, other, &mut beginning)));
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
        let mut first = Beginning::default();
        begin(&device, &data, &mut first);
        finish(&device, first);
        let ended = device.table.end(&device, start, data.len(), &LAST).unwrap();
        assert!(ended.copies);
        let started = Barrier::new(2);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut second = Beginning::default();
                assert!(
                    !is_made(&begin(&device, &data, &mut second)),
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
                .settle(&device, &ended.mapped, data.len(), true);
            ended.mapped.end_return();
            second.join().unwrap();
        });
        // The second has it mapped, so it has stayed.
        assert!(device.table.find(&device, start, 1, true).is_some());
    }

    #[test]
    fn it_goes_when_the_last_construct_at_its_end_has_settled() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let (start, bytes) = (data.as_ptr().addr(), data.len());
        let mut beginning = Beginning::default();
        begin(&device, &data, &mut beginning);
        begin(&device, &data, &mut beginning);
        finish(&device, beginning);
        let first = device.table.end(&device, start, bytes, &LAST).unwrap();
        let last = device.table.end(&device, start, bytes, &LAST).unwrap();
        assert!(!first.copies && last.copies);
        last.mapped.end_return();
        device.table.settle(&device, &last.mapped, bytes, true);
        let there = |device: &Device| device.table.find(device, start, bytes, true).is_some();
        assert!(there(&device), "another construct is still at it");
        device.table.settle(&device, &first.mapped, bytes, true);
        assert!(!there(&device));
    }

    #[test]
    fn an_image_takes_its_own_variables_alone() {
        let device = Device::open(0, "host").unwrap();
        let data = [7; 64];
        let range = HostRange::of(&data);
        let name = NameOf(std::ptr::null());
        let first = device.table.add_variable(range, 0x1000, name);
        let second = device.table.add_variable(range, 0x2000, name);
        assert!(second.is_none(), "another image has it");
        let found = device.table.find(&device, range.start(), 1, true);
        assert_eq!(found.unwrap().device, 0x1000);
        device.table.forget(&first.unwrap());
        assert!(device.table.find(&device, range.start(), 1, true).is_none());
    }
}
