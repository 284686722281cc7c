//! Counting what a warp does on the bus between device and host.
//!
//! A group of lanes waits for an outstanding read when an instruction uses a register that the read
//! fills, or orders memory. A release or an acquire is a fence too.

use bus_cost::record::{self, Change, FenceScope, LaneAddresses, MAX_LANES, Recorder};

use super::frame::FrameId;
use crate::alu::{Lanes, Mask, lanes_of};
use crate::code::op::{Op, Pc, Reg, Scope, Semantics};
use crate::memory::{is_global, is_mapped};

/// The registers of a frame that a read fills.
#[derive(Debug)]
pub(super) struct Filled {
    frame: FrameId,
    registers: Box<[Reg]>,
}

/// An executed instruction.
pub(super) struct Executed<'a> {
    pub(super) op: &'a Op,
    /// Its function and its position there.
    pub(super) site: (u32, Pc),
    pub(super) frame: FrameId,
    /// The number of the call that it belongs to; 0 for none.
    pub(super) call: u32,
    /// The lanes of its group, and those that execute it.
    pub(super) lanes: Mask,
    pub(super) active: Mask,
    /// The generic addresses of an access to memory that may be global.
    pub(super) addresses: Option<Lanes>,
}

impl Executed<'_> {
    /// The active lanes whose address is in some kind of memory.
    fn lanes_in(&self, is_in: impl Fn(u64) -> bool) -> Mask {
        let Some(addresses) = &self.addresses else {
            return 0;
        };
        let lanes = lanes_of(self.active).filter(|&lane| is_in(addresses[lane]));
        lanes.fold(0, |mask, lane| mask | 1 << lane)
    }

    fn wide_addresses(&self) -> Option<LaneAddresses> {
        let addresses = self.addresses.as_ref()?;
        let mut wide = [0; MAX_LANES];
        wide[..addresses.len()].copy_from_slice(addresses);
        Some(wide)
    }

    fn recorded<'a>(&self, addresses: Option<&'a LaneAddresses>) -> record::Executed<'a> {
        record::Executed {
            site: u64::from(self.site.0) << 32 | u64::from(self.site.1),
            call: self.call,
            lanes: self.lanes.into(),
            active: self.active.into(),
            addresses,
            mapped: self.lanes_in(is_mapped).into(),
        }
    }
}

/// Whether an address is in the device's own global memory.
fn is_device(address: u64) -> bool {
    is_global(address) && !is_mapped(address)
}

/// The counts of a warp.
#[derive(Debug, Default)]
pub(super) struct CostRecorder(Recorder<Filled>);

impl CostRecorder {
    /// Counts a call by `lanes`.
    pub(super) fn enter_call(&mut self, lanes: Mask) {
        self.0.enter_call(lanes.into());
    }

    /// Counts an instruction that is about to be executed by at least one lane.
    pub(super) fn record(&mut self, executed: &Executed<'_>) {
        let addresses = executed.wide_addresses();
        let it = executed.recorded(addresses.as_ref());
        self.0
            .count_instruction(executed.call, executed.active.count_ones());
        self.wait_for_operands(executed, &it);
        let is_mapped = it.mapped != 0;
        let is_read = matches!(executed.op, Op::Load(_) | Op::Atom(_));
        let change = if is_mapped || executed.op.is_ordered() {
            self.0.note_execution(&it, is_read)
        } else {
            Change::StoreOrCall
        };
        match executed.op {
            Op::Load(load) => {
                if is_mapped {
                    let bytes = load.bytes * load.ds.len() as u32;
                    self.0.count_read(&it, bytes, change);
                    self.note_outstanding(executed, &it, &load.ds, change);
                }
                self.acquire(&it, (load.semantics, load.scope), change);
            }
            Op::Store(store) => {
                self.release(&it, (store.semantics, store.scope), change);
                if is_mapped {
                    self.0
                        .count_store(&it, store.bytes * store.sources.len() as u32);
                }
            }
            Op::Atom(atom) => {
                self.release(&it, (atom.semantics, atom.scope), change);
                if is_mapped {
                    self.0.count_atomic(&it, atom.bytes, change);
                    if let Some(d) = atom.d {
                        self.note_outstanding(executed, &it, &[d], change);
                    }
                }
                if executed.lanes_in(is_device) != 0 {
                    self.0.count_device_atomic(it.call);
                }
                self.acquire(&it, (atom.semantics, atom.scope), change);
            }
            // Its value arrives when the copy is waited for.
            Op::Async(op) => match op.source() {
                Some((_, bytes)) if is_mapped => {
                    self.0.count_read(&it, bytes, change);
                    self.note_outstanding(executed, &it, &[], change);
                }
                Some(_) => {}
                None if op.waits() => self.0.wait_for_all(&it),
                None => {}
            },
            Op::Fence { semantics, scope } => {
                self.fence(&it, *scope, change);
                self.acquire(&it, (*semantics, *scope), change);
            }
            _ => {}
        }
    }

