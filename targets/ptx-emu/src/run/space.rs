//! The memory of a device thread.

use std::alloc::{Layout, handle_alloc_error};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use device_arena::Arena;

use super::launch::Launch;
use crate::alu::LANES;
use crate::code::op::{Semantics, StateSpace};
use crate::error::FaultKind;
use crate::memory::{self, CODE, LOCAL, Memory, PARAM, SHARED, WINDOW};
use crate::spec::MAX_SHARED;

/// Local memory of one thread, the maximum of hardware. Source: the CUDA C++
/// programming guide, table "Technical Specifications per Compute Capability".
pub(super) const LOCAL_BYTES: u32 = 512 << 10;

/// Zeroed memory of one OS thread, aligned for every access.
///
/// It is a mapping of its own, whose pages are allocated at their first use. The allocator would
/// zero reused memory, 16 MiB for a warp that uses a few words.
#[derive(Debug)]
pub(super) struct Private(Arena);

impl Private {
    fn new(bytes: usize) -> Self {
        let arena = Arena::new(bytes as u64, None);
        Self(arena.unwrap_or_else(|_| {
            // The same reaction as `Box`'s to a lack of memory.
            let layout = Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u64>());
            handle_alloc_error(layout)
        }))
    }

    /// The address of an access, which must be inside.
    fn at(&self, offset: usize) -> *mut u8 {
        self.0.base().as_ptr().wrapping_add(offset)
    }

    fn bytes(&self) -> usize {
        self.0.bytes() as usize
    }

    /// Zeroes the first `bytes`.
    fn clear(&mut self, bytes: usize) {
        assert!(bytes <= self.bytes(), "inside the memory");
        // SAFETY: inside, as was just asserted, and not shared.
        unsafe { self.at(0).write_bytes(0, bytes) };
    }

    pub(super) fn copy_within(&self, from: usize, to: usize, len: usize) {
        assert!(from.max(to) + len <= self.bytes(), "inside local memory");
        // SAFETY: both ranges are inside, as was just asserted.
        unsafe { std::ptr::copy(self.at(from), self.at(to), len) };
    }
}

/// Memory of ended blocks for reuse by others of their multiprocessor, so that it is not allocated
/// for each block.
#[derive(Default)]
pub(super) struct Spare {
    locals: Vec<Private>,
    shared: Vec<Private>,
}

impl Spare {
    /// Local memory of a warp, with the content of an earlier one.
    pub(super) fn local(&mut self) -> Private {
        let spare = self.locals.pop();
        spare.unwrap_or_else(|| Private::new(LANES * LOCAL_BYTES as usize))
    }

    /// Shared memory of a block, zeroed.
    pub(super) fn shared(&mut self, bytes: u32) -> Private {
        let spare = self.shared.pop();
        let mut shared = spare.unwrap_or_else(|| Private::new(MAX_SHARED as usize));
        shared.clear(bytes as usize);
        shared
    }

    /// Takes a block's memory back.
    pub(super) fn add(&mut self, shared: Private, locals: impl Iterator<Item = Private>) {
        self.shared.push(shared);
        self.locals.extend(locals);
    }
}

/// The memory of an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryRef {
    /// Memory that other threads and the host may use concurrently.
    Common(*mut u8),
    /// Memory that only this OS thread uses.
    Own(*mut u8),
}

/// The memory that the threads of a warp can access.
pub(super) struct Spaces<'a> {
    global: &'a Memory,
    shared: &'a Private,
    /// Bytes of shared memory of the launch.
    shared_bytes: u32,
    local: &'a Private,
    params: &'a [u64],
}

/// An access, for errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) name: &'static str,
    pub(super) bytes: u32,
    pub(super) write: bool,
}

impl<'a> Spaces<'a> {
    pub(super) fn of(launch: &'a Launch, shared: &'a Private, local: &'a Private) -> Self {
        Self {
            global: &launch.memory,
            shared,
            shared_bytes: launch.shared_bytes(),
            local,
            params: &launch.params,
        }
    }

