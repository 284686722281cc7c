//! Relations among at most 64 events.

/// A row for each event: those that it is related to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    rows: Vec<u64>,
}

impl Relation {
    pub(super) fn new(events: usize) -> Self {
        assert!(events <= 64, "a row is a word");
        Self {
            rows: vec![0; events],
        }
    }

    /// The pairs for which it holds.
    pub(super) fn of(events: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        let mut all = Self::new(events);
        for a in 0..events {
            for b in 0..events {
                if holds(a, b) {
                    all.add(a, b);
                }
            }
        }
        all
    }

    pub(super) fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        (self.rows[a] >> b) & 1 != 0
    }

    fn each(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let rows = self.rows.iter().zip(&other.rows);
        Self {
            rows: rows.map(|(&a, &b)| f(a, b)).collect(),
        }
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        self.each(other, |a, b| a | b)
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.each(other, |a, b| a & b)
    }

    /// First this, then the other.
    pub(super) fn then(&self, other: &Self) -> Self {
        let row = |&row: &u64| {
            let via = (0..other.rows.len()).filter(|b| (row >> b) & 1 != 0);
            via.fold(0, |all, b| all | other.rows[b])
        };
        Self {
            rows: self.rows.iter().map(row).collect(),
        }
    }

    pub(super) fn inverse(&self) -> Self {
        Self::of(self.rows.len(), |a, b| self.has(b, a))
    }

    /// The same, or nothing.
    pub(super) fn optional(&self) -> Self {
        let mut all = self.clone();
        for (event, row) in all.rows.iter_mut().enumerate() {
            *row |= 1 << event;
        }
        all
    }

    /// Once or more.
    pub(super) fn closure(&self) -> Self {
        let mut all = self.clone();
        for via in 0..all.rows.len() {
            let next = all.rows[via];
            for row in &mut all.rows {
                if (*row >> via) & 1 != 0 {
                    *row |= next;
                }
            }
        }
        all
    }

    /// The pairs from one set of events to another.
    pub(super) fn between(&self, from: impl Fn(usize) -> bool, to: impl Fn(usize) -> bool) -> Self {
        Self::of(self.rows.len(), |a, b| self.has(a, b) && from(a) && to(b))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(|&row| row == 0)
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|event| !self.has(event, event))
    }

    pub(super) fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}
