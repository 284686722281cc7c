//! The calls in flight: their functions, and the limited resources (slots, bounce blocks) that they
//! keep until they return.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::claims::GROUP;
use shared_abi::wire::native::RequestMeta;
use targets::count::Count;

use crate::base::catch_panic::catch_panic;
use crate::base::output::{self, Stream};

use super::call_context::current_call;
use super::call_state::CallState;
use super::{Server, lock};
use crate::wire::Request;
use crate::wire::native::{self, LaneSlot, NativeRequest};

/// Time that a host function waits for a kernel before it checks for exhausted resources.
const WARN_AFTER: Duration = Duration::from_secs(1);

/// The call that a worker serves. All accesses to the record are relaxed: messages about kernels that
/// make no progress may mix two calls, and `state` orders it for a thread that aborts the call.
#[derive(Debug)]
pub(super) struct InFlight {
    /// The worker's thread.
    thread: ThreadId,
    /// The function word; 0 without a call.
    function: AtomicU64,
    /// Kind of the wire, if the call keeps one of its slots; 0 otherwise.
    wire: AtomicU32,
    /// That slot.
    slot: AtomicU32,
    /// The first block of the bounce extent, and the end.
    bounce: [AtomicU32; 2],
    /// Key of the launch; 0 if unknown.
    launch: AtomicU32,
    /// Sequence number, rank, number of lanes and shape of a request on `native`.
    native: [AtomicU32; 4],
    /// The state of its function, if the call can be aborted: if it is on `native`.
    state: CallState,
}

impl InFlight {
    /// No call, on this thread.
    fn new() -> Self {
        Self {
            thread: std::thread::current().id(),
            function: AtomicU64::new(0),
            wire: AtomicU32::new(0),
            slot: AtomicU32::new(0),
            bounce: Default::default(),
            launch: AtomicU32::new(0),
            native: Default::default(),
            state: CallState::new(),
        }
    }

    /// Records a call of the function with this word. Dropping the result records its end.
    pub(super) fn begin(&self, request: &Request, bounce: &Range<u32>) -> InFlightGuard<'_> {
        let (word, slot) = (request.func(), request.slot());
        let kind = slot.map_or(0, |_| request.wire().kind.0);
        self.wire.store(kind, Ordering::Relaxed);
        self.slot.store(slot.unwrap_or(0), Ordering::Relaxed);
        self.bounce[0].store(bounce.start, Ordering::Relaxed);
        self.bounce[1].store(bounce.end, Ordering::Relaxed);
        self.launch.store(request.launch(), Ordering::Relaxed);
        let native = request.native();
        if let Some(NativeRequest { lane, meta, .. }) = native {
            let words = [lane.seq, lane.rank, lane.count, meta.0];
            for (to, word) in self.native.iter().zip(words) {
                to.store(word, Ordering::Relaxed);
            }
        }
        self.function.store(word, Ordering::Relaxed);
        InFlightGuard {
            record: self,
            can_abort: native.is_some(),
            was_aborted: Cell::new(false),
        }
    }

    /// The function word; `None` without a call.
    fn function(&self) -> Option<u64> {
        Some(self.function.load(Ordering::Relaxed)).filter(|&word| word != 0)
    }

    /// Takes the call from its worker if it is on `native`, its function is running, and `is_chosen`
    /// for the key of its launch. The caller completes it.
    fn abort(&self, is_chosen: impl Fn(u32) -> bool) -> Option<AbortedCall> {
        let running = self.state.running()?;
        let load = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let [seq, rank, count, meta] = self.native.each_ref().map(load);
        let call = AbortedCall {
            launch: load(&self.launch),
            word: self.function.load(Ordering::Relaxed),
            lane: LaneSlot {
                slot: load(&self.slot),
                seq,
                rank,
                count,
            },
            meta: RequestMeta(meta),
        };
        (is_chosen(call.launch) && self.state.abort(running)).then_some(call)
    }
}

/// A call on `native` that was taken from its worker.
struct AbortedCall {
    launch: u32,
    /// The function word.
    word: u64,
    lane: LaneSlot,
    meta: RequestMeta,
}

/// A call in flight.
pub(super) struct InFlightGuard<'a> {
    record: &'a InFlight,
    can_abort: bool,
    was_aborted: Cell<bool>,
}

impl InFlightGuard<'_> {
    /// Runs the function of the call, which does not access the request.
    pub(super) fn run<R>(&self, function: impl FnOnce() -> R) -> R {
        let _running = self.can_abort.then(|| RunningFunction::begin(self));
        function()
    }

    /// Whether the call was aborted while its function ran: another thread has completed it.
    pub(super) fn was_aborted(&self) -> bool {
        self.was_aborted.get()
    }
}

