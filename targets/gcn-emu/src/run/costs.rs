//! Counts of a wave's traffic on the bus between device and host.
//!
//! The wave goes on until it waits for a counter. If that waits for a read of mapped memory, it is a
//! *serial read*; other reads that are outstanding arrive together with it, whether the instruction
//! waits for them or not.
//!
//! Machine code has no fences. A wait after which no store is outstanding is one: of system scope if the
//! code has written caches back as far as that, or if the wait is for stores to mapped memory; otherwise
//! of device scope. On gfx9 loads and stores have one counter, and a wait for loads waits for older
//! stores, too. That is no fence of device scope; nor one of system scope if a read over the bus, made
//! after the stores, arrives.
//!
//! An instruction that invalidates the nearest vector cache is an acquire. If the last load was repeated,
//! it is repeated, too.

use bus_cost::record::{Change, Executed, FenceScope, LaneAddresses, MAX_LANES, Recorder};

use super::access::{Action, CacheEffects};
use super::calls::{Calls, Jump};
use super::counters::{COUNTERS, Counter, Counters};
use crate::arch::Generation;

/// Maximum number of outstanding operations, more than counters count.
const MAX_OPERATIONS: usize = 64;

/// Owner of accessed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Mapped memory of the host.
    Host,
    /// Global memory of the device.
    Device,
    /// LDS, private memory, or memory of the launch such as arguments.
    Other,
}

/// An outstanding operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// Read of mapped memory, with its number.
    Read(u64),
    /// Load from other memory.
    Load,
    StoreToHost,
    Store,
}

impl Operation {
    fn is_store(self) -> bool {
        matches!(self, Self::StoreToHost | Self::Store)
    }
}

/// State of the current instruction.
#[derive(Debug)]
struct Current {
    /// Address of the instruction.
    site: u64,
    active: u64,
    addresses: LaneAddresses,
    /// The lanes that access mapped memory.
    mapped: u64,
    /// The lanes whose atomic operation changes memory.
    changed: u64,
    accesses_device: bool,
}

/// Recorder of a wave's counts.
#[derive(Debug)]
pub(super) struct CostRecorder {
    recorder: Recorder<u64>,
    calls: Calls,
    generation: Generation,
    /// Lanes of the wave.
    lanes: u64,
    current: Current,
    /// Outstanding operations, the oldest first.
    operations: Vec<(Operation, Counters)>,
    /// The number of reads of mapped memory so far.
    reads: u64,
    /// Changes since the last execution of the last load.
    last_load: Change,
    /// The scope of a write-back that no wait has followed.
    written_back: Option<FenceScope>,
}

impl CostRecorder {
    /// Creates a recorder for a wave with these lanes. `entry` is the function whose calls are counted.
    pub(super) fn new(generation: Generation, lanes: u64, entry: Option<u64>) -> Self {
        Self {
            recorder: Recorder::default(),
            calls: Calls::new(entry),
            generation,
            lanes,
            current: Current {
                site: 0,
                active: 0,
                addresses: [0; MAX_LANES],
                mapped: 0,
                changed: 0,
                accesses_device: false,
            },
            operations: Vec::new(),
            reads: 0,
            last_load: Change::StoreOrCall,
            written_back: None,
        }
    }

    /// The counts.
    pub(super) fn into_recorder(self) -> Recorder<u64> {
        self.recorder
    }

    /// Begins the wave at an address with these active lanes.
    pub(super) fn begin(&mut self, at: u64, active: u64) {
        if self.calls.begin(at) {
            self.recorder.enter_call(active);
        }
    }

    /// Begins an instruction of these lanes.
    pub(super) fn begin_instruction(&mut self, site: u64, active: u64) {
        let current = &mut self.current;
        current.site = site;
        current.active = active;
        (current.mapped, current.changed) = (0, 0);
        current.accesses_device = false;
    }

    /// Ends the instruction, which `lanes` lanes have executed. `jump` has the kind of a jump and its target.
    pub(super) fn end_instruction(&mut self, lanes: u32, jump: Option<(Jump, u64)>) {
        if lanes > 0 {
            self.recorder.count_instruction(self.calls.current(), lanes);
        }
        if let Some((jump, to)) = jump
            && self.calls.jump(jump, to)
        {
            self.recorder.enter_call(self.current.active);
        }
    }

    /// Notes a lane's access to memory.
    pub(super) fn note_access(&mut self, lane: usize, address: u64, owner: Owner) {
        self.current.addresses[lane] = address;
        match owner {
            Owner::Host => self.current.mapped |= 1 << lane,
            Owner::Device => self.current.accesses_device = true,
            Owner::Other => {}
        }
    }

    /// Notes that a lane's atomic operation has changed memory.
    pub(super) fn note_change(&mut self, lane: usize) {
        self.current.changed |= 1 << lane;
    }

    /// Notes a scalar load, which is one access of the wave.
    pub(super) fn scalar_load(&mut self, address: u64, bytes: u32, owner: Owner) {
        self.current.active = 1;
        self.note_access(0, address, owner);
        let counter = Counter::Scalar.on(self.generation);
        self.load(bytes, Counters::one(counter));
    }

    /// Ends an access, whose lanes have been noted.
    pub(super) fn end_access(&mut self, action: Action, counters: Counters) {
        match action {
            Action::Load(element) => self.load(element.bytes, counters),
            Action::Store(element) => self.store(element.bytes, counters),
            Action::Atomic(_, element, returns) => self.atomic(element.bytes, returns, counters),
            Action::Caches(_) => {}
        }
    }

