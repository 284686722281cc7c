//! The registers and the order of an instruction.

use super::op::{
    Address, Atom, Barrier, BarrierKind, Callee, Collective, CollectiveKind, Load, Op, Reg, Src,
    Store,
};

impl Op {
    /// Whether it acquires or releases.
    pub(crate) fn is_ordered(&self) -> bool {
        let semantics = match self {
            Self::Load(load) => load.semantics,
            Self::Store(store) => store.semantics,
            Self::Atom(atom) => atom.semantics,
            Self::Fence { .. } => return true,
            _ => return false,
        };
        semantics.acquires() || semantics.releases()
    }

    /// Calls `visit` with each register that the operation reads or writes; predicates are none.
    pub(crate) fn for_each_register(&self, visit: &mut impl FnMut(Reg)) {
        let mut registers = Registers(visit);
        match self {
            Self::Nop
            | Self::PredLogic { .. }
            | Self::PredMove { .. }
            | Self::Fence { .. }
            | Self::Branch { .. }
            | Self::Return
            | Self::Exit
            | Self::Trap => {}
            Self::Un { d, a, .. }
            | Self::Convert { d, a, .. }
            | Self::ToGeneric { d, a, .. }
            | Self::FromGeneric { d, a, .. } => registers.result_of(*d, &[*a]),
            Self::Bin { d, a, b, .. }
            | Self::ConvertPair { d, a, b, .. }
            | Self::Set { d, a, b, .. }
            | Self::Select { d, a, b, .. } => registers.result_of(*d, &[*a, *b]),
            Self::Tri { d, a, b, c, .. }
            | Self::Carry { d, a, b, c, .. }
            | Self::SelectBySign { d, a, b, c, .. } => registers.result_of(*d, &[*a, *b, *c]),
            Self::Quad { d, a, b, c, e, .. } => registers.result_of(*d, &[*a, *b, *c, *e]),
            Self::SetPred { a, b, .. } => registers.sources(&[*a, *b]),
            Self::Test { a, .. } | Self::IsSpace { a, .. } => registers.sources(&[*a]),
            Self::Special { d, .. } | Self::FrameAddress { d, .. } | Self::ActiveMask { d } => {
                (registers.0)(*d);
            }
            Self::Unpack { ds, a, .. } => {
                ds.iter().for_each(|&d| (registers.0)(d));
                registers.sources(&[*a]);
            }
            Self::Pack { d, sources, .. } => registers.result_of(*d, sources),
            Self::Load(load) => registers.load(load),
            Self::Store(store) => registers.store(store),
            Self::Atom(atom) => registers.atom(atom),
            Self::BranchIndexed { index, .. } => registers.sources(&[*index]),
            Self::Call(call) => {
                if let Callee::Address(address) = call.callee {
                    registers.sources(&[address]);
                }
            }
            Self::Sleep { nanoseconds } => registers.sources(&[*nanoseconds]),
            Self::Barrier(barrier) => registers.barrier(barrier),
            Self::Collective(collective) => registers.collective(collective),
            Self::Async(_) | Self::Cluster(_) | Self::Matrix(_) => {
                let operands = self.operand_set();
                operands.writes.iter().for_each(|&d| (registers.0)(d));
                registers.sources(&operands.reads);
            }
        }
    }
}

/// Visits registers.
struct Registers<'a, F>(&'a mut F);

impl<F: FnMut(Reg)> Registers<'_, F> {
    fn sources(&mut self, sources: &[Src]) {
        for source in sources {
            if source.is_register() {
                (self.0)(source.0);
            }
        }
    }

    fn result_of(&mut self, d: Reg, sources: &[Src]) {
        (self.0)(d);
        self.sources(sources);
    }

    fn address(&mut self, at: &Address) {
        if let Some(base) = at.base {
            self.sources(&[base]);
        }
    }

    fn load(&mut self, load: &Load) {
        self.address(&load.at);
        load.ds.iter().for_each(|&d| (self.0)(d));
    }

    fn store(&mut self, store: &Store) {
        self.address(&store.at);
        self.sources(&store.sources);
    }

    fn atom(&mut self, atom: &Atom) {
        self.address(&atom.at);
        self.sources(&[atom.b]);
        if let Some(c) = atom.c {
            self.sources(&[c]);
        }
        if let Some(d) = atom.d {
            (self.0)(d);
        }
    }

    fn barrier(&mut self, barrier: &Barrier) {
        self.sources(&[barrier.number]);
        if let Some(count) = barrier.count {
            self.sources(&[count]);
        }
        if let BarrierKind::Count { d, .. } = barrier.kind {
            (self.0)(d);
        }
    }

    fn collective(&mut self, collective: &Collective) {
        if let Some(members) = collective.members {
            self.sources(&[members]);
        }
        match collective.kind {
            CollectiveKind::Sync
            | CollectiveKind::All { .. }
            | CollectiveKind::Any { .. }
            | CollectiveKind::Uniform { .. } => {}
            CollectiveKind::Shuffle { d, a, b, c, .. } => self.result_of(d, &[a, b, c]),
            CollectiveKind::Ballot { d, .. } | CollectiveKind::Elect { d, .. } => (self.0)(d),
            CollectiveKind::MatchAny { d, a }
            | CollectiveKind::MatchAll { d, a, .. }
            | CollectiveKind::Reduce { d, a, .. } => self.result_of(d, &[a]),
        }
    }
}