/// A function that runs, until this is dropped, even by a panic.
struct RunningFunction<'a>(&'a InFlightGuard<'a>);

impl<'a> RunningFunction<'a> {
    fn begin(call: &'a InFlightGuard<'a>) -> Self {
        call.record.state.begin();
        Self(call)
    }
}

impl Drop for RunningFunction<'_> {
    fn drop(&mut self) {
        self.0.was_aborted.set(!self.0.record.state.end());
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.record.function.store(0, Ordering::Relaxed);
    }
}

/// A host function's wait for a kernel. It may never end if the kernel's calls lack resources.
pub(super) struct NestedWait<'s> {
    server: &'s Server,
    next_check: Instant,
    has_warned: bool,
}

impl<'s> NestedWait<'s> {
    pub(super) fn new(server: &'s Server) -> Self {
        // Relaxed: a count for messages.
        server.requests.nested_waits.fetch_add(1, Ordering::Relaxed);
        Self {
            server,
            next_check: Instant::now() + WARN_AFTER,
            has_warned: false,
        }
    }

    /// Warns once if the wait has lasted long and resources for another call are exhausted.
    pub(super) fn check(&mut self) {
        if self.has_warned || Instant::now() < self.next_check {
            return;
        }
        self.next_check = Instant::now() + WARN_AFTER;
        for resource in self.server.exhausted() {
            self.has_warned = true;
            catch_panic(|| {
                tracing::warn!(
                    "a host function waits for a kernel while the calls in flight use {resource}: \
                     if that kernel calls the host, both may wait forever"
                );
            });
        }
    }
}

