//! Producer of [`native`](shared_abi::wire::native). docs/native-wire.md specifies the protocol.

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::native::{
    HEADER_ROWS, MAX_ARGS, MAX_LANES_WITH_SUMMARY, MapEntry, PLACE_DEVICE, PLACE_SLOT, ROW,
    ROW_DATA, RequestMeta, Summary, WRITTEN_BITS, cell, cell_data, is_at_wrap, is_list_in_slot,
    progress_offset, replies_offset, reply_payload_row, row_offset, slot_offset,
};
use shared_abi::words::{Store, SystemWords};

use super::Wire;
use crate::arch::{self, DeviceMemory, Mapped};
use crate::bounce::{self, Extent};
use crate::call::Call;
use crate::claims::{self, Claim};
use crate::host_written::RuntimeConfig;
use crate::lanes::{self, Lanes};
use crate::marshal::native::{Layout, Placement, Reach};
use crate::wake::wake_host;

/// Calls through a slot for the lanes that call together.
pub(crate) struct Native;

impl Wire for Native {
    const KIND: WireKind = WireKind::NATIVE;

    #[inline(always)]
    fn call(runtime: &RuntimeConfig, call: Call, report: impl Fn(Status) + Copy) {
        let count = call.args.count();
        if count > MAX_ARGS {
            return report(Status::REFUSED_MAPPING);
        }
        let mut layout = Layout::new(count, call.spaces);
        for i in 0..count {
            layout.next(call.args.get(i));
        }
        if layout.is_too_large() {
            return report(Status::REFUSED_MAPPING);
        }
        let Some(blocks) = bounce::blocks_for(layout.bounce_bytes(), runtime.bounce_blocks())
        else {
            return report(Status::REFUSED_MAPPING);
        };
        let (rows, is_short) = (layout.request_rows(), layout.is_short());
        let reply_rows = layout.reply_rows();
        let is_ordered = call.orders_memory || layout.has_outside_ranges();

        lanes::waterfall(|lanes| {
            // A lane that waits for a slot while it owns an extent would delay the neighbours that
            // have a slot, and a long request leaves no room for others. Such lanes go one at a
            // time, and the others together.
            let alone = blocks != 0 || !is_short;
            // SAFETY: `waterfall` calls this in all of `lanes` together.
            let first_alone = unsafe { lanes.first(u32::from(alone)) } != 0;
            if alone != first_alone || (alone && !lanes.is_first()) {
                return None;
            }
            let lanes = if alone {
                Lanes::alone()
            } else {
                Lanes::active_lanes()
            };
            let request = Request {
                runtime,
                call,
                rows,
                reply_rows,
                is_ordered,
                lanes,
            };
            // SAFETY: the lane alone; or the lanes that queried the active ones together, all of
            // which run the same code up to each warp operation.
            unsafe { request.submit_and_wait(blocks, report) };
            Some(())
        });
    }
}

/// The request of one of the lanes that call together.
///
/// It keeps nothing that can be computed again: on a GPU, reading the host's variables and
/// walking the arguments once more is cheaper than registers that keep both while the call
/// waits.
pub(super) struct Request<'a, S> {
    pub(super) runtime: &'a RuntimeConfig,
    pub(super) call: Call<S>,
    pub(super) rows: u32,
    pub(super) reply_rows: u32,
    /// Whether the request orders memory outside its slot.
    pub(super) is_ordered: bool,
    pub(super) lanes: Lanes,
}

