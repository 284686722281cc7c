//! Memory operations of a wave that have been issued and are not complete, in weak memory mode.

use super::access::Element;
use super::counters::Counters;
use super::space::Space;
use crate::weak::{Ignored, Weak};

/// A part of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredPiece {
    pub(super) lane: usize,
    pub(super) place: (Space, u64),
    pub(super) bytes: u32,
    pub(super) value: u128,
}

impl StoredPiece {
    /// Whether it stores to some of these bytes.
    pub(super) fn overlaps(&self, (space, address): (Space, u64), bytes: u32) -> bool {
        self.place.0 == space
            && self.place.1 < address.saturating_add(bytes.into())
            && address < self.place.1.saturating_add(self.bytes.into())
    }
}

/// An operation that is not complete.
#[derive(Debug)]
pub(super) enum Operation {
    /// Elements that registers receive: lanes and values.
    Load {
        row: usize,
        element: Element,
        values: Vec<(usize, u128)>,
    },
    /// Words that scalar registers receive.
    ScalarLoad { first: u8, words: Vec<u32> },
    /// Elements that memory receives; none if it has them already. Counters count in order, whatever
    /// the order in which memory receives stores.
    Store(Vec<StoredPiece>),
}

/// The operations of a wave, the oldest first.
#[derive(Debug)]
pub(super) struct Pending {
    operations: Vec<(Operation, Counters)>,
    /// Those of the instruction that is being executed.
    pub(super) loaded: Vec<(usize, u128)>,
    pub(super) stored: Vec<StoredPiece>,
    random: Random,
    ignores_store_waits: bool,
}

/// Random numbers, the same for the same seed. Source: Marsaglia, "Xorshift RNGs" (2003).
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

impl Pending {
    /// None yet. `salt` tells waves apart.
    pub(super) fn new(weak: Weak, salt: u64) -> Self {
        Self {
            operations: Vec::new(),
            loaded: Vec::new(),
            stored: Vec::new(),
            random: Random::new(weak.seed.get() ^ salt),
            ignores_store_waits: weak.ignores(Ignored::StoreWaits),
        }
    }

    pub(super) fn add(&mut self, operation: Operation, counters: Counters) {
        self.operations.push((operation, counters));
    }

    /// Takes the oldest operation that a wait for a counter completes, if more than `most` may be
    /// outstanding.
    pub(super) fn take_waited(&mut self, counter: usize, most: usize) -> Option<Operation> {
        loop {
            let counted = |(_, counters): &(Operation, Counters)| counters.has(counter);
            if self.operations.iter().filter(|it| counted(it)).count() <= most {
                return None;
            }
            let at = self.operations.iter().position(counted)?;
            // It may be counted by another counter.
            if let (false, Some(older)) = (self.ignores_store_waits, self.older_overlapping(at)) {
                return self.take_in_order(older);
            }
            let (operation, counters) = &mut self.operations[at];
            let is_complete = counters.remove(counter);
            // It is not counted any more, and arrives at some time.
            let stays = self.ignores_store_waits && matches!(operation, Operation::Store(_));
            if is_complete && !stays {
                return Some(self.operations.remove(at).0);
            }
        }
    }

    /// Takes a store that has to complete before a load of these bytes: one to them, or one that
    /// precedes it.
    pub(super) fn take_store_to(&mut self, place: (Space, u64), bytes: u32) -> Option<Operation> {
        let overlaps = |(operation, _): &(Operation, Counters)| match operation {
            Operation::Store(pieces) => pieces.iter().any(|piece| piece.overlaps(place, bytes)),
            Operation::Load { .. } | Operation::ScalarLoad { .. } => false,
        };
        let at = self.operations.iter().position(overlaps)?;
        self.take_in_order(at)
    }

    /// Takes the content of a store, or of the oldest one that has to complete before it: stores to the
    /// same bytes stay in order.
    fn take_in_order(&mut self, at: usize) -> Option<Operation> {
        let mut first = at;
        while let Some(older) = self.older_overlapping(first) {
            first = older;
        }
        self.take_pieces(first)
    }

