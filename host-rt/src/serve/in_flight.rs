//! The calls in flight: their functions, and the limited resources (slots, bounce blocks) that they
//! keep until they return.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};
use shared_abi::wire::claims::GROUP;
use shared_abi::wire::native::RequestMeta;
use targets::count::Count;

use crate::base::catch_panic::catch_panic;
use crate::base::output::{self, Stream};

use super::call_context::current_call;
use super::call_state::CallState;
use super::failures::log_failure;
use super::{CallError, Requests, Server, lock};
use crate::device::{DeviceAddr, DeviceError};
use crate::wire::gcc::{self, Completion};
use crate::wire::native::{self, LaneSlot, NativeRequest};
use crate::wire::{Request, gcc_slot};

/// The call that a worker serves. All accesses to the record are relaxed: messages about kernels that
/// make no progress may mix two calls, and `state` orders it for a thread that aborts the call.
#[derive(Debug)]
pub(super) struct InFlight {
    /// The worker's thread.
    thread: ThreadId,
    /// The function word; 0 without a call.
    function: AtomicU64,
    /// Kind of the wire.
    wire: AtomicU32,
    /// The slot that the call keeps, if the wire has shared ones.
    slot: AtomicU32,
    /// The first block of the bounce extent, and the end.
    bounce: [AtomicU32; 2],
    /// Key of the launch; 0 if unknown.
    launch: AtomicU32,
    /// Sequence number, rank, number of lanes and shape of a request on `native`.
    native: [AtomicU32; 4],
    /// Device address of the completion word of a request on `gcc-ring` or `gcn-queue`.
    signal: AtomicU64,
    /// Whether its function waits for a kernel that can call, see [`Server::begin_waiting`].
    is_waiting: AtomicBool,
    /// The state of its function, if the call can be aborted.
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
            signal: AtomicU64::new(0),
            is_waiting: AtomicBool::new(false),
            state: CallState::new(),
        }
    }

    /// Records a call of the function with this word. Dropping the result records its end.
    pub(super) fn begin(&self, request: &Request, bounce: &Range<u32>) -> InFlightGuard<'_> {
        let word = request.func();
        let slot = request.slot().unwrap_or(0);
        self.wire.store(request.wire().kind.0, Ordering::Relaxed);
        self.slot.store(slot, Ordering::Relaxed);
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
        let completion = request.gcc_completion();
        if let Some(Completion::Signal(DeviceAddr(signal))) = completion {
            self.signal.store(signal, Ordering::Relaxed);
        }
        self.function.store(word, Ordering::Relaxed);
        InFlightGuard {
            record: self,
            // A reply in the slot is for a wire that only this launch has.
            can_abort: !matches!(completion, Some(Completion::Slot(_))),
            was_aborted: Cell::new(false),
        }
    }

    /// The function word; `None` without a call.
    fn function(&self) -> Option<u64> {
        Some(self.function.load(Ordering::Relaxed)).filter(|&word| word != 0)
    }

    /// The resources that it keeps.
    pub(super) fn kept(&self) -> Kept {
        let load = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let [start, end] = self.bounce.each_ref().map(load);
        Kept {
            wire: load(&self.wire),
            slot: load(&self.slot),
            bounce: start..end,
            launch: self.launch(),
        }
    }

    /// Key of its launch; 0 if unknown.
    pub(super) fn launch(&self) -> u32 {
        self.launch.load(Ordering::Relaxed)
    }

    /// Whether its function waits for a kernel that can call, and the call is not aborted.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed) && !self.state.is_aborted()
    }

    /// Whether this thread serves the call, and its function does not wait for a kernel yet.
    fn is_running_here(&self) -> bool {
        self.thread == std::thread::current().id() && !self.is_waiting.load(Ordering::Relaxed)
    }

    /// Takes the call from its worker if its function is running, and `is_chosen` for the key of its
    /// launch and for whether it waits. The caller completes it.
    fn abort(&self, is_chosen: impl Fn(u32, bool) -> bool) -> Option<AbortedCall> {
        let running = self.state.running()?;
        let load = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let [seq, rank, count, meta] = self.native.each_ref().map(load);
        let slot = load(&self.slot);
        let call = AbortedCall {
            launch: self.launch(),
            word: self.function.load(Ordering::Relaxed),
            completion: match WireKind(load(&self.wire)) {
                WireKind::NATIVE => AbortedCompletion::Native(
                    LaneSlot {
                        slot,
                        seq,
                        rank,
                        count,
                    },
                    RequestMeta(meta),
                ),
                WireKind::GCC_SLOT => AbortedCompletion::FunctionWord,
                _ => AbortedCompletion::Signal(DeviceAddr(self.signal.load(Ordering::Relaxed))),
            },
        };
        let is_chosen = is_chosen(call.launch, self.is_waiting());
        (is_chosen && self.state.abort(running)).then_some(call)
    }
}