impl<S: Reach> Request<'_, S> {
    /// Claims a slot and an extent of `blocks`, publishes the request, and waits for the reply.
    ///
    /// # Safety
    /// All of `lanes`, and no others, call this together.
    #[inline(always)]
    unsafe fn submit_and_wait(self, blocks: u32, report: impl Fn(Status)) {
        let (lanes, home) = (self.lanes, self.call.home_group);
        let (slots, bounce_blocks) = (self.runtime.slots(), self.runtime.bounce_blocks());
        let (device, pause) = (self.device(), arch::pause);
        let extent = bounce::claim(&device, slots, bounce_blocks, blocks, home, pause);
        // SAFETY: the caller's promise.
        let claim = unsafe { claims::claim(&device, slots, home, lanes, pause) };
        let at = LaneRows {
            claim,
            rank: lanes.rank(),
            count: lanes.count(),
        };

        self.write_request(at, extent);
        wake_host(self.runtime);

        // SAFETY: the caller's promise.
        let is_any_ordered = unsafe { lanes.any(self.is_ordered) };
        let mut waiting = lanes;
        let mut done = 0;
        loop {
            let mut cells = [0; 2];
            if waiting.is_first() {
                let is_enough = |now: u64| {
                    if arch::independent_lanes() {
                        // They return as soon as their own replies have come.
                        now != done
                    } else {
                        now.count_ones() == at.count
                    }
                };
                cells = self.producer().wait(at, is_enough, |attempt| {
                    self.producer().prefetch_reply(at, self.reply_rows);
                    arch::pause(attempt);
                });
                self.producer().acquire(at, is_any_ordered);
            }
            // SAFETY: `waiting` are the lanes in this loop: it has the same value in all of them,
            // computed from the set that the first lane broadcast, and the others have left.
            // `converge` passes on what the first lane acquired.
            let progress = unsafe {
                waiting.converge();
                Progress::new(cells.map(|cell| waiting.first(cell)), at.count)
            };
            done = progress.done;
            let is_done = done >> at.rank & 1 != 0;
            if is_done {
                let reply = match progress.reply {
                    Some(reply) => reply,
                    None => self.producer().reply(at, |_| {}),
                };
                report(reply.status);
                self.read_results(at, extent, reply.written);
            }
            // SAFETY: see above. The release comes after the loads of all lanes.
            let rest = unsafe {
                waiting.converge();
                waiting.filter(!is_done)
            };
            if rest.count() == 0 && waiting.is_first() {
                claims::release(&self.device(), claim);
            }
            if is_done {
                bounce::release(&self.device(), self.runtime.slots(), extent);
                return;
            }
            waiting = rest;
        }
    }

    /// Writes the request, its header last.
    #[inline(always)]
    pub(super) fn write_request(&self, at: LaneRows, extent: Extent) {
        let producer = self.producer();
        let count = self.call.args.count();
        producer.prefetch_request(at, self.rows);
        let mut rows = producer.request(at);
        rows.skip(HEADER_ROWS);
        if extent.blocks != 0 {
            rows.push([extent.first, extent.blocks]);
        }
        each_entry(self.call, |i, (addr, size, kind), placement| {
            let entry = MapEntry {
                addr,
                size,
                kind: kind.0,
                place: placement.place,
                offset: placement.offset,
            };
            if is_list_in_slot(count) {
                rows.push_entry(&entry);
            } else {
                let list = extent.offset() + i as usize * size_of::<MapEntry>();
                for (word, value) in entry_words(&entry).into_iter().enumerate() {
                    // Relaxed: N1 orders it.
                    self.bounce()
                        .store64(list + word * 8, value, Store::Relaxed);
                }
            }
            if placement.place != PLACE_DEVICE && kind.reads_device() {
                // A marshalled range is at most as long as an extent.
                let (from, len) = (addr as *const u8, size as u32);
                let offset = extent.offset() + placement.offset as usize;
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
                unsafe {
                    if placement.place == PLACE_SLOT {
                        rows.push_bytes(from, len);
                    } else {
                        self.bounce().write_bytes(offset, from, len as usize);
                    }
                }
            }
        });
        producer.release(at, self.is_ordered);
        let meta = RequestMeta::new(at.count, self.rows, extent.blocks != 0, count);
        // The host polls the first row: when it arrives, the others probably have.
        let mut second = producer.request(at);
        second.skip(1);
        second.push(halves(self.call.func));
        producer.request(at).push([meta.0, self.call.launch]);
    }

    /// Copies back the marshalled bytes that the host changed: those of the entries whose bits are
    /// set in `written`.
    #[inline(always)]
    pub(super) fn read_results(&self, at: LaneRows, extent: Extent, written: u32) {
        let mut written = u64::from(written);
        if self.call.args.count() > WRITTEN_BITS {
            written |= self.producer().written_high(at, |_| {});
        }
        if written == 0 {
            return;
        }
        let producer = self.producer();
        let mut rows = producer.reply_rows(at);
        rows.skip(reply_payload_row(self.call.args.count()));
        each_entry(self.call, |_, (addr, size, kind), placement| {
            if placement.place == PLACE_DEVICE || !kind.writes_device() {
                return;
            }
            let is_written = written & (1 << placement.index) != 0;
            // A marshalled range is at most as long as an extent.
            let (to, len) = (addr as *mut u8, size as u32);
            let offset = extent.offset() + placement.offset as usize;
            // SAFETY: the caller of `GOMP_target_ext` vouches for the range, which is writable by its
            // kind.
            unsafe {
                if placement.place == PLACE_SLOT {
                    rows.pull_bytes(is_written, to, len, |_| {});
                } else if is_written {
                    self.bounce().read_bytes(offset, to, len as usize);
                }
            }
        });
    }

    #[inline(always)]
    pub(super) fn producer(&self) -> Producer<Mapped> {
        let (wire, lanes) = (self.runtime.wire(), self.runtime.lanes());
        // SAFETY: the host filled `runtime` with the address of a wire with slots for that many
        // lanes, which it keeps while kernels of this image run.
        Producer::new(unsafe { arch::mapped(wire) }, lanes)
    }

    #[inline(always)]
    fn bounce(&self) -> Mapped {
        // SAFETY: the host wrote the address of the bounce area, which it keeps while kernels of
        // this image run.
        unsafe { arch::mapped(self.runtime.bounce()) }
    }

    #[inline(always)]
    pub(super) fn device(&self) -> DeviceMemory {
        // SAFETY: the host wrote the address of the claims, which it keeps while kernels of this
        // image run.
        unsafe { arch::device_memory(self.runtime.claims()) }
    }
}

