//! The host's accesses, inferred from memory.
//!
//! Its accesses cannot be observed. But if a word differs from the value that the device last
//! stored or loaded there, the host has written it since; and the host may have rewritten an equal
//! value. Its accesses are assumed to be strong, its stores to release and its loads to acquire
//! everything, all at system scope.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::host_view::View;
use super::party::Party;
use super::{Cell, Checker, Clock, Report, lock};

/// The host's clock, assuming that it has observed everything that was released to it.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) clock: Arc<Clock>,
    pub(super) running: BTreeSet<u64>,
}

/// A page of mapped memory.
const PAGE: usize = 4096;

/// Mapped memory, and a snapshot at the last begin of a launch.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// The size and host address of each block, by its address.
    blocks: Mutex<BTreeMap<u64, (u64, HostPointer)>>,
    then: Mutex<Then>,
}

#[derive(Debug, Default)]
struct Then {
    at: u64,
    /// Pages that are not all zeros.
    pages: HashMap<u64, Box<[u8; PAGE]>>,
}

/// The host address of a block.
#[derive(Clone, Copy, Debug)]
struct HostPointer(NonNull<u8>);

// SAFETY: it is dereferenced by `byte` and `word` only, with atomic loads.
unsafe impl Send for HostPointer {}

impl HostPointer {
    /// # Safety
    /// The block is allocated and has that many bytes, and seven more.
    unsafe fn word(self, at: u64) -> u64 {
        // SAFETY: blocks are aligned, and as for `byte`.
        let word = unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(at as usize).cast()) };
        // Relaxed: a concurrent change of the host counts as before or after.
        word.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The block is allocated and has that many bytes.
    unsafe fn byte(self, at: u64) -> u8 {
        // SAFETY: inside, by the caller's promise; device threads use it with atomic operations,
        // and the host treats it as memory shared with a device.
        let byte = unsafe { AtomicU8::from_ptr(self.0.as_ptr().add(at as usize)) };
        // Relaxed: as for `word`.
        byte.load(Ordering::Relaxed)
    }
}

impl Mapped {
    pub(super) fn add(&self, address: u64, bytes: u64, host: NonNull<u8>) {
        lock(&self.blocks).insert(address, (bytes, HostPointer(host)));
    }

    /// Forgets memory that is about to be freed; the next block there is zeroed.
    pub(super) fn forget(&self, address: u64, bytes: u64) {
        if lock(&self.blocks).remove(&address).is_none() {
            return;
        }
        let mut then = lock(&self.then);
        for at in address..address + bytes {
            if let Some(page) = then.pages.get_mut(&(at / PAGE as u64)) {
                page[at as usize % PAGE] = 0;
            }
        }
    }
}

impl Checker {
    /// Memory is mapped, at `host` for the host, until it is [forgotten](Self::forget). Its size is rounded up to
    /// whole words of eight bytes.
    ///
    /// # Safety
    /// It stays allocated until then, and the host changes it with atomic operations, or as memory that it shares
    /// with a device.
    pub unsafe fn map(&self, address: u64, bytes: u64, host: NonNull<u8>) {
        self.mapped.add(address, bytes, host);
    }

    /// The view of a cell that the device has not used yet.
    pub(super) fn first_view(&self, address: u64) -> View {
        if !self.rules.registers_mapped || !(self.rules.is_mapped)(address) {
            return View::new();
        }
        let then = lock(&self.mapped.then);
        let page = then.pages.get(&(address / PAGE as u64));
        let at = address as usize % PAGE;
        let there = page.map_or(&[0; 8][..], |page| &page[at..at + 8]);
        let mut value = [0; 8];
        value.copy_from_slice(there);
        View::of(value, then.at)
    }

    /// Takes a snapshot of all mapped memory, so that later changes are known to be later.
    pub(super) fn look_at_mapped(&self) {
        // Nothing is freed while this is held.
        let blocks = lock(&self.mapped.blocks);
        let at = self.tick();
        let mut then = Then {
            at,
            pages: HashMap::new(),
        };
        for (&address, &(bytes, host)) in &*blocks {
            for offset in (0..bytes).step_by(8) {
                // SAFETY: the block is not freed yet, and its size is rounded up.
                let word = unsafe { host.word(offset) };
                if word != 0 {
                    let place = address + offset;
                    let page = then.pages.entry(place / PAGE as u64);
                    let page = page.or_insert_with(|| Box::new([0; PAGE]));
                    let at = place as usize % PAGE;
                    page[at..at + 8].copy_from_slice(&word.to_ne_bytes());
                }
            }
        }
        *lock(&self.mapped.then) = then;
        for (&address, &(bytes, host)) in &*blocks {
            self.each(
                address,
                bytes,
                |start, cell| {
                    self.host_changed(start, cell, |at| {
                        let offset = at.checked_sub(address).filter(|&o| o < bytes)?;
                        // SAFETY: the block is not freed yet, and `offset` is inside.
                        Some(unsafe { host.byte(offset) })
                    })
                },
                false,
            );
        }
    }

