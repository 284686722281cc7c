//! Asynchronous copies, and the `mbarrier` objects that threads and copies arrive at.
//!
//! The order of `mbarrier` operations (`.release`, `.acquire`, `.relaxed`) makes no difference: one OS
//! thread runs a block, and its operations are in one order. A phase's threads are ordered before all
//! that see its end, as if each operation had the strongest order.

use std::time::{Duration, Instant};

use device_arena::AccessKind;
use race_check::Site;

use super::atomic::combine;
use super::block_state::{BlockState, MbarrierWait};
use super::checked_memory::{CheckedMemory, place_of};
use super::copies::{CopyAddress, Pending, QueueKind, ThreadId, TrackedCopy};
use super::fault::{Faults, LaneFault};
use super::group::State;
use super::launch::Launch;
use super::mbarrier::{MAX_COUNT, Mbarrier};
use super::memory_ref::MemoryRef;
use super::space::{Access, Spaces, shared_offset};
use super::warp::Warp;
use crate::alu::{LANES, Mask, lanes_of};
use crate::check;
use crate::code::asynchronous::{Async, AsyncCopy, AsyncStore, BulkCopy, MbarrierOp, Phase};
use crate::code::op::{Address, Pc, Semantics, Src, StateSpace};
use crate::error::{FaultKind, MbarrierError};
use crate::memory::SHARED;

/// How long lanes that wait for an `mbarrier` leave the processor to others.
const SUSPENSION: Duration = Duration::from_micros(1);

/// Bytes of an `mbarrier`.
const MBARRIER_BYTES: u32 = 8;

const MBARRIER_ACCESS: Access = Access::atomic(MBARRIER_BYTES);

/// Bytes of which bulk copies copy a multiple.
const BULK_BYTES: u64 = 16;

/// Executes `op` for lanes of the group at `at`, and moves the group on.
pub(super) fn execute(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    at: usize,
    active: Mask,
    op: &Async,
) -> Result<(), LaneFault> {
    let (pc, id) = (warp.groups[at].pc, warp.groups[at].frame);
    let number = warp.frames.get(id).function;
    warp.groups[at].pc += 1;
    let mut lanes = AsyncExecutor {
        warp,
        block,
        launch,
        place: (number, pc),
        group: at,
        changed: 0,
        polled: None,
        passed: 0,
    };
    let result = lanes.execute(active, op);
    let AsyncExecutor {
        changed,
        polled,
        passed,
        ..
    } = lanes;
    note(warp, block, launch, at, (changed, polled));
    let Async::Mbarrier {
        op: MbarrierOp::Test { p, may_suspend, .. },
        ..
    } = op
    else {
        return result;
    };
    if let Some(p) = p {
        warp.frames.get_mut(id).set_pred(*p, active, passed);
    }
    if *may_suspend && result.is_ok() && passed == 0 {
        warp.groups[at].polling.is_due = false;
        warp.groups[at].state = State::Sleeping {
            until: Instant::now() + SUSPENSION,
        };
    }
    result
}

/// Lanes end: copies that they have begun happen.
pub(super) fn finish(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    at: usize,
    lanes: Mask,
) -> Result<(), LaneFault> {
    if block.copies.is_empty() {
        return Ok(());
    }
    let number = warp.frames.get(warp.groups[at].frame).function;
    let mut all = AsyncExecutor {
        place: (number, warp.groups[at].pc),
        warp,
        block,
        launch,
        group: at,
        changed: 0,
        polled: None,
        passed: 0,
    };
    let mut faults = Faults::default();
    for lane in lanes_of(lanes) {
        let result = all.finish_lane(lane);
        faults.unless(lane, result);
    }
    faults.result()
}

/// Records the effects of an instruction for lanes that wait.
fn note(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    at: usize,
    (changed, polled): (Mask, Option<(u64, u64)>),
) {
    block.progress |= changed != 0;
    block.polls |= polled.is_some();
    if !warp.is_diverged() || (changed == 0 && polled.is_none()) {
        return;
    }
    let functions = &launch.module.functions;
    if changed != 0 {
        warp.changed_memory(at, changed, false);
    } else if let Some(polled) = polled {
        warp.record_poll(at, polled, functions);
    }
    warp.record_access(at, polled.map(|(place, _)| place), functions);
}

