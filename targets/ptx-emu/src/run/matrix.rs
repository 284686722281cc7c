//! Instructions on matrices, which a warp executes as a whole.
//!
//! Diverged lanes wait for the others, as at other collective instructions. If some lanes cannot come,
//! because they have ended or the guard excludes them, that is a fault.

use device_arena::AccessKind;

use super::access::addresses;
use super::block_state::BlockState;
use super::checked_memory::{CheckedMemory, place_of};
use super::copies::CopyAddress;
use super::descriptor::Descriptor;
use super::fault::LaneFault;
use super::frame::Frame;
use super::group::State;
use super::launch::Launch;
use super::rendezvous::join;
use super::space::{Access, Spaces, shared_offset};
use super::warp::Warp;
use crate::alu::{LANES, Lanes, Mask};
use crate::check;
use crate::code::matrix::{
    Fragment, FragmentAccess, GROUP_ROWS, GroupSource, Matrix, Multiply, MultiplyGroup, RowAccess,
    Side,
};
use crate::code::op::{Address, Reg, Src, StateSpace};
use crate::error::FaultKind;
use crate::spec::Model;

/// Rows of an 8-by-8 matrix, and bytes of a row.
const ROWS: usize = 8;
const ROW_BYTES: u32 = 16;

/// Executes `op` for `active` lanes of the group at `at`. Returns whether it is complete; otherwise the
/// lanes wait for others.
pub(super) fn execute(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    at: usize,
    active: Mask,
    op: &Matrix,
) -> Result<bool, LaneFault> {
    let group = warp.groups[at];
    if active != Mask::MAX {
        let waits = warp.model() == Model::Independent && active == group.lanes;
        if !waits || warp.live() != Mask::MAX {
            return Err((active, FaultKind::NotWholeWarp { active }));
        }
        warp.groups[at].state = State::Joining { members: Mask::MAX };
        join(warp, block);
        return Ok(false);
    }
    let number = warp.frames.get(group.frame).function;
    match op {
        Matrix::Multiply(multiply) => {
            let frame = warp.frames.get_mut(group.frame);
            multiply_fragments(frame, multiply);
        }
        Matrix::Transpose { d, a } => {
            let frame = warp.frames.get_mut(group.frame);
            let rows = *frame.src(*a);
            frame.set(*d, active, &transposed(&rows));
        }
        _ => {
            let mut memory = MatrixMemory {
                words: CheckedMemory {
                    spaces: Spaces::of(launch, &block.shared, &warp.local),
                    clocks: block.clocks.as_mut(),
                    site: check::site(launch.module_id(), number, group.pc),
                },
                frame: warp.frames.get_mut(group.frame),
                warp: warp.number,
            };
            memory.access(op)?;
            let is_store = matches!(op, Matrix::Store(_) | Matrix::StoreRows(_));
            if is_store {
                block.progress = true;
                if warp.is_diverged() {
                    warp.changed_memory(at, 0, false);
                }
            }
        }
    }
    Ok(true)
}

/// Memory and registers of a warp.
struct MatrixMemory<'a> {
    words: CheckedMemory<'a>,
    frame: &'a mut Frame,
    /// Its number in the block.
    warp: u32,
}

