//! The layout of small arguments: at most four small ranges and values that do not overlap, such as
//! the arguments and the result of a typed call. The general layout takes several times as long as
//! the rest of such a call.

use std::mem::MaybeUninit;
use std::ptr::{NonNull, without_provenance_mut};

use shared_abi::map_kind::MapKind;

use super::{Arg, HostArg, Limits, PresentTable, Scratch};

/// Maximum arguments.
const ARGS: usize = 4;

/// Maximum bytes of an argument.
const BYTES: usize = 64;

/// Maximum alignment of an argument.
const ALIGN: usize = 16;

/// Host memory for the ranges.
#[repr(align(16))]
pub(super) struct Memory([[MaybeUninit<u8>; BYTES + ALIGN]; ARGS]);

const _: () = assert!(align_of::<Memory>() == ALIGN && (BYTES + ALIGN).is_multiple_of(ALIGN));

impl Memory {
    /// Uninitialised memory.
    #[inline]
    pub(super) fn new() -> Self {
        Self([[MaybeUninit::uninit(); BYTES + ALIGN]; ARGS])
    }
}

/// Whether these are at most four small ranges, with kinds that copy, and values, and none overlap.
#[inline]
fn fits(args: &[Arg]) -> bool {
    let is_range = |arg: &Arg| arg.kind.plain() != MapKind::FIRSTPRIVATE_INT;
    let fits_alone = |arg: &Arg| {
        let copies = matches!(
            arg.kind.plain(),
            MapKind::TO | MapKind::FROM | MapKind::TOFROM
        );
        copies
            && arg.addr != 0
            && arg.size.wrapping_sub(1) < BYTES as u64
            && arg.addr.checked_add(arg.size).is_some()
            && arg.kind.align().is_some_and(|align| align <= ALIGN)
    };
    let is_apart = |arg: &Arg, other: &Arg| {
        !is_range(other) || arg.addr + arg.size <= other.addr || other.addr + other.size <= arg.addr
    };
    args.len() <= ARGS
        && args.iter().enumerate().all(|(index, arg)| {
            !is_range(arg)
                || fits_alone(arg) && args[..index].iter().all(|other| is_apart(arg, other))
        })
}

impl Scratch {
    /// [`prepare`](Self::prepare) with `memory` for small arguments; `false` if the arguments are
    /// anything else. Then nothing is prepared.
    ///
    /// # Safety
    /// `memory` lives, and is not moved, until the request ends.
    #[inline]
    pub(super) unsafe fn prepare_small(
        &mut self,
        memory: &mut Memory,
        limits: &Limits,
        args: &[Arg],
        present: &PresentTable,
    ) -> bool {
        let may_be_limited = limits.max_bytes < (3 * ARGS * BYTES) as u64;
        if may_be_limited || !present.is_empty() || !fits(args) {
            return false;
        }
        for (index, (arg, memory)) in args.iter().zip(&mut memory.0).enumerate() {
            let kind = arg.kind.plain();
            let mut host = HostArg::null(arg.kind);
            host.size = arg.size;
            if kind == MapKind::FIRSTPRIVATE_INT {
                host.ptr = without_provenance_mut(arg.addr as usize);
                self.args.push(host);
                continue;
            }
            let len = arg.size as usize;
            // As in the general layout, also where the device's address is not aligned.
            let is_aligned = |align| arg.addr.is_multiple_of(align as u64);
            let skip = match arg.kind.align().is_some_and(is_aligned) {
                true => arg.addr as usize % ALIGN,
                false => 0,
            };
            let place = NonNull::from(&mut memory[skip..skip + len]).cast::<u8>();
            if kind == MapKind::FROM {
                // SAFETY: `place` has `len` bytes.
                unsafe { place.write_bytes(0, len) };
            }
            host.ptr = place.as_ptr();
            self.args.push(host);
            let copies = (kind != MapKind::FROM, kind != MapKind::TO);
            // SAFETY: `place` has `len` bytes of the memory, which lives until the request ends.
            unsafe { self.copy(index, arg.addr, place, len, copies) };
        }
        true
    }
}
