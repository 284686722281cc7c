//! A kernel that lets heat flow along a ring whose parts belong to ranks of MPI.
//!
//! It runs all steps in one launch: before each, it exchanges the cells at its ends with its neighbours.
#![no_std]
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel)
)]

use core::slice;

use device_rt::thread;
use host_fn::CallError;
use mpi_calls::{Operation, allreduce, irecv, isend, rank, size};

device_rt::image!();

/// The tags of cells that go to the next rank, and to the one before.
const TO_NEXT: u32 = 0;
const TO_PREVIOUS: u32 = 1;

/// Lets heat flow for `steps` steps, with one thread. `cells` are those of this rank, `count` of them, and `other` has
/// as many; the result is in `cells`. `total` gets the heat of all ranks.
///
/// # Safety
/// All are distinct memory of these lengths, at least one cell; no other thread uses it.
#[device_rt::kernel]
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
    for _ in 0..steps {
        // A call that fails is an error of the launch.
        let Ok((before, after)) = exchange(from) else {
            return;
        };
        for (i, cell) in to.iter_mut().enumerate() {
            let left = if i == 0 { before } else { from[i - 1] };
            let right = from.get(i + 1).copied().unwrap_or(after);
            // The heat that leaves a cell enters the next: none is lost in rounding.
            *cell = from[i] + (left - from[i]) / 4 + (right - from[i]) / 4;
        }
        (from, to) = (to, from);
    }
    if steps % 2 == 1 {
        to.copy_from_slice(from);
    }
    total[0] = from.iter().sum();
    let _ = allreduce(Operation::SUM, total);
}

/// The cells before and after those of this rank.
fn exchange(cells: &[i64]) -> Result<(i64, i64), CallError> {
    let (me, ranks) = (rank()?, size()?);
    let (previous, next) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
    let (mut before, mut after) = ([0], [0]);
    let from_previous = irecv(previous, TO_NEXT, &mut before)?;
    let from_next = irecv(next, TO_PREVIOUS, &mut after)?;
    let to_next = isend(next, TO_NEXT, &cells[cells.len() - 1..])?;
    let to_previous = isend(previous, TO_PREVIOUS, &cells[..1])?;
    from_previous.wait()?;
    from_next.wait()?;
    to_next.wait()?;
    to_previous.wait()?;
    Ok((before[0], after[0]))
}