impl MatrixMemory<'_> {
    fn access(&mut self, op: &Matrix) -> Result<(), LaneFault> {
        match op {
            Matrix::MultiplyGroup(multiply) => self.multiply_group(multiply),
            Matrix::Load(load) => self.load(load),
            Matrix::Store(store) => self.store(store),
            Matrix::LoadRows(load) => self.load_rows(load),
            Matrix::StoreRows(store) => self.store_rows(store),
            Matrix::Multiply(_) | Matrix::Transpose { .. } => Ok(()),
        }
    }

    fn addresses(&self, at: &Address) -> Lanes {
        addresses(at, self.frame)
    }

    /// The addresses of a fragment's elements, and their first bits there, by row and column.
    fn elements<R>(
        &self,
        access: &FragmentAccess<R>,
    ) -> Result<impl Fn(usize, usize) -> (u64, u32) + use<R>, LaneFault> {
        let FragmentAccess {
            at,
            fragment,
            is_row_major,
            stride,
            ..
        } = access;
        let starts = self.addresses(at);
        let length = if *is_row_major {
            fragment.columns()
        } else {
            fragment.rows()
        };
        let strides = match stride {
            Some(stride) => *self.frame.src(*stride),
            None => [length as u64; LANES],
        };
        let (start, stride) = (starts[0], strides[0]);
        let is_same = |lane: &usize| starts[*lane] == start && strides[*lane] == stride;
        if let Some(lane) = (0..LANES).find(|lane| !is_same(lane)) {
            return Err((1 << lane, FaultKind::BadMatrixOperand));
        }
        let bits = u64::from(fragment.format.bits());
        let is_row_major = *is_row_major;
        Ok(move |row: usize, column: usize| {
            let (major, minor) = if is_row_major {
                (row, column)
            } else {
                (column, row)
            };
            let elements = stride.wrapping_mul(major as u64).wrapping_add(minor as u64);
            let bit = elements.wrapping_mul(bits);
            (start.wrapping_add(bit / 8), (bit % 8) as u32)
        })
    }

    /// The warp's rows of a product by four warps.
    fn multiply_group(&mut self, multiply: &MultiplyGroup) -> Result<(), LaneFault> {
        let product = &multiply.product;
        let shape = product.shape;
        let first = self.warp as usize % 4 * GROUP_ROWS;
        let mut a = match &multiply.a {
            GroupSource::Registers(registers) => {
                let fragment = multiply.fragment(Side::A, product.a);
                gather(self.frame, &fragment, registers).swap_remove(0)
            }
            GroupSource::Shared(described) => {
                let places = (0..shape.m * shape.k).map(|at| (first + at / shape.k, at % shape.k));
                let bytes = product.a.bits() / 8;
                self.described(*described, places, bytes, multiply.is_transposed[0])?
            }
        };
        let places = (0..shape.k * shape.n).map(|at| (at % shape.n, at / shape.n));
        let bytes = product.b.bits() / 8;
        let mut b = self.described(multiply.b, places, bytes, multiply.is_transposed[1])?;
        for (matrix, is_negated, format) in [
            (&mut a, multiply.is_negated[0], product.a),
            (&mut b, multiply.is_negated[1], product.b),
        ] {
            let sign = u64::from(is_negated) << (format.bits() - 1);
            matrix.iter_mut().for_each(|bits| *bits ^= sign);
        }
        let fragment = multiply.fragment(Side::Sum, product.d);
        let accumulates = self.frame.pred(multiply.accumulates);
        if accumulates != 0 && accumulates != Mask::MAX {
            return Err((accumulates, FaultKind::BadMatrixOperand));
        }
        let c = if accumulates == 0 {
            vec![0; shape.m * shape.n]
        } else {
            let registers: Vec<Src> = multiply.d.iter().map(|&d| Src(d)).collect();
            gather(self.frame, &fragment, &registers).swap_remove(0)
        };
        let d = product.of(&a, &b, &c);
        scatter(self.frame, &fragment, &multiply.d, &[d]);
        Ok(())
    }

    /// Elements of a matrix in shared memory that a register describes, the same in all lanes, by
    /// their outer and inner positions.
    fn described(
        &mut self,
        described: Src,
        places: impl Iterator<Item = (usize, usize)>,
        bytes: u32,
        is_transposed: bool,
    ) -> Result<Vec<u64>, LaneFault> {
        let values = *self.frame.src(described);
        let descriptor =
            Descriptor::new(values[0]).filter(|_| values.iter().all(|&it| it == values[0]));
        let descriptor = descriptor.ok_or((Mask::MAX, FaultKind::BadMatrixOperand))?;
        let load = |(outer, k): (usize, usize)| {
            let at = CopyAddress::Shared(descriptor.offset(outer, k, bytes, is_transposed));
            let word = self.words.load((self.warp, 0), at, bytes);
            word.map_err(|kind| (Mask::MAX, kind))
        };
        places.map(load).collect()
    }

    fn load(&mut self, load: &FragmentAccess<Reg>) -> Result<(), LaneFault> {
        let fragment = &load.fragment;
        let element_at = self.elements(load)?;
        let bytes = (fragment.format.bits() / 8).max(1);
        let mut values = vec![0; fragment.rows() * fragment.columns()];
        for (index, value) in values.iter_mut().enumerate() {
            let (row, column) = (index / fragment.columns(), index % fragment.columns());
            let lane = lane_of(fragment, index);
            let (address, bit) = element_at(row, column);
            let found = place_of(load.at.space, address, Access::load(bytes))
                .and_then(|at| self.words.load((self.warp, lane), at, bytes))
                .map_err(|kind| (1 << lane, kind))?;
            *value = found >> bit & (u64::MAX >> (64 - fragment.format.bits()));
        }
        scatter(self.frame, fragment, &load.registers, &[values]);
        Ok(())
    }

    fn store(&mut self, store: &FragmentAccess<Src>) -> Result<(), LaneFault> {
        let fragment = &store.fragment;
        let element_at = self.elements(store)?;
        let bytes = fragment.format.bits() / 8;
        let values = gather(self.frame, fragment, &store.registers);
        for (index, &value) in values[0].iter().enumerate() {
            let (row, column) = (index / fragment.columns(), index % fragment.columns());
            let lane = lane_of(fragment, index);
            let (address, _) = element_at(row, column);
            place_of(store.at.space, address, Access::store(bytes))
                .and_then(|at| self.words.store((self.warp, lane), at, bytes, value))
                .map_err(|kind| (1 << lane, kind))?;
        }
        Ok(())
    }

    /// The place of a row of an 8-by-8 matrix, whose address a lane has.
    fn row_at(
        &mut self,
        space: StateSpace,
        starts: &Lanes,
        lane: usize,
        kind: AccessKind,
    ) -> Result<u64, LaneFault> {
        let thread = (self.warp, lane);
        let access = Access {
            kind,
            bytes: ROW_BYTES,
        };
        let offset = shared_offset(space, starts[lane], access);
        offset
            .and_then(|offset| {
                let at = CopyAddress::Shared(offset);
                self.words.check(thread, at, (ROW_BYTES, ROW_BYTES), kind)?;
                Ok(offset)
            })
            .map_err(|kind| (1 << lane, kind))
    }

    /// `ldmatrix`: lane `l` gets two elements of row `l / 4`, or of that column.
    fn load_rows(&mut self, load: &RowAccess<Reg>) -> Result<(), LaneFault> {
        let starts = self.addresses(&load.at);
        for (matrix, &d) in load.registers.iter().enumerate() {
            let mut words: Lanes = [0; LANES];
            for row in 0..ROWS {
                let lane = matrix * ROWS + row;
                let start = self.row_at(load.at.space, &starts, lane, AccessKind::Load)?;
                for part in 0..4 {
                    let at = CopyAddress::Shared(start + part as u64 * 4);
                    let word = self.words.load((self.warp, lane), at, 4);
                    words[row * 4 + part] = word.map_err(|kind| (1 << lane, kind))?;
                }
            }
            if load.is_transposed {
                words = transposed(&words);
            }
            self.frame.set(d, Mask::MAX, &words);
        }
        Ok(())
    }

    fn store_rows(&mut self, store: &RowAccess<Src>) -> Result<(), LaneFault> {
        let starts = self.addresses(&store.at);
        for (matrix, &source) in store.registers.iter().enumerate() {
            let mut words = *self.frame.src(source);
            if store.is_transposed {
                words = transposed(&words);
            }
            for row in 0..ROWS {
                let lane = matrix * ROWS + row;
                let start = self.row_at(store.at.space, &starts, lane, AccessKind::Store)?;
                for part in 0..4 {
                    let at = CopyAddress::Shared(start + part as u64 * 4);
                    let word = words[row * 4 + part];
                    self.words
                        .store((self.warp, lane), at, 4, word)
                        .map_err(|kind| (1 << lane, kind))?;
                }
            }
        }
        Ok(())
    }
}