    /// Notes that `lanes` have changed memory, which may be mapped.
    pub(super) fn note_stores(&mut self, executed: &Executed<'_>, lanes: Mask) {
        self.0
            .note_stores((executed.lanes_in(is_mapped) & lanes).into());
    }

    /// A function has ended. Its reads stay outstanding, but no instruction uses their registers,
    /// which the next function with the same frame has again.
    pub(super) fn end_frame(&mut self, frame: FrameId) {
        for read in self.0.fills_mut().filter(|read| read.frame == frame) {
            read.registers = Box::default();
        }
    }

    /// The counts.
    pub(super) fn into_recorder(self) -> Recorder<Filled> {
        self.0
    }

    fn note_outstanding(
        &mut self,
        executed: &Executed<'_>,
        it: &record::Executed<'_>,
        registers: &[Reg],
        change: Change,
    ) {
        let filled = Filled {
            frame: executed.frame,
            registers: registers.into(),
        };
        self.0.note_outstanding(it, filled, change);
    }

    /// Waits if the instruction uses a register that an outstanding read fills.
    fn wait_for_operands(&mut self, executed: &Executed<'_>, it: &record::Executed<'_>) {
        if !self.0.has_outstanding() {
            return;
        }
        let mut has_waited = false;
        executed.op.for_each_register(|register| {
            has_waited = has_waited
                || self.0.wait_for(it, |read| {
                    read.frame == executed.frame && read.registers.contains(&register)
                });
        });
    }

    /// The effect of an access that acquires: later accesses wait for its value, which it may read over
    /// the bus, and cached data is dropped.
    fn acquire(
        &mut self,
        it: &record::Executed<'_>,
        (semantics, scope): (Semantics, Scope),
        change: Change,
    ) {
        if !semantics.acquires() {
            return;
        }
        if it.mapped != 0 {
            self.0.wait_for_all(it);
        }
        if scope >= Scope::Gpu && !change.is_repetition() {
            self.0.count_l1_drop(it.call);
        }
    }

    fn release(
        &mut self,
        it: &record::Executed<'_>,
        (semantics, scope): (Semantics, Scope),
        change: Change,
    ) {
        if semantics.releases() {
            self.fence(it, scope, change);
        }
    }

    /// A fence, which waits for earlier reads.
    fn fence(&mut self, it: &record::Executed<'_>, scope: Scope, change: Change) {
        self.0.wait_for_all(it);
        let scope = match scope {
            Scope::Cta => FenceScope::Block,
            Scope::Gpu => FenceScope::Device,
            Scope::Sys => FenceScope::System,
        };
        let waits = scope == FenceScope::System && self.0.wait_for_stores(it);
        if !change.is_repetition() {
            self.0.count_fence(it.call, scope, waits);
        }
    }
}
