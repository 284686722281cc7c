//! Instructions on matrices, whose elements all lanes of a warp hold together.

use super::operand::{Address, OperandVisitor, PredSrc, Reg, Src};
use crate::alu::LANES;
use crate::alu::matrix::{Format, Product, Shape};

#[derive(Debug)]
pub(crate) enum Matrix {
    /// `mma` and `wmma.mma`
    Multiply(Multiply),
    /// `wgmma.mma_async`
    MultiplyGroup(MultiplyGroup),
    /// `wmma.load`
    Load(FragmentAccess<Reg>),
    /// `wmma.store`
    Store(FragmentAccess<Src>),
    /// `ldmatrix`
    LoadRows(RowAccess<Reg>),
    /// `stmatrix`
    StoreRows(RowAccess<Src>),
    /// `movmatrix`
    Transpose { d: Reg, a: Src },
}

#[derive(Debug)]
pub(crate) struct Multiply {
    pub(crate) product: Product,
    pub(crate) distribution: Distribution,
    pub(crate) d: Box<[Reg]>,
    pub(crate) a: Box<[Src]>,
    pub(crate) b: Box<[Src]>,
    pub(crate) c: Box<[Src]>,
}

/// Rows of a product by four warps that one of them computes.
pub(crate) const GROUP_ROWS: usize = 16;

/// A product by four warps, each of which computes [`GROUP_ROWS`] rows.
#[derive(Debug)]
pub(crate) struct MultiplyGroup {
    /// Of one warp.
    pub(crate) product: Product,
    pub(crate) d: Box<[Reg]>,
    pub(crate) a: GroupSource,
    /// Describes the second matrix in shared memory.
    pub(crate) b: Src,
    /// Whether the product is added to the result.
    pub(crate) accumulates: PredSrc,
    /// Whether the first and the second matrix are negated.
    pub(crate) is_negated: [bool; 2],
    /// Whether their elements are contiguous along the outer dimension.
    pub(crate) is_transposed: [bool; 2],
}

/// Where the first matrix of a product by four warps is.
#[derive(Debug)]
pub(crate) enum GroupSource {
    Registers(Box<[Src]>),
    /// In shared memory, as the value describes.
    Shared(Src),
}

/// A load or a store of a fragment, of which each lane has the registers.
#[derive(Debug)]
pub(crate) struct FragmentAccess<R> {
    pub(crate) at: Address,
    pub(crate) registers: Box<[R]>,
    pub(crate) fragment: Fragment,
    /// Whether rows are contiguous in memory, or columns.
    pub(crate) is_row_major: bool,
    /// Elements from a row, or column, to the next; without it they follow each other.
    pub(crate) stride: Option<Src>,
}

/// 8-by-8 matrices of 16 bits, one for each register. A row has 16 bytes, whose address one lane has.
#[derive(Debug)]
pub(crate) struct RowAccess<R> {
    pub(crate) at: Address,
    pub(crate) registers: Box<[R]>,
    pub(crate) is_transposed: bool,
}

/// Which of a product's matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
    /// The third matrix, or the result.
    Sum,
}

/// How the elements of a matrix are distributed among lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Of `mma`.
    Mma,
    /// Of `mma.m8n8k4` with `.f16`: four products, each of eight lanes. Whether rows of the first two
    /// matrices are in one lane, or columns.
    Quads { a_is_row: bool, b_is_row: bool },
    /// Of `wmma`, which the ISA leaves open: each lane has a piece of the matrix's rows, one after the
    /// other.
    Wmma,
}

/// A matrix as all lanes hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) side: Side,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    pub(crate) distribution: Distribution,
}

impl Fragment {
    pub(crate) fn rows(&self) -> usize {
        match self.side {
            Side::A | Side::Sum => self.shape.m,
            Side::B => self.shape.k,
        }
    }

    pub(crate) fn columns(&self) -> usize {
        match self.side {
            Side::A => self.shape.k,
            Side::B | Side::Sum => self.shape.n,
        }
    }

    /// Products that the warp computes at once.
    pub(crate) fn products(&self) -> usize {
        match self.distribution {
            Distribution::Quads { .. } => 4,
            Distribution::Mma | Distribution::Wmma => 1,
        }
    }

    /// Different elements that a lane holds.
    fn own(&self) -> usize {
        self.products() * self.rows() * self.columns() / LANES
    }