/// A lane that holds an element, for reports.
fn lane_of(fragment: &Fragment, index: usize) -> usize {
    index * LANES / (fragment.rows() * fragment.columns())
}

/// An 8-by-8 matrix of 16 bits whose rows become columns. A lane has two elements of a row.
fn transposed(words: &Lanes) -> Lanes {
    std::array::from_fn(|lane| {
        let (row, first) = (lane / 4, lane % 4 * 2);
        let element = |column: usize| words[column * 4 + row / 2] >> (row % 2 * 16) & 0xffff;
        element(first) | element(first + 1) << 16
    })
}

fn multiply_fragments(frame: &mut Frame, multiply: &Multiply) {
    let product = &multiply.product;
    let matrices = |side, format, registers: &[Src]| {
        let fragment = multiply.fragment(side, format);
        gather(frame, &fragment, registers)
    };
    let a = matrices(Side::A, product.a, &multiply.a);
    let b = matrices(Side::B, product.b, &multiply.b);
    let c = matrices(Side::Sum, product.c, &multiply.c);
    let all = a.iter().zip(&b).zip(&c);
    let d: Vec<_> = all.map(|((a, b), c)| product.of(a, b, c)).collect();
    let fragment = multiply.fragment(Side::Sum, product.d);
    scatter(frame, &fragment, &multiply.d, &d);
}

/// The elements of matrices that lanes hold, in rows.
fn gather(frame: &Frame, fragment: &Fragment, registers: &[Src]) -> Vec<Vec<u64>> {
    let (packed, bits) = (fragment.packed(), fragment.format.bits());
    let columns = fragment.columns();
    let mut matrices = vec![vec![0; fragment.rows() * columns]; fragment.products()];
    for (number, &register) in registers.iter().enumerate() {
        let words = frame.src(register);
        for part in 0..packed {
            for (lane, word) in words.iter().enumerate() {
                let (matrix, row, column) = fragment.place(lane, number * packed + part);
                let value = word >> (part as u32 * bits) & (u64::MAX >> (64 - bits));
                matrices[matrix][row * columns + column] = value;
            }
        }
    }
    matrices
}

/// Distributes the elements of matrices among lanes.
fn scatter(frame: &mut Frame, fragment: &Fragment, registers: &[Reg], matrices: &[Vec<u64>]) {
    let (packed, bits) = (fragment.packed(), fragment.format.bits());
    for (number, &register) in registers.iter().enumerate() {
        let mut words: Lanes = [0; LANES];
        for part in 0..packed {
            for (lane, word) in words.iter_mut().enumerate() {
                let (matrix, row, column) = fragment.place(lane, number * packed + part);
                let value = matrices[matrix][row * fragment.columns() + column];
                *word |= value << (part as u32 * bits);
            }
        }
        frame.set(register, Mask::MAX, &words);
    }
}
