//! A kernel that lets heat flow along a ring whose parts belong to ranks of MPI.
//!
//! `halo` runs all steps in one launch: before each, it exchanges the cells at its ends with its neighbours. `step` runs
//! one, for a host that exchanges them itself.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use core::slice;

use mpi_calls::{Neighbor, Operation, allreduce, exchange, rank, size};
use revoff_device::thread;
use revoff_fn::CallError;

revoff_device::image!();

/// The tags of cells that go to the next rank, and to the one before.
const TO_NEXT: u32 = 0;
const TO_PREVIOUS: u32 = 1;

/// Lets heat flow for `steps` steps, with one thread. `cells` are those of this rank, `count` of them, and `other` has
/// as many; the result is in `cells`. `total` gets the heat of all ranks.
///
/// # Safety
/// All are distinct memory of these lengths, at least one cell; no other thread uses it.
#[revoff_device::kernel]
pub unsafe fn halo(cells: *mut i64, other: *mut i64, count: u64, steps: u64, total: *mut i64) {
    if thread::global() > 0 {
        return;
    }
    let count = count as usize;
    // SAFETY: the caller's promise.
    let (mut from, mut to, total) = unsafe {
        (
            slice::from_raw_parts_mut(cells, count),
            slice::from_raw_parts_mut(other, count),
            slice::from_raw_parts_mut(total, 1),
        )
    };
    // A call that fails is an error of the launch.
    let Ok(ring) = Ring::new() else { return };
    for _ in 0..steps {
        let Ok((before, after)) = ring.exchange(from) else {
            return;
        };
        flow(from, to, before, after);
        (from, to) = (to, from);
    }
    if steps % 2 == 1 {
        to.copy_from_slice(from);
    }
    total[0] = from.iter().sum();
    let _ = allreduce(Operation::SUM, total);
}

/// Lets heat flow for one step, with one thread, between cells whose neighbours at the ends are `before` and `after`.
///
/// # Safety
/// Both are distinct memory of `count` cells, at least one; no other thread uses it.
#[revoff_device::kernel]
pub unsafe fn step(from: *const i64, to: *mut i64, count: u64, before: i64, after: i64) {
    if thread::global() > 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (
            slice::from_raw_parts(from, count as usize),
            slice::from_raw_parts_mut(to, count as usize),
        )
    };
    flow(from, to, before, after);
}

/// A step.
fn flow(from: &[i64], to: &mut [i64], before: i64, after: i64) {
    for (i, cell) in to.iter_mut().enumerate() {
        let left = if i == 0 { before } else { from[i - 1] };
        let right = from.get(i + 1).copied().unwrap_or(after);
        // The heat that leaves a cell enters the next: none is lost in rounding.
        *cell = from[i] + (left - from[i]) / 4 + (right - from[i]) / 4;
    }
}

/// The ranks beside this one.
struct Ring {
    previous: u32,
    next: u32,
}

impl Ring {
    fn new() -> Result<Self, CallError> {
        let (me, ranks) = (rank()?, size()?);
        Ok(Self {
            previous: (me + ranks - 1) % ranks,
            next: (me + 1) % ranks,
        })
    }

    /// The cells before and after those of this rank.
    fn exchange(&self, cells: &[i64]) -> Result<(i64, i64), CallError> {
        let (mut before, mut after) = ([0], [0]);
        let (first, last) = (&cells[..1], &cells[cells.len() - 1..]);
        let previous = Neighbor {
            rank: self.previous,
            tag: TO_PREVIOUS,
            send: first,
            receive: &mut before,
        };
        let next = Neighbor {
            rank: self.next,
            tag: TO_NEXT,
            send: last,
            receive: &mut after,
        };
        exchange(previous, next)?;
        Ok((before[0], after[0]))
    }
}
