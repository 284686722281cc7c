//! A request is found even if the other slots of its wire are always busy.

use core::mem::offset_of;

use host_rt::model::Poll;
use host_rt::model::native::{NativeRequest, Poller};
use shared_abi::wire::native::{RequestHeader, Slot, ready_offset, size, slot_offset};
use shared_abi::words::{Coherent, Store, SystemWords};

/// A `native` wire, and the current sequence numbers of its slots.
struct Wire {
    words: Coherent,
    seqs: Vec<u32>,
    _memory: Vec<Slot>,
}

impl Wire {
    fn new(slots: u32) -> Self {
        // SAFETY: a slot is plain words, all of which may be 0.
        let slot: Slot = unsafe { std::mem::zeroed() };
        let mut memory = vec![slot; size(slots).div_ceil(size_of::<Slot>())];
        Self {
            // SAFETY: the vector has the size and the alignment of the wire, is not accessed
            // otherwise, and is dropped with `words`.
            words: unsafe { Coherent::new(memory.as_mut_ptr().cast()) },
            seqs: vec![0; slots as usize],
            _memory: memory,
        }
    }

    fn publish(&mut self, slot: u32) {
        let slots = self.seqs.len() as u32;
        let seq = &mut self.seqs[slot as usize];
        *seq += 1;
        let at = slot_offset(slots, slot) + offset_of!(Slot, request);
        self.words
            .store32(at + offset_of!(RequestHeader, seq), *seq, Store::Release);
        self.words.store32(ready_offset(slot), *seq, Store::Relaxed);
    }

    /// Polls until the request in `waiting` is found, while callers in the slots `busy` call again
    /// as soon as they are served.
    fn polls_until(&mut self, waiting: u32, busy: &[u32]) -> Option<u32> {
        let slots = self.seqs.len() as u32;
        let mut poller = Poller::new(self.words, slots, 0);
        busy.iter().for_each(|&slot| self.publish(slot));
        for poll in 0..100_000 {
            if poll == 100 {
                self.publish(waiting);
            }
            if let Poll::Request(NativeRequest { slot, .. }) = poller.poll() {
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