/// Walks the layout of a call, whose arguments all fit.
#[inline(always)]
fn each_entry<S: Reach>(call: Call<S>, mut visit: impl FnMut(u32, (u64, u64, MapKind), Placement)) {
    let mut layout = Layout::new(call.args.count(), call.spaces);
    for i in 0..call.args.count() {
        let argument = call.args.get(i);
        visit(i, argument, layout.next(argument));
    }
}

/// The rows of one of the lanes that call together in a claimed slot.
#[derive(Clone, Copy, Debug)]
pub struct LaneRows {
    /// The slot, and the sequence number of its requests.
    pub claim: Claim,
    /// The number of lanes before this one.
    pub rank: u32,
    /// The number of lanes.
    pub count: u32,
}

/// The reply to a lane's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The end of the request.
    pub status: Status,
    /// The first marshalled ranges that the host has written, one bit each.
    pub written: u32,
}

/// The replies to the lanes that call together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lanes whose replies have come, one bit for each rank.
    pub done: u64,
    /// The reply, if all of these have the same one and it is known.
    pub reply: Option<Reply>,
}

impl Progress {
    /// That of `count` lanes, by the data of the row that they poll.
    #[inline(always)]
    #[must_use]
    pub fn new([first, second]: [u32; 2], count: u32) -> Self {
        if count == 1 {
            let reply = Reply {
                status: Status(first),
                written: second,
            };
            return Self {
                done: 1,
                reply: Some(reply),
            };
        }
        if count > MAX_LANES_WITH_SUMMARY {
            return Self {
                done: u64::from(first) | u64::from(second) << 32,
                reply: None,
            };
        }
        let summary = Summary(second);
        Self {
            done: first.into(),
            reply: summary.applies_to(first.count_ones()).then_some(Reply {
                status: summary.status(),
                written: summary.written(),
            }),
        }
    }
}