impl Drop for NestedWait<'_> {
    fn drop(&mut self) {
        // Relaxed: a count for messages.
        self.server
            .requests
            .nested_waits
            .fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Adds a record for the calls of a new worker.
    pub(super) fn new_in_flight(&self) -> Arc<InFlight> {
        let new = Arc::new(InFlight::new());
        let mut in_flight = lock(&self.requests.in_flight);
        in_flight.retain(|call| call.strong_count() > 0);
        in_flight.push(Arc::downgrade(&new));
        new
    }

    /// Completes the running calls on `native` of the launches that `is_chosen` chooses by their keys,
    /// with the status of an aborted one. Calls `report` with each key and function word before the
    /// call completes, after which its kernel may end. Returns whether there was one.
    pub(super) fn abort_calls(
        &self,
        is_chosen: impl Fn(u32) -> bool,
        mut report: impl FnMut(u32, u64),
    ) -> bool {
        let mut served = self.wires.served().map(|served| &served.wire);
        let Some(native) = served.find(|wire| wire.kind == WireKind::NATIVE) else {
            return false;
        };
        let pending = &self.requests.pending;
        let mut has_aborted = pending.abort(|| self.copier(), &is_chosen, &mut report);
        for call in self.calls() {
            if let Some(AbortedCall {
                launch,
                word,
                lane,
                meta,
            }) = call.abort(&is_chosen)
            {
                report(launch, word);
                native::complete_aborted(native, lane, meta);
                has_aborted = true;
            }
        }
        has_aborted
    }

    /// The threads whose functions run on after their calls were aborted.
    pub(super) fn abandoned_threads(&self) -> HashSet<ThreadId> {
        let calls = self.calls().into_iter();
        let aborted = calls.filter(|call| call.state.is_aborted());
        aborted.map(|call| call.thread).collect()
    }

    /// The calls in flight.
    fn calls(&self) -> Vec<Arc<InFlight>> {
        let in_flight = lock(&self.requests.in_flight);
        let calls = in_flight.iter().filter_map(Weak::upgrade);
        calls.filter(|call| call.function().is_some()).collect()
    }

    /// Lists what the device's kernels may wait for: the names of host functions that have not
    /// returned, the threads if functions of aborted launches keep all of them, the standard output,
    /// and, if some functions wait for kernels, the resources that calls have exhausted.
    pub(crate) fn pending(&self) -> Vec<String> {
        let functions = self.requests.functions.load();
        let texts = [&self.output.text, &self.output.error];
        let is_pending = texts.map(|text| text.is_pending());
        // Another runtime of the process may be writing.
        let is_elsewhere = is_pending == [false; 2] && output::is_writing();
        let calls = self.calls();
        let describe = |call: &Arc<InFlight>| {
            let name = functions.name_of(call.function()?);
            Some(if call.state.is_aborted() {
                format!("`{name}` of an aborted launch")
            } else {
                format!("`{name}`")
            })
        };
        let mut pending: Vec<String> = calls.iter().filter_map(describe).collect();
        pending.extend(self.requests.pending.describe());
        let (abandoned, threads) = (self.abandoned_threads().len(), self.config.threads);
        pending.extend((abandoned >= threads).then(|| {
            let threads = Count(threads as u64, "host thread");
            format!("calls that no thread is left for, of {threads} (GOMP_REVERSE_OFFLOAD_THREADS)")
        }));
        for (text, is_pending) in texts.into_iter().zip(is_pending) {
            let is_blocked = is_pending || (is_elsewhere && text.stream() == Stream::Output);
            pending.extend(is_blocked.then(|| text.stream().name().to_owned()));
        }
        // Relaxed: a count for messages. It no longer includes a function on this thread, whose
        // wait has just ended.
        let is_nested =
            self.requests.nested_waits.load(Ordering::Relaxed) > 0 || current_call().is_some();
        if is_nested {
            let exhausted = self.exhausted().into_iter();
            pending.extend(exhausted.map(|resource| format!("calls that use {resource}")));
        }
        pending
    }

    /// Describes the resources that the calls in flight have exhausted.
    fn exhausted(&self) -> Vec<String> {
        let (calls, waiting) = (self.calls(), self.requests.pending.list());
        let mut exhausted = Vec::new();
        for served in self.wires.served() {
            let wire = &served.wire;
            let Some(slots) = wire.shared_slots() else {
                continue;
            };
            let is_of_wire = |call: &&Arc<InFlight>| {
                call.wire.load(Ordering::Relaxed) == wire.kind.0 && !call.state.is_aborted()
            };
            let of_waiting = waiting.iter().filter_map(|call| call.slot);
            let of_waiting = of_waiting.filter(|(kind, _)| *kind == wire.kind.0);
            let used: BTreeSet<_> = calls
                .iter()
                .filter(is_of_wire)
                .map(|call| call.slot.load(Ordering::Relaxed))
                .chain(of_waiting.map(|(_, slot)| slot))
                .collect();
            if used.len() >= slots as usize {
                let variable = match wire.kind {
                    WireKind::NATIVE => " (REVOFF_SLOTS)",
                    _ => "",
                };
                let all = if slots == 1 {
                    "the only slot"
                } else {
                    "all slots"
                };
                exhausted.push(format!("{all} of the wire `{}`{variable}", wire.name));
            }
        }
        let kept = calls.iter().filter(|call| !call.state.is_aborted());
        let extents = kept.map(|call| {
            let load = |word: &AtomicU32| word.load(Ordering::Relaxed);
            call.bounce.each_ref().map(load)
        });
        let of_waiting = waiting
            .iter()
            .map(|call| [call.bounce.start, call.bounce.end]);
        let extents: Vec<_> = extents.chain(of_waiting).collect();
        // Another call probably needs as much as the largest of these.
        let lengths = extents
            .iter()
            .map(|[start, end]| end.saturating_sub(*start));
        let needed = lengths.max().unwrap_or(0).min(MAX_EXTENT);
        let longest = longest_free(self.config.bounce_blocks(), extents);
        if longest < needed {
            let left = (longest as usize * BLOCK) >> 10;
            exhausted.push(format!(
                "the bounce area except for {left} KiB (REVOFF_BOUNCE)"
            ));
        }
        exhausted
    }
}

/// Length in blocks of the longest free extent of an area of `blocks` blocks. Each used extent is
/// its first block and its end.
fn longest_free(blocks: u32, extents: impl IntoIterator<Item = [u32; 2]>) -> u32 {
    let mut is_used = vec![false; blocks as usize];
    for [start, end] in extents {
        let end = end.min(blocks);
        is_used[start.min(end) as usize..end as usize].fill(true);
    }
    let words = is_used.chunks(GROUP as usize);
    let free = words.flat_map(|word| word.split(|used| *used).map(<[bool]>::len));
    free.max().unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::longest_free;

    #[test]
    fn the_longest_free_extent_is_within_a_word_of_claims() {
        assert_eq!(longest_free(64, []), 32);
        assert_eq!(longest_free(64, [[0, 1]]), 32);
        assert_eq!(longest_free(64, [[0, 1], [40, 41]]), 31);
        assert_eq!(longest_free(64, [[0, 32], [32, 64]]), 0);
        // Invalid extents are limited to the area.
        assert_eq!(longest_free(64, [[32, u32::MAX], [90, 70]]), 32);
    }
}
