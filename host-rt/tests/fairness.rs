//! A request is found even if the other slots of its wire are always busy.

use std::sync::Arc;

use revoff_host::model::Poll;
use revoff_host::model::native::{NativeRequest, Poller, Warps};
use shared_abi::wire::native::{
    HEADER_ROWS, ROW, RequestMeta, cell, row_offset, size, slot_offset,
};
use shared_abi::words::{Coherent, SystemWords};

/// Lanes that a slot has room for.
const LANES: u32 = 1;

/// A `native` wire, and the current sequence numbers of its slots.
struct Wire {
    words: Coherent,
    seqs: Vec<u32>,
    _memory: Vec<u128>,
}

impl Wire {
    fn new(slots: u32) -> Self {
        let mut memory = vec![0; size(slots, LANES) / ROW];
        Self {
            // SAFETY: the vector has the size and the alignment of the wire, is not accessed
            // otherwise, and is dropped with `words`.
            words: unsafe { Coherent::new(memory.as_mut_ptr().cast()) },
            seqs: vec![0; slots as usize],
            _memory: memory,
        }
    }

    fn publish(&mut self, slot: u32) {
        let seq = &mut self.seqs[slot as usize];
        *seq += 1;
        let meta = RequestMeta::new(1, HEADER_ROWS, false, 0);
        for (row, data) in [meta.0, 0].into_iter().enumerate() {
            let at = slot_offset(LANES, slot) + row_offset(row as u32, 0, 1);
            self.words.store_pair(at, [cell(data, *seq), cell(0, *seq)]);
        }
    }

    /// Polls until the request in `waiting` is found, while callers in the slots `busy` call again
    /// as soon as they are served.
    fn polls_until(&mut self, waiting: u32, busy: &[u32]) -> Option<u32> {
        let warps = Arc::new(Warps::new(self.seqs.len() as u32, LANES));
        let mut poller = Poller::new(self.words, warps, 0);
        busy.iter().for_each(|&slot| self.publish(slot));
        for poll in 0..100_000 {
            if poll == 100 {
                self.publish(waiting);
            }
            if let Poll::Request(NativeRequest { lane, .. }) = poller.poll() {
                let slot = lane.slot;
                if slot == waiting {
                    return Some(poll);
                }
                self.publish(slot);
            }
        }
        None
    }
}

#[test]
fn behind_a_busy_slot() {
    assert!(Wire::new(32).polls_until(31, &[0]).is_some());
}

#[test]
fn behind_busy_slots_of_its_group() {
    assert!(Wire::new(32).polls_until(31, &[0, 1, 2, 3]).is_some());
}

#[test]
fn behind_a_busy_group() {
    let busy: Vec<u32> = (0..32).collect();
    assert!(Wire::new(1024).polls_until(1000, &busy).is_some());
}

#[test]
fn behind_busy_groups() {
    let busy: Vec<u32> = (0..992).collect();
    assert!(Wire::new(1024).polls_until(1000, &busy).is_some());
}
