//! Memory under model checking.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use shared_abi::words::{DeviceWords, Load, Store, SystemWords, TicketWord};

/// The side that accesses a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A device thread.
    Device,
    /// A thread of the host.
    Host,
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// The read-modify-write of a claim.
    FetchOr,
    /// The read-modify-write of a release.
    FetchAnd,
    /// The full fence.
    Fence,
    /// The fence before a store that publishes.
    ReleaseFence,
    /// The fence after a load that finds something published.
    AcquireFence,
}

/// A removed order: accesses of that kind, by that side, to the words of that name are relaxed. A
/// fence does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Weak(pub Side, pub Access, pub &'static str);

/// A word, by its permitted accesses.
enum Kind {
    /// An atomic of 4 bytes, by which threads synchronise.
    Flag32(AtomicU32),
    /// Like `Flag32`, of 8 bytes.
    Flag64(AtomicU64),
    /// Data of 4 bytes, accessed without order by its current owner. Loom fails the model if two
    /// threads access it, one of them writing, and no edge orders them. This is stricter than the
    /// real word, a relaxed atomic, and adds no branch to the search.
    Data32(UnsafeCell<u64>),
    /// Like `Data32`, of 8 bytes.
    Data64(UnsafeCell<u64>),
}

struct Word {
    name: &'static str,
    kind: Kind,
}

/// The words of one run of a model, by byte offset. Access to an undeclared offset, or with another
/// width, fails the model.
pub struct Memory {
    words: BTreeMap<usize, Word>,
    unread: Vec<Range<usize>>,
    weak: Option<Weak>,
}

// SAFETY: only loom's cells are not `Sync`. Loom runs one thread of a model at a time, so accesses
// never overlap, and it fails the model if two are unordered.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory without words, and without the order `weak`.
    #[must_use]
    pub fn new(weak: Option<Weak>) -> Self {
        Self {
            words: BTreeMap::new(),
            unread: Vec::new(),
            weak,
        }
    }

    fn word(mut self, at: usize, name: &'static str, kind: Kind) -> Self {
        let old = self.words.insert(at, Word { name, kind });
        assert!(old.is_none(), "two words at {at}");
        self
    }

    /// Adds a flag of 4 bytes at byte offset `at`. Panics if there is a word already.
    #[must_use]
    pub fn flag32(self, at: usize, name: &'static str, value: u32) -> Self {
        self.word(at, name, Kind::Flag32(AtomicU32::new(value)))
    }

    /// Adds a flag of 8 bytes at byte offset `at`. Panics if there is a word already.
    #[must_use]
    pub fn flag64(self, at: usize, name: &'static str, value: u64) -> Self {
        self.word(at, name, Kind::Flag64(AtomicU64::new(value)))
    }

    /// Adds a data word of 4 bytes at byte offset `at`. Panics if there is a word already.
    #[must_use]
    pub fn data32(self, at: usize, name: &'static str, value: u32) -> Self {
        self.word(at, name, Kind::Data32(UnsafeCell::new(value.into())))
    }

    /// Adds a data word of 8 bytes at byte offset `at`. Panics if there is a word already.
    #[must_use]
    pub fn data64(self, at: usize, name: &'static str, value: u64) -> Self {
        self.word(at, name, Kind::Data64(UnsafeCell::new(value)))
    }

    /// Adds bytes that are written but never read: stores of 8 bytes to undeclared offsets there have
    /// no effect.
    #[must_use]
    pub fn unread(mut self, range: Range<usize>) -> Self {
        self.unread.push(range);
        self
    }

    /// The device's view and the host's view.
    #[must_use]
    pub fn share(self) -> (View, View) {
        let memory = Arc::new(self);
        let view = |side| View {
            memory: Arc::clone(&memory),
            side,
            start: 0,
        };
        (view(Side::Device), view(Side::Host))
    }
}

/// One side's view of the memory from an offset on.
#[derive(Clone)]
pub struct View {
    memory: Arc<Memory>,
    side: Side,
    start: usize,
}

fn load_order(order: Load) -> Ordering {
    match order {
        Load::Relaxed => Ordering::Relaxed,
        Load::Acquire => Ordering::Acquire,
    }
}

fn store_order(order: Store) -> Ordering {
    match order {
        Store::Relaxed => Ordering::Relaxed,
        Store::Release => Ordering::Release,
    }
}

impl View {
    fn word(&self, at: usize) -> &Word {
        let at = self.start + at;
        match self.memory.words.get(&at) {
            Some(word) => word,
            None => panic!("{:?} accesses offset {at}, which has no word", self.side),
        }
    }

