//! Accesses of host memory on behalf of device threads.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::code::op::Semantics;

/// The memory of an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryRef {
    /// Memory that other threads and the host may use concurrently.
    Common(*mut u8),
    /// Memory that only this OS thread uses.
    Own(*mut u8),
}

/// The order of a load on this machine: relaxed if PTX has no order, since its fences are fences
/// here. Weaker orders become stronger ones.
fn load_order(semantics: Semantics) -> Ordering {
    match semantics {
        Semantics::Weak | Semantics::Volatile | Semantics::Relaxed | Semantics::Release => {
            Ordering::Relaxed
        }
        Semantics::Acquire | Semantics::AcqRel => Ordering::Acquire,
        Semantics::Sc => Ordering::SeqCst,
    }
}

/// The same for a store.
fn store_order(semantics: Semantics) -> Ordering {
    match semantics {
        Semantics::Weak | Semantics::Volatile | Semantics::Relaxed | Semantics::Acquire => {
            Ordering::Relaxed
        }
        Semantics::Release | Semantics::AcqRel => Ordering::Release,
        Semantics::Sc => Ordering::SeqCst,
    }
}

macro_rules! atomic {
    ($at:expr, $bytes:expr, |$word:ident: $T:ident| $result:expr) => {
        match $bytes {
            1 => {
                type $T = u8;
                // SAFETY: the address is inside allocated memory (`find`), aligned for its size,
                // and all threads use only atomic operations.
                let $word = unsafe { AtomicU8::from_ptr($at) };
                $result
            }
            2 => {
                type $T = u16;
                // SAFETY: the address is inside allocated memory (`find`), aligned for its size,
                // and all threads use only atomic operations.
                let $word = unsafe { AtomicU16::from_ptr($at.cast()) };
                $result
            }
            4 => {
                type $T = u32;
                // SAFETY: the address is inside allocated memory (`find`), aligned for its size,
                // and all threads use only atomic operations.
                let $word = unsafe { AtomicU32::from_ptr($at.cast()) };
                $result
            }
            _ => {
                type $T = u64;
                // SAFETY: the address is inside allocated memory (`find`), aligned for its size,
                // and all threads use only atomic operations.
                let $word = unsafe { AtomicU64::from_ptr($at.cast()) };
                $result
            }
        }
    };
}

impl MemoryRef {
    /// Loads 1, 2, 4 or 8 bytes.
    #[expect(clippy::useless_conversion, reason = "of the widest of all widths")]
    pub(super) fn load(self, bytes: u32, semantics: Semantics) -> u64 {
        match self {
            Self::Common(at) => {
                let order = load_order(semantics);
                atomic!(at, bytes, |word: T| u64::from(word.load(order) as T))
            }
            // SAFETY: the address is inside (`find`), aligned, and not shared.
            Self::Own(at) => unsafe {
                match bytes {
                    1 => u64::from(at.read()),
                    2 => u64::from(at.cast::<u16>().read()),
                    4 => u64::from(at.cast::<u32>().read()),
                    _ => at.cast::<u64>().read(),
                }
            },
        }
    }

    /// Stores 1, 2, 4 or 8 bytes. Returns whether that changed them.
    pub(super) fn store(self, bytes: u32, value: u64, semantics: Semantics) -> bool {
        match self {
            Self::Common(at) => {
                let order = store_order(semantics);
                atomic!(at, bytes, |word: T| {
                    // Relaxed: advisory for waiting threads; no other access depends on it.
                    let changed = word.load(Ordering::Relaxed) != value as T;
                    word.store(value as T, order);
                    changed
                })
            }
            Self::Own(at) => {
                let old = self.load(bytes, semantics);
                // SAFETY: the address is inside (`find`), aligned, and not shared.
                unsafe {
                    match bytes {
                        1 => at.write(value as u8),
                        2 => at.cast::<u16>().write(value as u16),
                        4 => at.cast::<u32>().write(value as u32),
                        _ => at.cast::<u64>().write(value),
                    }
                }
                old != self.load(bytes, semantics)
            }
        }
    }

    /// Replaces a word by the result of `change`. Returns the old value.
    #[expect(clippy::useless_conversion, reason = "of the widest of all widths")]
    pub(super) fn update(self, bytes: u32, mut change: impl FnMut(u64) -> u64) -> u64 {
        match self {
            // The strongest order: programs cannot rely on a weaker one.
            // Relaxed: a guess, which the exchange confirms.
            Self::Common(at) => atomic!(at, bytes, |word: T| {
                let mut old = word.load(Ordering::Relaxed);
                loop {
                    let new = change(u64::from(old)) as T;
                    match word.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed)
                    {
                        Ok(old) => break u64::from(old),
                        Err(now) => old = now,
                    }
                }
            }),
            Self::Own(_) => {
                let old = self.load(bytes, Semantics::Weak);
                self.store(bytes, change(old), Semantics::Weak);
                old
            }
        }
    }
}
