//! Words of the `native` wire that several models use.

use shared_abi::wire::native::{
    ROW, cell, progress_offset, replies_offset, row_offset, slot_offset,
};

use crate::Memory;

/// The rows of a slot that a model uses.
#[derive(Clone, Copy, Debug)]
pub struct SlotRows {
    /// Lanes that the wire's slots have room for.
    pub lanes: u32,
    /// Lanes that call together.
    pub count: u32,
    /// Rows of a lane's request.
    pub request: u32,
    /// Rows of a lane's reply.
    pub reply: u32,
}

/// Adds the cells of `slot`: the data of each is the row's index, and its sequence number is that of
/// the row. Cells are atomics; "polled" is the first cell of the row in which lanes learn of replies.
#[must_use]
pub fn add_cells(
    mut memory: Memory,
    slot: u32,
    rows: SlotRows,
    seq: impl Fn(u32) -> u32,
) -> Memory {
    let SlotRows { lanes, count, .. } = rows;
    let requests = slot_offset(lanes, slot);
    let replies = requests + replies_offset(lanes);
    let progress = requests + progress_offset(lanes);
    let polled = if count == 1 { replies } else { progress };
    let areas = [(requests, rows.request), (replies, rows.reply)];
    let mut all: Vec<_> = areas
        .into_iter()
        .flat_map(|(area, rows)| {
            let ranks = (0..rows).flat_map(|row| (0..count).map(move |rank| (row, rank)));
            ranks.map(move |(row, rank)| (area + row_offset(row, rank, count), row))
        })
        .collect();
    if count > 1 {
        all.push((progress, 0));
    }
    for (at, row) in all {
        let name = if at == polled { "polled" } else { "cell" };
        memory = memory.flag64(at, name, cell(row, seq(row))).flag64(
            at + ROW / 2,
            "cell",
            cell(row, seq(row)),
        );
    }
    memory
}