    fn load(&mut self, bytes: u32, counters: Counters) {
        let executed = executed(&self.current, &self.calls, self.lanes);
        if executed.mapped == 0 {
            self.last_load = Change::StoreOrCall;
            self.issue(Operation::Load, counters);
            return;
        }
        let change = self.recorder.note_execution(&executed, true);
        self.recorder.count_read(&executed, bytes, change);
        self.note_read(change, counters);
    }

    /// Notes an outstanding read.
    fn note_read(&mut self, change: Change, counters: Counters) {
        self.reads += 1;
        self.last_load = change;
        // A wave's accesses go to memory in order, so a read by one lane arrives after earlier stores by
        // all of them.
        let executed = Executed {
            active: self.lanes,
            ..executed(&self.current, &self.calls, self.lanes)
        };
        self.recorder
            .note_outstanding(&executed, self.reads, change);
        self.issue(Operation::Read(self.reads), counters);
    }

    fn store(&mut self, bytes: u32, counters: Counters) {
        let executed = executed(&self.current, &self.calls, self.lanes);
        if executed.mapped == 0 {
            self.issue(Operation::Store, counters);
            return;
        }
        self.recorder.count_store(&executed, bytes);
        self.issue(Operation::StoreToHost, counters);
    }

    fn atomic(&mut self, bytes: u32, returns: bool, counters: Counters) {
        if self.current.accesses_device {
            self.recorder.count_device_atomic(self.calls.current());
        }
        let executed = executed(&self.current, &self.calls, self.lanes);
        if executed.mapped == 0 {
            let operation = match returns {
                true => Operation::Load,
                false => Operation::Store,
            };
            self.last_load = Change::StoreOrCall;
            self.issue(operation, counters);
            return;
        }
        let change = self.recorder.note_execution(&executed, true);
        self.recorder.count_atomic(&executed, bytes, change);
        if returns {
            self.note_read(change, counters);
        } else {
            self.issue(Operation::StoreToHost, counters);
        }
        self.recorder
            .note_stores(self.current.mapped & self.current.changed);
    }

    fn issue(&mut self, operation: Operation, counters: Counters) {
        self.operations.push((operation, counters));
        if self.operations.len() > MAX_OPERATIONS {
            self.operations.remove(0);
        }
    }

    /// Notes an instruction on caches.
    pub(super) fn change_caches(&mut self, effects: CacheEffects) {
        self.written_back = self.written_back.max(effects.writes_back);
        if !effects.invalidates[0] {
            return;
        }
        let change = self.note_whole_wave();
        if !change.is_repetition() && !self.last_load.is_repetition() {
            self.recorder.count_l1_drop(self.calls.current());
        }
    }

    /// Notes an instruction that all lanes execute together.
    fn note_whole_wave(&mut self) -> Change {
        let executed = whole_wave(self.current.site, &self.calls, self.lanes);
        self.recorder.note_execution(&executed, false)
    }

    /// Waits until at most so many operations of each counter are outstanding.
    pub(super) fn wait(&mut self, most: [usize; COUNTERS]) {
        let done = self.complete(most);
        let executed = whole_wave(self.current.site, &self.calls, self.lanes);
        self.recorder
            .wait_for(&executed, |&read| done.contains(&Operation::Read(read)));
        let written_back = match most[Counter::Store.on(self.generation) as usize] {
            0 => self.written_back.take(),
            _ => None,
        };
        let has_stores = done.iter().any(|operation| operation.is_store());
        let is_complete = !self.operations.iter().any(|(left, _)| left.is_store());
        if written_back.is_none() && !(has_stores && is_complete) {
            return;
        }
        let stores_to_host = done.contains(&Operation::StoreToHost) || written_back.is_some();
        let waits = stores_to_host && self.recorder.wait_for_stores(&executed);
        let is_for_loads = done.last().is_some_and(|operation| !operation.is_store());
        let scope = match written_back {
            _ if waits => FenceScope::System,
            Some(scope) => scope,
            None if is_for_loads => return,
            None => FenceScope::Device,
        };
        if !self.note_whole_wave().is_repetition() {
            self.recorder
                .count_fence(self.calls.current(), scope, waits);
        }
    }

    /// Takes the operations that a wait completes, the oldest first.
    fn complete(&mut self, most: [usize; COUNTERS]) -> Vec<Operation> {
        for (counter, most) in most.into_iter().enumerate() {
            let counted = self
                .operations
                .iter()
                .filter(|it| it.1.has(counter))
                .count();
            let excess = counted.saturating_sub(most);
            let oldest = self.operations.iter_mut().filter(|it| it.1.has(counter));
            for (_, counters) in oldest.take(excess) {
                counters.remove(counter);
            }
        }
        let done = self.operations.extract_if(.., |it| it.1.is_empty());
        done.map(|(operation, _)| operation).collect()
    }
}

/// The instruction that is being executed, by the lanes that are noted.
fn executed<'a>(current: &'a Current, calls: &Calls, lanes: u64) -> Executed<'a> {
    Executed {
        site: current.site,
        call: calls.current(),
        lanes,
        active: current.active,
        addresses: Some(&current.addresses),
        mapped: current.mapped,
    }
}

/// An instruction that all lanes execute together.
fn whole_wave(site: u64, calls: &Calls, lanes: u64) -> Executed<'static> {
    Executed {
        site,
        call: calls.current(),
        lanes,
        active: lanes,
        addresses: None,
        mapped: 0,
    }
}