    fn is_unread(&self, at: usize) -> bool {
        let at = self.start + at;
        let Memory { words, unread, .. } = &*self.memory;
        !words.contains_key(&at) && unread.iter().any(|range| range.contains(&at))
    }

    fn is_weak(&self, access: Access, name: &str) -> bool {
        matches!(self.memory.weak, Some(Weak(side, a, n)) if (side, a, n) == (self.side, access, name))
    }

    /// `order`, unless it is the removed one.
    fn order(&self, access: Access, name: &str, order: Ordering) -> Ordering {
        if self.is_weak(access, name) {
            Ordering::Relaxed
        } else {
            order
        }
    }

    fn flag32(&self, at: usize) -> (&AtomicU32, &'static str) {
        match self.word(at) {
            Word {
                name,
                kind: Kind::Flag32(word),
            } => (word, name),
            Word { name, .. } => panic!("{name} is not a flag of 4 bytes"),
        }
    }

    fn read(cell: &UnsafeCell<u64>, order: Load, name: &str) -> u64 {
        assert_eq!(
            order,
            Load::Relaxed,
            "{name} is read with an order: declare a flag"
        );
        // SAFETY: loom passes a pointer to the cell's value, after checking that all writes are
        // ordered before this access.
        cell.with(|value| unsafe { *value })
    }

    fn write(cell: &UnsafeCell<u64>, value: u64, order: Store, name: &str) {
        assert_eq!(
            order,
            Store::Relaxed,
            "{name} is written with an order: declare a flag"
        );
        // SAFETY: loom passes a pointer to the cell's value, after checking that all accesses are
        // ordered before this one.
        cell.with_mut(|old| unsafe { *old = value });
    }
}

impl SystemWords for View {
    fn at_offset(&self, at: usize) -> Self {
        Self {
            start: self.start + at,
            ..self.clone()
        }
    }

    fn load32(&self, at: usize, order: Load) -> u32 {
        let Word { name, kind } = self.word(at);
        match kind {
            Kind::Flag32(word) => word.load(self.order(Access::Load, name, load_order(order))),
            Kind::Data32(cell) => Self::read(cell, order, name) as u32,
            _ => panic!("{name} has 8 bytes"),
        }
    }

    fn store32(&self, at: usize, value: u32, order: Store) {
        let Word { name, kind } = self.word(at);
        match kind {
            Kind::Flag32(word) => {
                word.store(value, self.order(Access::Store, name, store_order(order)));
            }
            Kind::Data32(cell) => Self::write(cell, value.into(), order, name),
            _ => panic!("{name} has 8 bytes"),
        }
    }

    fn load64(&self, at: usize, order: Load) -> u64 {
        let Word { name, kind } = self.word(at);
        match kind {
            Kind::Flag64(word) => word.load(self.order(Access::Load, name, load_order(order))),
            Kind::Data64(cell) => Self::read(cell, order, name),
            _ => panic!("{name} has 4 bytes"),
        }
    }

    fn store64(&self, at: usize, value: u64, order: Store) {
        if self.is_unread(at) {
            return;
        }
        let Word { name, kind } = self.word(at);
        match kind {
            Kind::Flag64(word) => {
                word.store(value, self.order(Access::Store, name, store_order(order)));
            }
            Kind::Data64(cell) => Self::write(cell, value, order, name),
            _ => panic!("{name} has 4 bytes"),
        }
    }

    fn fence(&self) {
        if !self.is_weak(Access::Fence, "fence") {
            fence(Ordering::SeqCst);
        }
    }

    fn release_fence(&self) {
        if !self.is_weak(Access::ReleaseFence, "fence") {
            fence(Ordering::Release);
        }
    }

    fn acquire_fence(&self) {
        if !self.is_weak(Access::AcquireFence, "fence") {
            fence(Ordering::Acquire);
        }
    }

    fn load8(&self, _: usize) -> u8 {
        unreachable!("models carry whole words")
    }

    fn store8(&self, _: usize, _: u8) {
        unreachable!("models carry whole words")
    }
}

impl DeviceWords for View {
    fn load32(&self, at: usize, order: Load) -> u32 {
        SystemWords::load32(self, at, order)
    }

    fn store32(&self, at: usize, value: u32, order: Store) {
        SystemWords::store32(self, at, value, order);
    }

    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32 {
        let (word, name) = self.flag32(at);
        word.fetch_or(mask, self.order(Access::FetchOr, name, Ordering::Acquire))
    }

    fn fetch_and_release(&self, at: usize, mask: u32) -> u32 {
        let (word, name) = self.flag32(at);
        word.fetch_and(mask, self.order(Access::FetchAnd, name, Ordering::Release))
    }
}

impl TicketWord for View {
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32 {
        self.flag32(at).0.fetch_add(n, Ordering::Relaxed)
    }
}