    /// The oldest store to some of the bytes of a store, before it.
    fn older_overlapping(&self, at: usize) -> Option<usize> {
        let Operation::Store(pieces) = &self.operations[at].0 else {
            return None;
        };
        self.operations[..at].iter().position(|(operation, _)| {
            let Operation::Store(others) = operation else {
                return false;
            };
            let mut pairs = pieces
                .iter()
                .flat_map(|piece| others.iter().map(move |other| (piece, other)));
            pairs.any(|(piece, other)| other.overlaps(piece.place, piece.bytes))
        })
    }

    /// Takes the content of a store, which goes on to be counted.
    fn take_pieces(&mut self, at: usize) -> Option<Operation> {
        let Operation::Store(pieces) = &mut self.operations[at].0 else {
            return None;
        };
        Some(Operation::Store(std::mem::take(pieces)))
    }

    /// Takes a store that happens to complete now. Stores to the same bytes stay in order.
    pub(super) fn take_by_chance(&mut self) -> Option<Operation> {
        // A store for which nobody waits stays long enough for the host to miss it.
        let rarity = if self.ignores_store_waits { 64 } else { 16 };
        if self.operations.is_empty() || self.random.below(rarity) != 0 {
            return None;
        }
        let at = self.random.below(self.operations.len() as u64) as usize;
        self.take_in_order(at)
    }

    /// Takes any store of several, or nothing by chance. Stores to the same bytes stay in order.
    pub(super) fn take_one_of_many(&mut self) -> Option<Operation> {
        if self.ignores_store_waits {
            return None;
        }
        let is_store = |(operation, _): &(Operation, Counters)| matches!(operation, Operation::Store(pieces) if !pieces.is_empty());
        let stores: Vec<_> = (0..self.operations.len())
            .filter(|&at| is_store(&self.operations[at]))
            .collect();
        if stores.len() < 2 || self.random.below(2) == 0 {
            return None;
        }
        let at = stores[self.random.below(stores.len() as u64) as usize];
        self.take_in_order(at)
    }

    /// Takes the oldest operation if there are as many as counters count.
    pub(super) fn take_excess(&mut self) -> Option<Operation> {
        const MAX: usize = 63;
        (self.operations.len() > MAX).then(|| self.operations.remove(0).0)
    }

    /// Takes the oldest operation.
    pub(super) fn take_any(&mut self) -> Option<Operation> {
        (!self.operations.is_empty()).then(|| self.operations.remove(0).0)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::super::counters::Counter;
    use super::*;
    use crate::arch::Generation;

    fn store(address: u64, bytes: u32, value: u128) -> Operation {
        Operation::Store(vec![StoredPiece {
            lane: 0,
            place: (Space::Global, address),
            bytes,
            value,
        }])
    }

    /// Three stores, the second of which overlaps both others.
    fn overlapping() -> Pending {
        let seed = NonZero::new(3).expect("not 0");
        let mut pending = Pending::new(
            Weak {
                seed,
                ignored: None,
            },
            0,
        );
        let [stores, flat] = [Counters::one(Counter::Store.on(Generation::Gfx11)); 2];
        pending.add(store(0, 4, 1), flat.and(Counter::Lds));
        pending.add(store(0, 8, 2), stores);
        pending.add(store(4, 4, 3), stores);
        pending
    }

    /// The values of a store's content.
    fn values(operation: Option<Operation>) -> Vec<u128> {
        match operation {
            Some(Operation::Store(pieces)) => pieces.iter().map(|piece| piece.value).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn stores_to_the_same_bytes_stay_in_order() {
        // A load of the last bytes needs all of them.
        let mut pending = overlapping();
        let load = (Space::Global, 4);
        let order: Vec<_> = (0..4)
            .map(|_| values(pending.take_store_to(load, 4)))
            .collect();
        assert_eq!(order, [vec![1], vec![2], vec![3], vec![]]);

        let mut pending = overlapping();
        let chosen = (0..1000).map(|_| values(pending.take_by_chance()));
        let order: Vec<_> = chosen.flatten().collect();
        assert_eq!(order, [1, 2, 3]);

        // The first is counted by another counter too, for which nothing waits.
        let mut pending = overlapping();
        let counter = Counter::Store.on(Generation::Gfx11);
        let waited = (0..5).map(|_| values(pending.take_waited(counter as usize, 0)));
        let order: Vec<_> = waited.flatten().collect();
        assert_eq!(order, [1, 2, 3]);
    }
}