    /// The memory of a lane's access to `address` in `space`.
    ///
    /// # Errors
    /// The access is not allowed.
    pub(super) fn find(
        &self,
        lane: usize,
        space: StateSpace,
        address: u64,
        access: Access,
    ) -> Result<MemoryRef, FaultKind> {
        let bytes = u64::from(access.bytes);
        if !address.is_multiple_of(bytes) {
            return Err(FaultKind::Misaligned {
                access: access.name,
                address,
                bytes: access.bytes,
            });
        }
        let unreachable = |what: &str| FaultKind::Unreachable {
            access: access.name,
            address,
            bytes: access.bytes,
            what: what.to_owned(),
        };
        let end = |offset: u64| offset.checked_add(bytes);
        match space {
            StateSpace::Global => {
                if !memory::is_global(address) {
                    return Err(unreachable("not in global memory"));
                }
                match self.global.resolve(address, bytes, access.write) {
                    Some(host) => Ok(MemoryRef::Common(host.as_ptr())),
                    None if self.global.resolve(address, bytes, false).is_some() => {
                        Err(unreachable("constant"))
                    }
                    None => Err(unreachable("not allocated")),
                }
            }
            StateSpace::Shared => {
                let size = u64::from(self.shared_bytes);
                if end(address).is_none_or(|end| end > size) {
                    return Err(unreachable("beyond the block's shared memory"));
                }
                Ok(MemoryRef::Own(self.shared.at(address as usize)))
            }
            StateSpace::Local | StateSpace::Frame => {
                if end(address).is_none_or(|end| end > u64::from(LOCAL_BYTES)) {
                    return Err(unreachable(
                        "beyond the 512 KiB of local memory, the stack, of a thread",
                    ));
                }
                let at = lane * LOCAL_BYTES as usize + address as usize;
                Ok(MemoryRef::Own(self.local.at(at)))
            }
            StateSpace::Param => {
                if access.write || end(address).is_none_or(|end| end > 8 * self.params.len() as u64)
                {
                    return Err(unreachable("no parameter, or to be written"));
                }
                Ok(MemoryRef::Own(
                    self.params
                        .as_ptr()
                        .cast::<u8>()
                        .wrapping_add(address as usize)
                        .cast_mut(),
                ))
            }
            StateSpace::Generic => {
                let inner = |space, base| (space, address - base);
                let (space, offset) = if memory::is_global(address) {
                    inner(StateSpace::Global, 0)
                } else if is_window(address, SHARED) {
                    inner(StateSpace::Shared, SHARED)
                } else if is_window(address, LOCAL) {
                    inner(StateSpace::Local, LOCAL)
                } else if is_window(address, PARAM) {
                    inner(StateSpace::Param, PARAM)
                } else if is_window(address, CODE) {
                    return Err(unreachable("code"));
                } else if address < 1 << 16 {
                    return Err(unreachable("next to null"));
                } else {
                    return Err(unreachable("no device address"));
                };
                self.find(lane, space, offset, access)
                    .map_err(|fault| with_address(fault, address))
            }
        }
    }
}

/// The fault with the program's address.
fn with_address(fault: FaultKind, address: u64) -> FaultKind {
    match fault {
        FaultKind::Unreachable {
            access,
            bytes,
            what,
            ..
        } => FaultKind::Unreachable {
            access,
            address,
            bytes,
            what,
        },
        FaultKind::Misaligned { access, bytes, .. } => FaultKind::Misaligned {
            access,
            address,
            bytes,
        },
        other => other,
    }
}

/// Whether an address is in the window at `base`.
pub(super) fn is_window(address: u64, base: u64) -> bool {
    address.wrapping_sub(base) < WINDOW
}

/// The window of a space, for conversions to generic addresses.
pub(super) fn window(space: StateSpace) -> u64 {
    match space {
        StateSpace::Shared => SHARED,
        StateSpace::Local | StateSpace::Frame => LOCAL,
        StateSpace::Param => PARAM,
        StateSpace::Generic | StateSpace::Global => 0,
    }
}

/// Whether a generic address is in a space.
pub(super) fn is_in(address: u64, space: StateSpace) -> bool {
    match space {
        StateSpace::Global => memory::is_global(address),
        StateSpace::Generic => true,
        _ => is_window(address, window(space)),
    }
}

/// Whether an address of a space is in local memory.
pub(super) fn is_local(space: StateSpace, address: u64) -> bool {
    match space {
        StateSpace::Local | StateSpace::Frame => true,
        StateSpace::Generic => is_in(address, StateSpace::Local),
        StateSpace::Global | StateSpace::Shared | StateSpace::Param => false,
    }
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