/// The lanes of a group that execute an instruction.
struct AsyncExecutor<'a> {
    warp: &'a mut Warp,
    block: &'a mut BlockState,
    launch: &'a Launch,
    /// Function and instruction.
    place: (u32, Pc),
    group: usize,
    /// Lanes that have changed memory.
    changed: Mask,
    /// The address and the value of an `mbarrier` whose phase is not complete.
    polled: Option<(u64, u64)>,
    /// Lanes whose phase is complete.
    passed: Mask,
}

impl AsyncExecutor<'_> {
    fn execute(&mut self, active: Mask, op: &Async) -> Result<(), LaneFault> {
        let mut faults = Faults::default();
        for lane in lanes_of(active) {
            let thread = (self.warp.number, lane);
            let result = match op {
                Async::Copy(copy) => self.begin_copy(thread, copy),
                Async::BulkCopy(copy) => self.begin_bulk(thread, copy),
                Async::Store(store) => self.begin_store(thread, store),
                Async::Commit => self.begin(thread, QueueKind::CpAsync, Pending::Commit),
                Async::BulkCommit => self.begin(thread, QueueKind::Bulk, Pending::Commit),
                Async::WaitGroup { pending } => self.wait(thread, QueueKind::CpAsync, *pending),
                Async::BulkWaitGroup { pending } => self.wait(thread, QueueKind::Bulk, *pending),
                Async::WaitAll => {
                    let all = self.block.copies.take_all(thread, QueueKind::CpAsync);
                    self.perform_all(thread, all)
                }
                Async::ArriveAfterCopies {
                    mbarrier,
                    is_expected,
                } => self.begin_arrival(thread, mbarrier, *is_expected),
                Async::Mbarrier { at, op } => self.mbarrier(lane, at, op),
            };
            faults.unless(lane, result);
        }
        faults.result()
    }

    fn value(&self, src: Src, lane: usize) -> u64 {
        let frame = self.warp.frames.get(self.warp.groups[self.group].frame);
        frame.src(src)[lane]
    }

    fn address(&self, at: &Address, lane: usize) -> u64 {
        let base = at.base.map_or(0, |base| self.value(base, lane));
        base.wrapping_add_signed(at.offset)
    }

    /// The instruction, for the checker.
    fn site(&self) -> Site {
        check::site(self.launch.module_id(), self.place.0, self.place.1)
    }

    /// Memory, for accesses of the instruction at `site`.
    fn words(&mut self, site: Site) -> CheckedMemory<'_> {
        CheckedMemory {
            spaces: Spaces::of(self.launch, &self.block.shared, &self.warp.local),
            clocks: self.block.clocks.as_mut(),
            site,
        }
    }

    /// A thread begins something. If it has begun very much, the oldest happens: hardware does not
    /// delay copies forever.
    fn begin(
        &mut self,
        thread: ThreadId,
        kind: QueueKind,
        pending: Pending,
    ) -> Result<(), FaultKind> {
        match self.block.copies.push(thread, kind, pending) {
            None => Ok(()),
            Some(oldest) => self.perform(thread, oldest),
        }
    }

    /// The same with bytes that an `mbarrier` counts.
    fn begin_counted(&mut self, counted: TrackedCopy) -> Result<(), FaultKind> {
        match self.block.copies.count(counted) {
            None => Ok(()),
            Some(oldest) => self.perform_counted(oldest),
        }
    }

    fn begin_copy(&mut self, thread: ThreadId, copy: &AsyncCopy) -> Result<(), FaultKind> {
        let (_, lane) = thread;
        let bytes = copy.bytes;
        let (to, from) = (self.address(&copy.to, lane), self.address(&copy.from, lane));
        let to = place_of(copy.to.space, to, Access::store(bytes))?;
        let from = place_of(copy.from.space, from, Access::load(bytes))?;
        let frame = self.warp.frames.get(self.warp.groups[self.group].frame);
        let is_ignored = copy
            .ignores_source
            .is_some_and(|p| (frame.pred(p) >> lane) & 1 != 0);
        let source_bytes = match copy.source_bytes {
            _ if is_ignored => 0,
            None => u64::from(bytes),
            Some(source_bytes) => self.value(source_bytes, lane),
        };
        if source_bytes > bytes.into() {
            return Err(FaultKind::BadCopy {
                bytes: source_bytes,
                what: "the source has more bytes than the destination",
            });
        }
        let source_bytes = source_bytes as u32;
        let mut words = self.words(self.site());
        words.check(thread, to, (bytes, bytes), AccessKind::Store)?;
        words.check(thread, from, (bytes, source_bytes), AccessKind::Load)?;
        let copy = Pending::Copy {
            to,
            from,
            bytes,
            source_bytes,
            site: self.site(),
        };
        self.begin(thread, QueueKind::CpAsync, copy)
    }

    fn begin_bulk(&mut self, thread: ThreadId, copy: &BulkCopy) -> Result<(), FaultKind> {
        let (_, lane) = thread;
        let bytes = self.value(copy.bytes, lane);
        if !bytes.is_multiple_of(BULK_BYTES) || bytes > MAX_COUNT {
            return Err(FaultKind::BadCopy {
                bytes,
                what: "a bulk copy has a multiple of 16 bytes, and less than 1 MiB",
            });
        }
        let align = BULK_BYTES as u32;
        let (to, from) = (self.address(&copy.to, lane), self.address(&copy.from, lane));
        let to = place_of(copy.to.space, to, Access::store(align))?;
        let from = place_of(copy.from.space, from, Access::load(align))?;
        let mbarrier = match &copy.mbarrier {
            Some(mbarrier) => Some(self.mbarrier_at(lane, mbarrier)?),
            None => None,
        };
        let bytes = bytes as u32;
        let mut words = self.words(self.site());
        words.check(thread, to, (align, bytes), AccessKind::Store)?;
        words.check(thread, from, (align, bytes), AccessKind::Load)?;
        let what = Pending::Copy {
            to,
            from,
            bytes,
            source_bytes: bytes,
            site: self.site(),
        };
        match mbarrier {
            None => self.begin(thread, QueueKind::Bulk, what),
            Some(mbarrier) => self.begin_counted(TrackedCopy {
                mbarrier,
                thread,
                bytes: bytes.into(),
                what,
            }),
        }
    }

    fn begin_store(&mut self, thread: ThreadId, store: &AsyncStore) -> Result<(), FaultKind> {
        let (_, lane) = thread;
        let bytes = store.bytes * store.sources.len() as u32;
        let to = self.address(&store.to, lane);
        let to = shared_offset(store.to.space, to, Access::store(bytes))?;
        let mbarrier = self.mbarrier_at(lane, &store.mbarrier)?;
        let words = store.sources.iter().map(|&source| self.value(source, lane));
        let what = Pending::Store {
            to,
            words: words.collect(),
            bytes: store.bytes,
            op: store.op,
            site: self.site(),
        };
        self.words(self.site()).check(
            thread,
            CopyAddress::Shared(to),
            (bytes, bytes),
            AccessKind::Store,
        )?;
        self.begin_counted(TrackedCopy {
            mbarrier,
            thread,
            bytes: bytes.into(),
            what,
        })
    }

    fn begin_arrival(
        &mut self,
        thread: ThreadId,
        at: &Address,
        is_expected: bool,
    ) -> Result<(), FaultKind> {
        let (_, lane) = thread;
        let mbarrier = self.mbarrier_at(lane, at)?;
        if !is_expected {
            self.change(thread, mbarrier, Mbarrier::add_pending)?;
        }
        if self.block.copies.has_copies(thread) {
            return self.begin(thread, QueueKind::CpAsync, Pending::Arrive { mbarrier });
        }
        self.arrive(thread, mbarrier, (1, false)).map(drop)
    }

    /// Waits until at most `pending` groups of a thread are left.
    fn wait(&mut self, thread: ThreadId, kind: QueueKind, pending: u64) -> Result<(), FaultKind> {
        let awaited = self.block.copies.take_groups(thread, kind, pending);
        self.perform_all(thread, awaited)
    }

    fn perform_all(&mut self, thread: ThreadId, all: Vec<Pending>) -> Result<(), FaultKind> {
        for pending in all {
            self.perform(thread, pending)?;
        }
        Ok(())
    }

    /// Performs an operation that a thread has begun.
    fn perform(&mut self, thread: ThreadId, pending: Pending) -> Result<(), FaultKind> {
        match pending {
            Pending::Commit => return Ok(()),
            Pending::Arrive { mbarrier } => {
                self.arrive(thread, mbarrier, (1, false))?;
            }
            Pending::Copy {
                to,
                from,
                bytes,
                source_bytes,
                site,
            } => self
                .words(site)
                .copy(thread, (to, from), (bytes, source_bytes))?,
            Pending::Store {
                to,
                words: values,
                bytes,
                op,
                site,
            } => {
                let mut words = self.words(site);
                for (at, &value) in (to..).step_by(bytes as usize).zip(&values) {
                    let at = CopyAddress::Shared(at);
                    let value = match op {
                        None => value,
                        Some(op) => {
                            combine(op, bytes, words.load(thread, at, bytes)?, value, false)
                        }
                    };
                    words.store(thread, at, bytes, value)?;
                }
            }
        }
        self.note_change(thread);
        Ok(())
    }

    /// A thread, perhaps of another warp, has changed memory.
    fn note_change(&mut self, (warp, lane): ThreadId) {
        self.block.progress = true;
        if warp == self.warp.number {
            self.changed |= 1 << lane;
        }
    }

    /// Performs the operations that have begun and arrive at an `mbarrier`.
    fn perform_tracked(&mut self, mbarrier: u64) -> Result<(), FaultKind> {
        if self.block.copies.is_empty() {
            return Ok(());
        }
        for (thread, all) in self.block.copies.take_arrivals(mbarrier) {
            self.perform_all(thread, all)?;
        }
        for counted in self.block.copies.take_counted(mbarrier) {
            self.perform_counted(counted)?;
        }
        Ok(())
    }

    fn perform_counted(&mut self, counted: TrackedCopy) -> Result<(), FaultKind> {
        self.perform(counted.thread, counted.what)?;
        self.change(counted.thread, counted.mbarrier, |it| {
            it.complete_bytes(counted.bytes).map(drop)
        })
    }

    fn finish_lane(&mut self, lane: usize) -> Result<(), FaultKind> {
        let thread = (self.warp.number, lane);
        for kind in [QueueKind::CpAsync, QueueKind::Bulk] {
            let all = self.block.copies.take_all(thread, kind);
            self.perform_all(thread, all)?;
        }
        for counted in self.block.copies.take_counted_of(thread) {
            self.perform_counted(counted)?;
        }
        Ok(())
    }

    /// The offset of an `mbarrier` in shared memory.
    fn mbarrier_at(&self, lane: usize, at: &Address) -> Result<u64, FaultKind> {
        shared_offset(at.space, self.address(at, lane), MBARRIER_ACCESS)
    }

    /// The word of an `mbarrier`.
    fn mbarrier_word(&mut self, lane: usize, mbarrier: u64) -> Result<MemoryRef, FaultKind> {
        let words = self.words(self.site());
        words
            .spaces
            .find(lane, StateSpace::Shared, mbarrier, MBARRIER_ACCESS)
    }

    /// Changes an `mbarrier`.
    fn change<T>(
        &mut self,
        thread: ThreadId,
        mbarrier: u64,
        change: impl FnOnce(&mut Mbarrier) -> Result<T, MbarrierError>,
    ) -> Result<T, FaultKind> {
        let place = self.mbarrier_word(thread.1, mbarrier)?;
        let word = place.load(MBARRIER_BYTES, Semantics::Weak);
        let found = self.block.mbarriers.get(mbarrier, word);
        let (result, state) = found
            .and_then(|object| Ok((change(object)?, object.state())))
            .map_err(|what| bad(mbarrier, what))?;
        place.store(MBARRIER_BYTES, state, Semantics::Weak);
        if state != word {
            self.note_change(thread);
        }
        Ok(result)
    }

    /// A thread arrives. Returns the state before.
    fn arrive(
        &mut self,
        thread: ThreadId,
        mbarrier: u64,
        (count, drops): (u64, bool),
    ) -> Result<u64, FaultKind> {
        let (warp, lane) = thread;
        if let Some(clocks) = &mut self.block.clocks {
            clocks.arrive(clock_of(mbarrier), warp, 1 << lane);
        }
        self.note_change(thread);
        self.change(thread, mbarrier, |it| {
            let before = it.state();
            it.arrive(count, drops).map(|_| before)
        })
    }

    fn mbarrier(&mut self, lane: usize, at: &Address, op: &MbarrierOp) -> Result<(), FaultKind> {
        let thread = (self.warp.number, lane);
        let mbarrier = self.mbarrier_at(lane, at)?;
        match *op {
            MbarrierOp::Init { count } => {
                let count = self.value(count, lane);
                let place = self.mbarrier_word(lane, mbarrier)?;
                let word = place.load(MBARRIER_BYTES, Semantics::Weak);
                let object = self.block.mbarriers.init(mbarrier, word, count);
                let object = object.map_err(|what| bad(mbarrier, what))?;
                place.store(MBARRIER_BYTES, object.state(), Semantics::Weak);
                self.changed |= 1 << lane;
            }
            MbarrierOp::Invalidate => {
                self.perform_tracked(mbarrier)?;
                self.change(thread, mbarrier, |_| Ok(()))?;
                self.block.mbarriers.invalidate(mbarrier);
            }
            MbarrierOp::Arrive {
                state,
                count,
                expect_bytes,
                drops,
                is_incomplete,
            } => {
                let count = self.value(count, lane);
                let expected = expect_bytes.map(|bytes| self.value(bytes, lane));
                let (awaits_bytes, pending) =
                    self.change(thread, mbarrier, |it| Ok((it.awaits_bytes(), it.pending())))?;
                // The phase may end by what has begun.
                if awaits_bytes || count > pending {
                    self.perform_tracked(mbarrier)?;
                }
                if let Some(bytes) = expected {
                    self.change(thread, mbarrier, |it| it.expect_bytes(bytes))?;
                }
                if is_incomplete {
                    let completes = |it: &mut Mbarrier| {
                        if it.pending() == count {
                            return Err(MbarrierError::Completes);
                        }
                        Ok(())
                    };
                    self.change(thread, mbarrier, completes)?;
                }
                let before = self.arrive(thread, mbarrier, (count, drops))?;
                if let Some(d) = state {
                    let id = self.warp.groups[self.group].frame;
                    let frame = self.warp.frames.get_mut(id);
                    frame.set(d, 1 << lane, &[before; LANES]);
                }
            }
            MbarrierOp::ExpectBytes { bytes } => {
                let bytes = self.value(bytes, lane);
                self.change(thread, mbarrier, |it| it.expect_bytes(bytes))?;
            }
            MbarrierOp::CompleteBytes { bytes } => {
                let bytes = self.value(bytes, lane);
                self.changed |= 1 << lane;
                self.change(thread, mbarrier, |it| it.complete_bytes(bytes).map(drop))?;
            }
            MbarrierOp::Test { phase, .. } => {
                self.perform_tracked(mbarrier)?;
                let (is_parity, value) = match phase {
                    Phase::State(state) => (false, self.value(state, lane)),
                    Phase::Parity(parity) => (true, self.value(parity, lane)),
                };
                let test = |it: &mut Mbarrier| {
                    let has_passed = if is_parity {
                        it.has_passed_parity(value)
                    } else {
                        it.has_passed(value)
                    };
                    Ok((has_passed?, it.state()))
                };
                let (has_passed, state) = self.change(thread, mbarrier, test)?;
                if has_passed {
                    self.passed |= 1 << lane;
                    self.block.mbarrier_waits.remove(&thread);
                    if let Some(clocks) = &mut self.block.clocks {
                        clocks.observe(clock_of(mbarrier), self.warp.number, 1 << lane);
                    }
                } else {
                    let wait = MbarrierWait {
                        mbarrier,
                        time: Instant::now(),
                    };
                    self.block.mbarrier_waits.insert(thread, wait);
                    self.polled = Some((SHARED + mbarrier, state));
                }
            }
        }
        Ok(())
    }
}

/// The number of an `mbarrier` among the barriers of the checker.
fn clock_of(mbarrier: u64) -> usize {
    super::block_state::BARRIERS + 1 + mbarrier as usize
}

fn bad(address: u64, what: MbarrierError) -> FaultKind {
    FaultKind::BadMbarrier { address, what }
}
