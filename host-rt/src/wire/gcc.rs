//! Code shared by GCC's wires: arguments at device addresses, and completion words.

use core::mem::offset_of;
use std::ops::Range;

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::{BLOCK, BounceHeader};
use shared_abi::words::{Coherent, Load, Store, SystemWords};

use super::{Arg, ArgsError, Copier};
use crate::device::{DeviceAddr, DeviceError, MappedMemory};

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GccRequest {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u64,
    /// Device address of `mapnum` addresses.
    pub addrs: u64,
    /// Device address of `mapnum` sizes.
    pub sizes: u64,
    /// Device address of `mapnum` kinds.
    pub kinds: u64,
    /// The word that the caller waits for.
    pub completion: Completion,
}

/// The word that completes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The function word of the `gcc-slot`.
    FunctionWord,
    /// The word `written` of this slot of the `gcn-queue`.
    Slot(u32),
    /// The word at this device address.
    Signal(DeviceAddr),
}

impl GccRequest {
    /// Key of the launch that made the request; 0 if GCC's own code made it. The addresses of a
    /// request by `device-rt` follow a [`BounceHeader`], which contains the key.
    pub(super) fn launch(&self, bounce: &MappedMemory) -> u32 {
        let header = size_of::<BounceHeader>() as u64;
        let start = self.addrs.wrapping_sub(header);
        let extent = start.wrapping_sub(bounce.device.0);
        if !extent.is_multiple_of(BLOCK as u64) || !bounce.contains(DeviceAddr(start), header) {
            return 0;
        }
        // SAFETY: the header lies in the bounce area, which lives as long as `bounce`; the device's
        // accesses are atomic or ordered by the wire.
        let words = unsafe { Coherent::new(bounce.host.as_ptr()) };
        // Relaxed: S1, R1 or Q1 orders it.
        words.load32(
            extent as usize + offset_of!(BounceHeader, launch),
            Load::Relaxed,
        )
    }

    /// The bounce blocks of the request with arguments `args`. Requests of GCC's own code have
    /// none.
    pub(super) fn bounce_blocks(&self, args: &[Arg], copier: &Copier) -> Range<u32> {
        let blocks = |addr, len| {
            let at = copier.offset_in_bounce(DeviceAddr(addr), len)?;
            Some(at / BLOCK..(at + len as usize).div_ceil(BLOCK))
        };
        let Some(first) = blocks(self.addrs, 8) else {
            return 0..0;
        };
        let ends = args.iter().filter_map(|arg| blocks(arg.addr, arg.size));
        let ends = ends.chain(blocks(self.kinds, 2 * self.mapnum));
        let end = ends.map(|blocks| blocks.end).max();
        first.start as u32..end.unwrap_or(first.end) as u32
    }
}

/// Reads the three argument arrays, of `words.mapnum` entries each.
pub(super) fn read_args(
    words: &GccRequest,
    copier: &mut Copier,
    args: &mut Vec<Arg>,
) -> Result<(), ArgsError> {
    let count = words.mapnum as usize;
    let mut list = vec![0u64; count * 2];
    let mut kinds = vec![0u16; count];
    let mut fetch = |to: *mut u8, from: u64, len: usize| {
        // SAFETY: the calls below pass vectors with room for `len` bytes, which are unused until
        // `finish` has returned.
        unsafe { copier.fetch(to, DeviceAddr(from), len) }
    };
    let fetched = fetch(list.as_mut_ptr().cast(), words.addrs, count * 8)
        .and_then(|()| fetch(list[count..].as_mut_ptr().cast(), words.sizes, count * 8))
        .and_then(|()| fetch(kinds.as_mut_ptr().cast(), words.kinds, count * 2));
    // Started copies must end before the vectors are dropped, even after an error.
    let finished = copier.finish();
    fetched.and(finished).map_err(ArgsError::Arrays)?;
    let (addrs, sizes) = list.split_at(count);
    let entries = addrs.iter().zip(sizes).zip(kinds);
    args.extend(entries.map(|((&addr, &size), kind)| Arg::new(addr, size, MapKind(kind))));
    Ok(())
}

/// Completes the request of `gcc-ring` or `gcn-queue` whose completion word is at byte offset
/// `signal` of `memory`.
pub fn complete(memory: &impl SystemWords, signal: usize) {
    // Edge `R2`, completing end: a reader of the 1 sees the results.
    memory.store32(signal, 1, Store::Release);
}

/// Completes the request whose completion word is at device address `signal`.
pub(crate) fn complete_at(copier: &mut Copier, signal: DeviceAddr) -> Result<(), DeviceError> {
    match copier.offset_in_bounce(signal, 4) {
        Some(at) if at.is_multiple_of(4) => {
            complete(&copier.bounce(), at);
            Ok(())
        }
        // The completion word of GCC's own code is an `int` in device memory.
        _ => copier.store_word(signal, 1),
    }
}
