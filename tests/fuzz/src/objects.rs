//! Handles and addresses that calls have returned.

/// A handle or an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<K> {
    pub(crate) kind: K,
    pub(crate) value: u64,
    /// The object that it belongs to, such as a context, and with which it ends.
    pub(crate) owner: u64,
    /// Its size, if it is memory.
    pub(crate) bytes: u64,
    is_live: bool,
}

/// All of a sequence of calls.
#[derive(Debug)]
pub(crate) struct Objects<K> {
    all: Vec<Object<K>>,
    /// Values that no call has returned to this sequence: numbers that are made up, and handles of others.
    strange: Vec<u64>,
}

impl<K: Copy + PartialEq> Objects<K> {
    pub(crate) fn new(strange: Vec<u64>) -> Self {
        Self {
            all: Vec::new(),
            strange,
        }
    }

    pub(crate) fn add(&mut self, kind: K, value: u64, owner: u64, bytes: u64) {
        self.all.push(Object {
            kind,
            value,
            owner,
            bytes,
            is_live: true,
        });
    }

    /// Those that are there.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Object<K>> {
        self.all.iter().filter(|object| object.is_live)
    }

    /// Those of these kinds.
    pub(crate) fn live_of(&self, kinds: &[K]) -> std::vec::IntoIter<Object<K>> {
        let live = self.live().filter(|object| kinds.contains(&object.kind));
        live.copied().collect::<Vec<_>>().into_iter()
    }

    /// The one of these kinds that an operand names: mostly one that is there and that `owner` has, or else one that
    /// another owner has, has ended, is of another kind, or is strange.
    pub(crate) fn pick(&self, kinds: &[K], owner: Option<u64>, operand: u8) -> Object<K> {
        let is_its = |object: &Object<K>| owner.is_none_or(|owner| object.owner == owner);
        let number = usize::from(operand);
        let nth = |found: Vec<Object<K>>| (!found.is_empty()).then(|| found[number % found.len()]);
        let all = || self.all.iter().copied();
        let found = match operand {
            0..200 => nth(self.live_of(kinds).filter(is_its).collect()),
            200..212 => nth(self.live_of(kinds).collect()),
            212..224 => nth(all().filter(|object| !object.is_live).collect()),
            224..236 => nth(all()
                .filter(|object| object.is_live && !kinds.contains(&object.kind))
                .collect()),
            _ => Some(self.strange(kinds[0], number)),
        };
        found.unwrap_or_else(|| self.strange(kinds[0], number))
    }

    fn strange(&self, kind: K, number: usize) -> Object<K> {
        Object {
            kind,
            value: self.strange[number % self.strange.len()],
            owner: 0,
            bytes: 64,
            is_live: false,
        }
    }

    /// Marks an object as ended.
    pub(crate) fn end(&mut self, value: u64) {
        let all = self.all.iter_mut();
        all.filter(|object| object.value == value)
            .for_each(|object| object.is_live = false);
    }

    /// Marks the newest object of a kind with a value as ended: several may have it.
    pub(crate) fn end_last(&mut self, kind: K, value: u64) {
        let all = self.all.iter_mut().rev();
        let last = all.filter(|object| object.is_live && object.kind == kind);
        if let Some(last) = last.into_iter().find(|object| object.value == value) {
            last.is_live = false;
        }
    }

    /// Marks all objects of an owner as ended.
    pub(crate) fn end_all_of(&mut self, owner: u64) {
        let all = self.all.iter_mut();
        all.filter(|object| object.owner == owner)
            .for_each(|object| object.is_live = false);
    }
}

/// A part of memory that operands choose: mostly inside, or else at or beyond the end, or with an end that overflows.
pub(crate) fn part<K>(memory: &Object<K>, offset: u8, len: u8) -> (u64, u64) {
    let (start, bytes) = (memory.value, memory.bytes);
    let offset = match offset {
        0..160 => 0,
        160..192 => 4 * u64::from(offset - 160),
        192..208 => u64::from(offset - 191),
        208..216 => bytes.wrapping_sub(4),
        216..224 => bytes.wrapping_sub(1),
        224..232 => bytes,
        232..240 => 1 << 40,
        _ => u64::MAX.wrapping_sub(start),
    };
    let address = start.wrapping_add(offset);
    let len = match len {
        0..192 => (u64::from(len) + 1).min(bytes),
        192..200 => bytes,
        200..208 => bytes.wrapping_sub(offset),
        208..216 => bytes + 1,
        216..224 => 0,
        224..232 => 1 << 40,
        232..240 => u64::MAX - 7,
        240..248 => u64::MAX.wrapping_sub(address),
        _ => u64::MAX.wrapping_sub(address).wrapping_add(2),
    };
    (address, len)
}