/// A call that was taken from its worker.
struct AbortedCall {
    launch: u32,
    /// The function word.
    word: u64,
    completion: AbortedCompletion,
}

/// How such a call is completed.
enum AbortedCompletion {
    Native(LaneSlot, RequestMeta),
    /// That of `gcc-slot`.
    FunctionWord,
    Signal(DeviceAddr),
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

/// The resources that a call keeps until it is completed.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Kind of its wire.
    pub(super) wire: u32,
    /// Its slot there, if the wire has shared ones.
    pub(super) slot: u32,
    pub(super) bounce: Range<u32>,
    /// Key of its launch; 0 if unknown.
    pub(super) launch: u32,
}

/// Marks a call whose function waits for a kernel that can call, until it is dropped.
pub(super) struct WaitingCall(Arc<InFlight>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.is_waiting.store(false, Ordering::Relaxed);
    }
}

/// A limit that calls in flight have reached.
pub(super) struct Exhausted {
    /// Describes it, with its size and the variable that sets it.
    pub(super) resource: String,
    /// The keys of the launches of those calls; 0 stands for unknown ones.
    pub(super) launches: BTreeSet<u32>,
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

    /// Marks the call that this thread serves as waiting for a kernel that can call, until the result
    /// is dropped. `None` if it serves a call of another runtime, or polls an asynchronous function.
    pub(super) fn begin_waiting(&self) -> Option<WaitingCall> {
        // The last: the functions of the calls before it wait already, or for another runtime.
        let calls = self.calls();
        let call = calls.into_iter().rfind(|call| call.is_running_here())?;
        call.is_waiting.store(true, Ordering::Relaxed);
        Some(WaitingCall(call))
    }

    /// Completes running calls, with the status of an aborted one: those of the launches that
    /// `is_chosen` chooses by their keys and by whether the call's function waits for a kernel that can
    /// call. Reports `error` of each function's name before the call completes, after which its kernel
    /// may end. Returns whether there was one.
    pub(super) fn abort_calls(
        &self,
        is_chosen: impl Fn(u32, bool) -> bool,
        error: impl Fn(String) -> CallError,
    ) -> bool {
        let Requests {
            pending,
            launches,
            functions,
            ..
        } = &self.requests;
        let report = |launch, word| {
            let error = error(functions.load().name_of(word));
            launches.record(launch, &error);
            log_failure(launch, &error);
        };
        let is_pending_chosen = |launch| is_chosen(launch, false);
        let mut has_aborted = pending.abort(|| self.copier(), is_pending_chosen, report);
        for call in self.calls() {
            if let Some(AbortedCall {
                launch,
                word,
                completion,
            }) = call.abort(&is_chosen)
            {
                report(launch, word);
                if let Err(error) = self.complete_aborted(completion) {
                    catch_panic(|| tracing::error!(%error, "cannot complete an aborted call"));
                }
                has_aborted = true;
            }
        }
        has_aborted
    }

    fn complete_aborted(&self, completion: AbortedCompletion) -> Result<(), DeviceError> {
        let wire = |kind| match self.wires.served_kind(kind) {
            Some(served) => &served.wire,
            None => unreachable!("a call came from the wire"),
        };
        match completion {
            AbortedCompletion::Native(lane, meta) => {
                native::complete_aborted(wire(WireKind::NATIVE), lane, meta);
                Ok(())
            }
            AbortedCompletion::FunctionWord => {
                gcc_slot::complete_aborted(wire(WireKind::GCC_SLOT));
                Ok(())
            }
            AbortedCompletion::Signal(signal) => gcc::complete_at(&mut self.copier(), signal),
        }
    }