    /// Detects the host's changes of a cell, and checks them.
    fn host_changed(
        &self,
        start: u64,
        cell: &mut Cell,
        byte: impl Fn(u64) -> Option<u8>,
    ) -> Option<(u64, Report)> {
        let view = cell.view.as_mut()?;
        let now = self.tick();
        let mut changed = 0;
        for at in start..start + 8 {
            if let Some(value) = byte(at) {
                changed |= view.observe(at, 1 << (at - start), u64::from(value), now);
            }
        }
        self.host_did(start, cell, changed, true)
    }

    fn host_did(&self, start: u64, cell: &Cell, mask: u8, wrote: bool) -> Option<(u64, Report)> {
        if mask == 0 {
            return None;
        }
        let found = cell.unknown_to_host(mask, wrote, &lock(&self.host).clock)?;
        let range = (start + u64::from(mask.trailing_zeros()), mask.count_ones());
        let host = if wrote { Party::Host } else { Party::HostReads };
        let launch = found.party.launch();
        Some((launch, self.report(found.race, range, found.party, host)))
    }

    /// The host has written to a range, whose bytes are at `resolve` for the host; none where there is no memory.
    pub fn host_wrote(
        &self,
        address: u64,
        bytes: u64,
        resolve: impl Fn(u64) -> Option<NonNull<u8>>,
    ) {
        if lock(&self.host).running.is_empty() {
            return;
        }
        // Cells that no device thread has used are recorded only up to this size.
        let is_noted = bytes <= 1 << 20;
        let end = address + bytes;
        for start in (address / 8 * 8..end).step_by(8) {
            let mut shard = self.shard(start / 8);
            if !is_noted && !shard.contains_key(&(start / 8)) {
                continue;
            }
            let cell = shard.entry(start / 8).or_default();
            let is_new = cell.view.is_none();
            let first = || Box::new(self.first_view(start));
            let view = cell.view.get_or_insert_with(first);
            let now = self.tick();
            for at in start.max(address)..end.min(start + 8) {
                view.by_host |= 1 << (at - start);
                if is_new {
                    view.written_after[(at - start) as usize] = now;
                }
            }
            let report = self.host_changed(start, cell, |at| {
                let is_inside = (address..end).contains(&at);
                let place = is_inside.then(|| resolve(at)).flatten()?;
                // SAFETY: it is allocated, and shared with the device by atomic
                // operations.
                Some(unsafe { HostPointer(place).byte(0) })
            });
            drop(shard);
            self.note(report);
        }
    }

    /// The host has read a range.
    pub fn host_read(&self, address: u64, bytes: u64) {
        if lock(&self.host).running.is_empty() {
            return;
        }
        self.each(
            address,
            bytes,
            |start, cell| {
                let now = self.tick();
                let mut mask = 0;
                for at in start.max(address)..(address + bytes).min(start + 8) {
                    mask |= 1 << (at - start);
                    if let Some(view) = &mut cell.view {
                        view.read_at[(at - start) as usize] = now;
                    }
                }
                self.host_did(start, cell, mask, false)
            },
            false,
        );
    }

    /// Visits all used cells of a range, and records races; optionally removes the cells.
    pub(super) fn each(
        &self,
        address: u64,
        bytes: u64,
        mut what: impl FnMut(u64, &mut Cell) -> Option<(u64, Report)>,
        gone: bool,
    ) {
        let (first, last) = (address / 8, (address + bytes.max(1) - 1) / 8);
        for shard in &self.shards {
            let mut shard = lock(shard);
            let mut visit = |at: u64, cell: &mut Cell| {
                let report = what(at * 8, cell);
                self.note(report);
            };
            // Iterates over the smaller set.
            if ((last - first) as usize) < shard.len() {
                for at in first..=last {
                    if let Some(cell) = shard.get_mut(&at) {
                        visit(at, cell);
                    }
                }
            } else {
                for (&at, cell) in shard.iter_mut() {
                    if (first..=last).contains(&at) {
                        visit(at, cell);
                    }
                }
            }
            if gone {
                shard.retain(|at, _| !(first..=last).contains(at));
            }
        }
    }

    fn note(&self, report: Option<(u64, Report)>) {
        if let Some((launch, report)) = report {
            self.first(launch, report);
        }
    }
}
