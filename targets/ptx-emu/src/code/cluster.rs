//! Instructions of clusters. A cluster has one block here.

use super::operand::{OperandVisitor, Reg, Src};

#[derive(Debug)]
pub(crate) enum Cluster {
    /// `barrier.cluster.arrive`
    Arrive,
    /// `barrier.cluster.wait`
    Wait,
    /// `mapa`: the address that has an offset in the shared memory of a block of the cluster.
    MapAddress { d: Reg, a: Src, rank: Src },
}

impl Cluster {
    pub(super) fn operands<'a, 'b>(
        &self,
        operands: &'a mut OperandVisitor<'b>,
    ) -> &'a mut OperandVisitor<'b> {
        match *self {
            Self::Arrive | Self::Wait => operands,
            Self::MapAddress { d, a, rank } => operands.reads([a, rank]).writes([d]),
        }
    }
}