/// Rows of a reply that a lane loads before it uses the first: over a bus, one load takes as long as
/// all.
const IN_FLIGHT: usize = 4;

/// The device's end of the wire.
#[derive(Clone, Copy, Debug)]
pub struct Producer<S> {
    system: S,
    lanes: u32,
}

impl<S: SystemWords> Producer<S> {
    /// Rows of a lone lane in a cache line.
    const LINE_ROWS: u32 = (S::LINE / ROW) as u32;

    /// The wire in `system`, with slots for up to `lanes` lanes.
    pub const fn new(system: S, lanes: u32) -> Self {
        Self { system, lanes }
    }

    /// The memory that the wire lies in.
    pub const fn system(&self) -> &S {
        &self.system
    }

    /// Orders what the caller wrote before with the header of the request, which it writes later, if
    /// `is_ordered`.
    #[inline(always)]
    pub fn release(&self, at: LaneRows, is_ordered: bool) {
        if is_ordered || is_at_wrap(at.claim.seq) {
            // Edge `N1`, publishing end: a host that sees the header sees the extent, and what this
            // lane wrote to device memory.
            self.system.release_fence();
        }
    }

    /// The rows of a lane's request, from the first on.
    #[inline(always)]
    pub fn request(&self, at: LaneRows) -> Rows<S> {
        self.rows(at, 0)
    }

    /// The rows of the reply to a lane, from the first on.
    #[inline(always)]
    pub fn reply_rows(&self, at: LaneRows) -> Rows<S> {
        self.rows(at, replies_offset(self.lanes))
    }

    #[inline(always)]
    fn rows(&self, at: LaneRows, area: usize) -> Rows<S> {
        let first =
            slot_offset(self.lanes, at.claim.slot) + area + row_offset(0, at.rank, at.count);
        Rows {
            system: self.system.at_offset(first),
            step: row_offset(1, 0, at.count) as u32,
            seq: at.claim.seq,
        }
    }

    /// Prepares to store the rows of a request after those that share a cache line with the first, which
    /// the host polls.
    #[inline(always)]
    fn prefetch_request(&self, at: LaneRows, rows: u32) {
        if !S::PREFETCHES {
            return;
        }
        let slot = slot_offset(self.lanes, at.claim.slot);
        for row in (Self::LINE_ROWS..rows).step_by(Self::LINE_ROWS as usize) {
            let offset = slot + row_offset(row, at.rank, at.count);
            self.system.prefetch_to_store(offset);
        }
    }

    /// Begins to load the rows of a reply after those that share a cache line with the first, which
    /// is polled.
    #[inline(always)]
    fn prefetch_reply(&self, at: LaneRows, rows: u32) {
        if !S::PREFETCHES {
            return;
        }
        for row in (Self::LINE_ROWS..rows).step_by(Self::LINE_ROWS as usize) {
            self.system.prefetch(self.reply_offset(at, row));
        }
    }

    /// Byte offset of a row of the reply.
    #[inline(always)]
    fn reply_offset(&self, at: LaneRows, row: u32) -> usize {
        slot_offset(self.lanes, at.claim.slot)
            + replies_offset(self.lanes)
            + row_offset(row, at.rank, at.count)
    }

