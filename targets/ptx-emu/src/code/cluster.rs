//! Instructions of clusters. A cluster has one block here.

use super::operand::{OperandSet, Reg, Src};

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
    pub(crate) fn operands(&self) -> OperandSet {
        match *self {
            Self::Arrive | Self::Wait => OperandSet::default(),
            Self::MapAddress { d, a, rank } => OperandSet::of([a, rank]).writing([d]),
        }
    }
}