    /// Elements of a lane's registers.
    pub(crate) fn elements(&self) -> usize {
        let has_copies = self.distribution == Distribution::Wmma
            && self.format == Format::F16
            && self.side != Side::Sum;
        if has_copies { 16 } else { self.own() }
    }

    /// Bits of a register.
    pub(crate) fn register_bits(&self) -> u32 {
        self.format.bits().max(32)
    }

    /// Elements of a register.
    pub(crate) fn packed(&self) -> usize {
        (self.register_bits() / self.format.bits()) as usize
    }

    /// Registers of a lane.
    pub(crate) fn registers(&self) -> usize {
        self.elements() / self.packed()
    }

    /// Where an element of a lane is: the number of the product, its row and its column.
    pub(crate) fn place(&self, lane: usize, element: usize) -> (usize, usize, usize) {
        match self.distribution {
            Distribution::Wmma => {
                let index = lane * self.own() + element % self.own();
                (0, index / self.columns(), index % self.columns())
            }
            Distribution::Mma => {
                let (row, column) = self.place_in_groups(lane / 4, lane % 4, element);
                (0, row, column)
            }
            Distribution::Quads { a_is_row, b_is_row } => {
                let (quad, half) = (lane / 4 % 4, lane / 16 * 4);
                let me = lane % 4;
                let (row, column) = match (self.side, self.format) {
                    (Side::A, _) if a_is_row => (me + half, element),
                    (Side::A, _) => (element + half, me),
                    (Side::B, _) if b_is_row => (me, element + half),
                    (Side::B, _) => (element, me + half),
                    (Side::Sum, Format::F16) => (me + half, element),
                    (Side::Sum, _) => (
                        (me & 1) + (element & 2) + half,
                        (element & 4) + (me & 2) + (element & 1),
                    ),
                };
                (quad, row, column)
            }
        }
    }

    /// Groups of four lanes have eight rows, or columns; registers have the other ones, and what is
    /// further to the right or below.
    fn place_in_groups(&self, group: usize, me: usize, element: usize) -> (usize, usize) {
        let packed = self.packed();
        let (register, part) = (element / packed, element % packed);
        match self.side {
            Side::A if self.rows() == 8 => (group, me * packed + part + register * 4 * packed),
            Side::A => {
                let (low, right) = (register % 2, register / 2);
                (group + low * 8, me * packed + part + right * 4 * packed)
            }
            Side::B => (me * packed + part + register * 4 * packed, group),
            Side::Sum => (
                group + element / 2 % 2 * 8,
                element / 4 * 8 + me * 2 + element % 2,
            ),
        }
    }
}

impl Multiply {
    pub(crate) fn fragment(&self, side: Side, format: Format) -> Fragment {
        Fragment {
            side,
            format,
            shape: self.product.shape,
            distribution: self.distribution,
        }
    }
}

impl MultiplyGroup {
    pub(crate) fn fragment(&self, side: Side, format: Format) -> Fragment {
        Fragment {
            side,
            format,
            shape: self.product.shape,
            distribution: Distribution::Mma,
        }
    }
}

impl Matrix {
    pub(super) fn operands<'a, 'b>(
        &self,
        operands: &'a mut OperandVisitor<'b>,
    ) -> &'a mut OperandVisitor<'b> {
        match self {
            Self::Multiply(multiply) => {
                let Multiply { a, b, c, d, .. } = multiply;
                let sources = a.iter().chain(b).chain(c);
                operands.reads(sources.copied()).writes(d.iter().copied())
            }
            Self::MultiplyGroup(multiply) => {
                let a = match &multiply.a {
                    GroupSource::Registers(registers) => &registers[..],
                    GroupSource::Shared(descriptor) => std::slice::from_ref(descriptor),
                };
                let results = multiply.d.iter().map(|&d| Src(d));
                operands
                    .reads(a.iter().copied().chain([multiply.b]).chain(results))
                    .reads_preds(Some(multiply.accumulates))
                    .writes(multiply.d.iter().copied())
            }
            Self::Load(load) => operands
                .reads(load.stride)
                .at(&load.at)
                .writes(load.registers.iter().copied()),
            Self::Store(store) => {
                let sources = store.registers.iter().copied();
                operands.reads(sources.chain(store.stride)).at(&store.at)
            }
            Self::LoadRows(load) => operands.at(&load.at).writes(load.registers.iter().copied()),
            Self::StoreRows(store) => operands
                .reads(store.registers.iter().copied())
                .at(&store.at),
            Self::Transpose { d, a } => operands.reads([*a]).writes([*d]),
        }
    }
}
