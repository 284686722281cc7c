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
    pub(crate) fn for_each_register(&self, mut visit: impl FnMut(Reg)) {
        self.for_each_operand(&mut |operand| {
            if operand.is_register() {
                visit(operand.0);
            }
        });
    }

    /// Calls `visit` with each register that the operation writes, and each register or constant
    /// that it reads; predicates are none.
    pub(super) fn for_each_operand(&self, visit: &mut impl FnMut(Src)) {
        let mut operands = Operands(visit);
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
            | Self::FromGeneric { d, a, .. } => operands.result_of(*d, &[*a]),
            Self::Bin { d, a, b, .. }
            | Self::ConvertPair { d, a, b, .. }
            | Self::Set { d, a, b, .. }
            | Self::Select { d, a, b, .. } => operands.result_of(*d, &[*a, *b]),
            Self::Tri { d, a, b, c, .. }
            | Self::Carry { d, a, b, c, .. }
            | Self::SelectBySign { d, a, b, c, .. } => operands.result_of(*d, &[*a, *b, *c]),
            Self::Quad { d, a, b, c, e, .. } => operands.result_of(*d, &[*a, *b, *c, *e]),
            Self::SetPred { a, b, .. } => operands.sources(&[*a, *b]),
            Self::Test { a, .. } | Self::IsSpace { a, .. } => operands.sources(&[*a]),
            Self::Special { d, .. } | Self::FrameAddress { d, .. } | Self::ActiveMask { d } => {
                operands.result(*d);
            }
            Self::Unpack { ds, a, .. } => {
                ds.iter().for_each(|&d| operands.result(d));
                operands.sources(&[*a]);
            }
            Self::Pack { d, sources, .. } => operands.result_of(*d, sources),
            Self::Load(load) => operands.load(load),
            Self::Store(store) => operands.store(store),
            Self::Atom(atom) => operands.atom(atom),
            Self::BranchIndexed { index, .. } => operands.sources(&[*index]),
            Self::Call(call) => {
                if let Callee::Address(address) = call.callee {
                    operands.sources(&[address]);
                }
            }
            Self::Sleep { nanoseconds } => operands.sources(&[*nanoseconds]),
            Self::Barrier(barrier) => operands.barrier(barrier),
            Self::Collective(collective) => operands.collective(collective),
            Self::Async(_) | Self::Cluster(_) | Self::Matrix(_) => {
                let set = self.operand_set();
                set.writes.iter().for_each(|&d| operands.result(d));
                operands.sources(&set.reads);
            }
        }
    }
}

/// Visits operands.
struct Operands<'a, F>(&'a mut F);

impl<F: FnMut(Src)> Operands<'_, F> {
    fn result(&mut self, d: Reg) {
        (self.0)(Src(d));
    }

    fn sources(&mut self, sources: &[Src]) {
        sources.iter().for_each(|&source| (self.0)(source));
    }

    fn result_of(&mut self, d: Reg, sources: &[Src]) {
        self.result(d);
        self.sources(sources);
    }

    fn address(&mut self, at: &Address) {
        if let Some(base) = at.base {
            self.sources(&[base]);
        }
    }

    fn load(&mut self, load: &Load) {
        self.address(&load.at);
        load.ds.iter().for_each(|&d| self.result(d));
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
            self.result(d);
        }
    }

    fn barrier(&mut self, barrier: &Barrier) {
        self.sources(&[barrier.number]);
        if let Some(count) = barrier.count {
            self.sources(&[count]);
        }
        if let BarrierKind::Count { d, .. } = barrier.kind {
            self.result(d);
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
            CollectiveKind::Ballot { d, .. } | CollectiveKind::Elect { d, .. } => self.result(d),
            CollectiveKind::MatchAny { d, a }
            | CollectiveKind::MatchAll { d, a, .. }
            | CollectiveKind::Reduce { d, a, .. } => self.result_of(d, &[a]),
        }
    }
}
