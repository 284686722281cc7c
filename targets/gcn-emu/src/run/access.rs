//! Accesses to memory: what is read or written, whatever the address.

use bus_cost::record::FenceScope;
use race_check::Scope;

use super::atomic::AtomicOp;
use super::counters::{Counter, Counters};
use crate::arch::Generation;
use crate::inst::Segment;

/// An access to memory of each active lane.
pub(super) struct Access {
    pub(super) action: Action,
    /// The first row of the data that is read from registers, or written to them.
    pub(super) data: u16,
    /// The first row of a second datum, of LDS instructions.
    pub(super) second: u16,
    /// Offsets in bytes; the second is of instructions with two addresses.
    pub(super) offsets: [i64; 2],
    pub(super) segment: Segment,
    /// A load may find old content in caches of the compute unit.
    pub(super) hits_caches: bool,
    /// The scope within which other waves may access the memory concurrently, as with an atomic access; none if
    /// it is that of a wave.
    pub(super) scope: Option<Scope>,
    /// An index and an offset of a buffer are in vector registers.
    pub(super) idxen: bool,
    pub(super) offen: bool,
}

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It loads an element to registers.
    Load(Element),
    /// It stores an element from registers.
    Store(Element),
    /// An atomic operation, which may return the old value.
    Atomic(AtomicOp, Element, bool),
    /// It concerns caches.
    Caches(CacheEffects),
}

/// The caches that an instruction invalidates, and those that it writes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheEffects {
    /// The caches of vector loads that it invalidates, the nearest first: two of the compute unit, and L2 as far
    /// as nothing keeps that coherent.
    pub(super) invalidates: [bool; 3],
    /// The scope as far as which it writes caches back; none if it does not.
    pub(super) writes_back: Option<FenceScope>,
}

/// An element in memory, and in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// Bytes in memory.
    pub(super) bytes: u32,
    /// Extended with its sign.
    pub(super) signed: bool,
    /// The half of the register that has it; all of it otherwise.
    pub(super) half: Option<crate::inst::Half>,
}

impl Element {
    /// Registers of a lane.
    pub(super) fn words(self) -> usize {
        self.bytes.div_ceil(4) as usize
    }

    /// The word in a register after loading `loaded` over `old`.
    pub(super) fn extended(self, loaded: u32, old: u32) -> u32 {
        use crate::inst::Half;
        let value = match (self.bytes, self.signed) {
            (1, true) => i32::from(loaded as i8).cast_unsigned(),
            (2, true) => i32::from(loaded as i16).cast_unsigned(),
            _ => loaded,
        };
        match self.half {
            None => value,
            Some(Half::Low) => old & 0xffff_0000 | value & 0xffff,
            Some(Half::High) => old & 0xffff | value << 16,
        }
    }

    /// The bits of a register that are stored.
    pub(super) fn stored(self, word: u32) -> u32 {
        match self.half {
            Some(crate::inst::Half::High) => word >> 16,
            _ => word,
        }
    }
}

/// The action of an instruction's name, such as `flat_load_d16_hi_u8` or `ds_add_rtn_u32`, without
/// those that an encoding has for itself.
pub(super) fn action(name: &str, returns: bool) -> Option<Action> {
    let (_, name) = name.split_once('_')?;
    if let Some(element) = name.strip_prefix("load_") {
        return Some(Action::Load(element_of(element)?));
    }
    if let Some(element) = name.strip_prefix("store_") {
        return Some(Action::Store(element_of(element)?));
    }
    let is_prefixed = name.starts_with("atomic_");
    let name = name.strip_prefix("atomic_").unwrap_or(name);
    let (name, returns) = match name.split_once("_rtn_") {
        Some((name, kind)) => (format!("{name}_{kind}"), true),
        None => (name.to_owned(), is_prefixed && returns),
    };
    let (op, bytes) = AtomicOp::of(&name)?;
    let element = Element {
        bytes,
        signed: false,
        half: None,
    };
    Some(Action::Atomic(op, element, returns))
}

/// The element of a name such as `d16_hi_u8`, `u8_d16_hi` or `b96`.
fn element_of(name: &str) -> Option<Element> {
    use crate::inst::Half;
    let (mut kind, mut half) = (None, None);
    for part in name.split('_') {
        match part {
            "d16" => half = Some(Half::Low),
            "hi" => half = Some(Half::High),
            part => {
                if kind.replace(part).is_some() {
                    return None;
                }
            }
        }
    }
    let kind = kind?;
    let bits: u32 = kind[1..].parse().ok()?;
    if !matches!(bits, 8 | 16 | 32 | 64 | 96 | 128) {
        return None;
    }
    Some(Element {
        bytes: bits / 8,
        signed: kind.starts_with('i'),
        half,
    })
}

impl Action {
    /// Bytes of an access.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Load(element) | Self::Store(element) | Self::Atomic(_, element, _) => {
                element.bytes
            }
            Self::Caches(_) => 0,
        }
    }

    /// The same of two adjacent elements.
    pub(super) fn doubled(self) -> Self {
        let double = |element: Element| Element {
            bytes: 2 * element.bytes,
            ..element
        };
        match self {
            Self::Load(element) => Self::Load(double(element)),
            Self::Store(element) => Self::Store(double(element)),
            Self::Atomic(op, element, returns) => Self::Atomic(op, double(element), returns),
            Self::Caches(effects) => Self::Caches(effects),
        }
    }

    /// The counters of such an access to memory; a flat one may be to LDS.
    pub(super) fn counters(self, generation: Generation, is_flat: bool) -> Counters {
        let counter = match self {
            Self::Store(_) | Self::Atomic(_, _, false) => Counter::Store,
            Self::Load(_) | Self::Atomic(_, _, true) | Self::Caches(_) => Counter::Load,
        };
        let counters = Counters::one(counter.on(generation));
        match is_flat {
            true => counters.and(Counter::Lds),
            false => counters,
        }
    }
}