    /// The threads whose functions run on after their calls were aborted.
    pub(super) fn abandoned_threads(&self) -> HashSet<ThreadId> {
        let calls = self.calls().into_iter();
        let aborted = calls.filter(|call| call.state.is_aborted());
        aborted.map(|call| call.thread).collect()
    }

    /// The calls in flight, those of a thread in the order in which they began.
    pub(super) fn calls(&self) -> Vec<Arc<InFlight>> {
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
        // This thread's own wait has just ended.
        let is_nested = calls.iter().any(|call| call.is_waiting()) || current_call().is_some();
        if is_nested {
            let kept = calls.iter().filter(|call| !call.state.is_aborted());
            let kept = kept.map(|call| call.kept());
            let waiting = self.requests.pending.list();
            let kept = kept.chain(waiting.iter().map(|call| call.kept()));
            let exhausted = self.exhausted(&kept.collect::<Vec<_>>()).into_iter();
            pending.extend(exhausted.map(|limit| format!("calls that use {}", limit.resource)));
        }
        pending
    }

    /// The limits that calls which keep these resources have reached.
    pub(super) fn exhausted(&self, kept: &[Kept]) -> Vec<Exhausted> {
        let mut exhausted = Vec::new();
        for served in self.wires.served() {
            let wire = &served.wire;
            let Some(slots) = wire.shared_slots() else {
                continue;
            };
            let kept = kept.iter().filter(|call| call.wire == wire.kind.0);
            let used: BTreeSet<_> = kept.clone().map(|call| call.slot).collect();
            if used.len() >= slots as usize {
                let variable = match wire.kind {
                    WireKind::NATIVE => " (REVOFF_SLOTS)",
                    _ => "",
                };
                let all = match slots {
                    1 => "the only slot".to_owned(),
                    _ => format!("all {slots} slots"),
                };
                exhausted.push(Exhausted {
                    resource: format!("{all} of the wire `{}`{variable}", wire.name),
                    launches: kept.map(|call| call.launch).collect(),
                });
            }
        }
        let kept = kept.iter().filter(|call| !call.bounce.is_empty());
        // Another call probably needs as much as the largest of these.
        let needed = kept.clone().map(|call| call.bounce.len()).max();
        let needed = needed.unwrap_or(0).min(MAX_EXTENT as usize) as u32;
        let area = self.config.bounce_blocks();
        let longest = longest_free(area, kept.clone().map(|call| call.bounce.clone()));
        if longest < needed {
            let kib = |blocks: u32| (blocks as usize * BLOCK) >> 10;
            let (area, left) = (kib(area), kib(longest));
            exhausted.push(Exhausted {
                resource: format!(
                    "the bounce area of {area} KiB except for {left} KiB (REVOFF_BOUNCE)"
                ),
                launches: kept.map(|call| call.launch).collect(),
            });
        }
        exhausted
    }
}

/// Length in blocks of the longest free extent of an area of `blocks` blocks, of which `extents` are used.
fn longest_free(blocks: u32, extents: impl IntoIterator<Item = Range<u32>>) -> u32 {
    let mut is_used = vec![false; blocks as usize];
    for Range { start, end } in extents {
        let end = end.min(blocks);
        is_used[start.min(end) as usize..end as usize].fill(true);
    }
    let words = is_used.chunks(GROUP as usize);
    let free = words.flat_map(|word| word.split(|used| *used).map(<[bool]>::len));
    free.max().unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::longest_free;

    #[test]
    fn the_longest_free_extent_is_within_a_word_of_claims() {
        assert_eq!(longest_free(64, []), 32);
        assert_eq!(longest_free(64, [Range { start: 0, end: 1 }]), 32);
        assert_eq!(longest_free(64, [0..1, 40..41]), 31);
        assert_eq!(longest_free(64, [0..32, 32..64]), 0);
        // Invalid extents are limited to the area.
        let reversed = Range { start: 90, end: 70 };
        assert_eq!(longest_free(64, [32..u32::MAX, reversed]), 32);
    }
}