    /// Waits for replies until `is_enough` of the set of ranks that have them. Returns the data of the
    /// row that lanes poll, which is one for [`Progress::new`].
    #[inline(always)]
    pub fn wait(
        &self,
        at: LaneRows,
        is_enough: impl Fn(u64) -> bool,
        pause: impl Fn(u32),
    ) -> [u32; 2] {
        let mut attempt = 0;
        loop {
            if let Some(cells) = self.row(at, self.polled_offset(at))
                && is_enough(Progress::new(cells, at.count).done)
            {
                return cells;
            }
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }

    /// The reply to a lane that is done.
    #[inline(always)]
    pub fn reply(&self, at: LaneRows, pause: impl Fn(u32)) -> Reply {
        let [status, written] = self.arrived_row(at, 0, pause);
        Reply {
            status: Status(status),
            written,
        }
    }

    /// The written ranges that do not fit in row 0, in their bits. The lane is done.
    #[inline(always)]
    pub fn written_high(&self, at: LaneRows, pause: impl Fn(u32)) -> u64 {
        let [high, _] = self.arrived_row(at, 1, pause);
        u64::from(high) << WRITTEN_BITS
    }

    /// A row of the reply to a lane that is done. It may arrive a little later.
    #[inline(always)]
    pub(super) fn arrived_row(&self, at: LaneRows, row: u32, pause: impl Fn(u32)) -> [u32; 2] {
        let mut attempt = 0;
        loop {
            if let Some(cells) = self.row(at, self.reply_offset(at, row)) {
                return cells;
            }
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }

    /// The data of the row at byte offset `offset`, if it has arrived.
    #[inline(always)]
    pub(super) fn row(&self, at: LaneRows, offset: usize) -> Option<[u32; 2]> {
        let [first, second] = S::join_loads(self.system.load_pair(offset));
        Some([
            cell_data(first, at.claim.seq)?,
            cell_data(second, at.claim.seq)?,
        ])
    }

    /// Byte offset of the row that the lanes poll.
    #[inline(always)]
    pub(super) fn polled_offset(&self, at: LaneRows) -> usize {
        if at.count == 1 {
            self.reply_offset(at, 0)
        } else {
            slot_offset(self.lanes, at.claim.slot) + progress_offset(self.lanes)
        }
    }

    /// Orders what the host wrote before the replies that [`wait`](Self::wait) found with later
    /// accesses, if `is_ordered`.
    #[inline(always)]
    pub fn acquire(&self, at: LaneRows, is_ordered: bool) {
        if is_ordered || is_at_wrap(at.claim.seq) {
            // Edge `N2`, waiting end: the results in the extent and in device memory precede the
            // cells that `wait` found. A fence costs no round trip here: the request's stores have
            // arrived, or there would be no reply.
            self.system.acquire_fence();
        }
    }
}

/// A position among the rows of a lane.
#[derive(Debug)]
pub struct Rows<S> {
    /// The memory from the next row on.
    system: S,
    /// Bytes from one row to the next.
    step: u32,
    seq: u32,
}

impl<S: SystemWords> Rows<S> {
    /// Skips `count` rows.
    #[inline(always)]
    pub fn skip(&mut self, count: u32) {
        self.system = self.system.at_offset(count as usize * self.step as usize);
    }

    /// Stores the data of a row.
    #[inline(always)]
    pub fn push(&mut self, data: [u32; 2]) {
        // Relaxed: each cell carries its sequence number.
        let cells = data.map(|data| cell(data, self.seq));
        self.system.store_pair(0, cells);
        self.skip(1);
    }

    /// Stores an entry.
    #[inline(always)]
    pub fn push_entry(&mut self, entry: &MapEntry) {
        for word in entry_words(entry) {
            self.push(halves(word));
        }
    }

    /// Stores `len` bytes.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    #[inline(always)]
    pub unsafe fn push_bytes(&mut self, from: *const u8, len: u32) {
        let (mut from, mut left) = (from, len);
        while left > 0 {
            // SAFETY: `left` bytes are there, for which the caller vouches.
            let word = unsafe { read_word(from, left as usize) };
            self.push(halves(word));
            from = from.wrapping_add(ROW_DATA);
            left = left.saturating_sub(ROW_DATA as u32);
        }
    }

    /// Loads `len` bytes and writes them to `to` if `is_written`, or skips them. Waits with `pause` for
    /// rows that arrive after the completion.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    #[inline(always)]
    pub unsafe fn pull_bytes(
        &mut self,
        is_written: bool,
        to: *mut u8,
        len: u32,
        pause: impl Fn(u32),
    ) {
        let (mut to, mut left) = (to, len);
        if !is_written {
            return self.skip(left.div_ceil(ROW_DATA as u32));
        }
        let mut attempt = 0;
        while left > 0 {
            let is_used = |i| i * ROW_DATA < left as usize;
            let mut row = self.system.at_offset(0);
            let pairs: [[u64; 2]; IN_FLIGHT] = core::array::from_fn(|i| {
                let pair = if is_used(i) {
                    row.load_pair(0)
                } else {
                    [cell(0, self.seq); 2]
                };
                row = row.at_offset(self.step as usize);
                pair
            });
            let is_there = |&cell: &u64| cell_data(cell, self.seq).is_some();
            if !pairs.iter().flatten().all(is_there) {
                pause(attempt);
                attempt = attempt.saturating_add(1);
                continue;
            }
            for (i, [low, high]) in pairs.into_iter().enumerate() {
                if is_used(i) {
                    let word = u64::from(low as u32) | u64::from(high as u32) << 32;
                    // SAFETY: `left` bytes are there, for which the caller vouches.
                    unsafe { write_word(to.add(i * ROW_DATA), word, left as usize - i * ROW_DATA) };
                }
            }
            self.skip(left.div_ceil(ROW_DATA as u32).min(IN_FLIGHT as u32));
            to = to.wrapping_add(IN_FLIGHT * ROW_DATA);
            left = left.saturating_sub((IN_FLIGHT * ROW_DATA) as u32);
        }
    }
}

/// A word as the data of a row.
#[inline(always)]
const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// An entry as words.
#[inline(always)]
const fn entry_words(entry: &MapEntry) -> [u64; 3] {
    let tail = entry.kind as u64 | (entry.place as u64) << 16 | (entry.offset as u64) << 32;
    [entry.addr, entry.size, tail]
}

/// The 8 bytes at `from`, or the `len` that are there and zeros.
///
/// # Safety
/// `from` is readable for 8 or `len` bytes, whichever is less.
#[inline(always)]
unsafe fn read_word(from: *const u8, len: usize) -> u64 {
    // SAFETY: the caller's promise, and each read is inside and aligned for its type.
    unsafe {
        if len >= 8 && arch::HAS_UNALIGNED {
            return from.cast::<u64>().read_unaligned();
        }
        if len >= 8 && from.addr().is_multiple_of(8) {
            return from.cast::<u64>().read();
        }
        // Shifts by constants, of half a word, take few registers.
        let mut halves = [0; 2];
        for i in 0..8 {
            if i < len {
                halves[i / 4] |= u32::from(from.add(i).read()) << (8 * (i % 4));
            }
        }
        u64::from(halves[0]) | u64::from(halves[1]) << 32
    }
}

/// Writes `word` to `to`, or its first `len` bytes.
///
/// # Safety
/// `to` is writable for 8 or `len` bytes, whichever is less.
#[inline(always)]
unsafe fn write_word(to: *mut u8, word: u64, len: usize) {
    // SAFETY: the caller's promise, and each write is inside and aligned for its type.
    unsafe {
        if len >= 8 && arch::HAS_UNALIGNED {
            return to.cast::<u64>().write_unaligned(word);
        }
        if len >= 8 && to.addr().is_multiple_of(8) {
            return to.cast::<u64>().write(word);
        }
        let halves = halves(word);
        for i in 0..8 {
            if i < len {
                to.add(i).write((halves[i / 4] >> (8 * (i % 4))) as u8);
            }
        }
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(
        offset_of!(MapEntry, size) == 8
            && offset_of!(MapEntry, kind) == 16
            && offset_of!(MapEntry, place) == 18
            && offset_of!(MapEntry, offset) == 20
            && cfg!(target_endian = "little")
    );
};
