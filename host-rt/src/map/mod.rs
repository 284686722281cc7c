//! Argument mapping: gives a host function access to a device's memory.
//!
//! A request names ranges of device memory, each with a [kind](shared_abi::map_kind). A `Mapper`
//! gives each range an address on the host, copies the bytes that the kinds request with one
//! `Transfer::fetch`, calls the function, and copies results back with one `Transfer::store`.
//!
//! | a range is | its host address | plain `TO`, `FROM`, `TOFROM` copy |
//! |---|---|---|
//! | in data of the [`PresentTable`] | in the original | nothing |
//! | not, and overlaps others of the request | in memory that all of them share | as each kind requests |
//! | on its own | in memory of its own | as its kind requests |
//!
//! This is what libgomp does for `target device(ancestor:1)`, with these
//! differences:
//! - Ranges that overlap share host memory as they share device memory. The order
//!   of the arguments has no influence, and each range's own kind says what is
//!   copied; libgomp copies nothing for a range that lies in an earlier one, and
//!   maps ranges that overlap in part to separate memory.
//! - The size of `POINTER`, `ALWAYS_POINTER` and `ATTACH` is, as everywhere else
//!   in GCC, the distance from the pointer's value to the data before it. Pointers
//!   that were attached keep their device value when their surroundings are
//!   copied back.
//! - A range that lies only partly in present data is rejected.
//! - Data that is not on the host and need not be (`DELETE`, `RELEASE`) is a null
//!   pointer for the function, never a device address.
//! - Memory that is not copied to the host is zero.
//!
//! The device is not trusted: invalid arguments cost at most an error and the memory and copies
//! that `Limits` allow.

mod arena;
mod blocks;
mod budget;
mod error;
mod foreign;
mod kinds;
mod plan;
mod pointers;
mod present;
mod small_args;
mod transfer;

#[cfg(test)]
mod tests;

use std::{ffi::c_void, ptr, sync::Arc};

use shared_abi::map_kind::MapKind;

pub(crate) use budget::{Budget, BudgetShare};
pub(crate) use error::RunError;
pub use error::{ArgInfo, MapError};
pub use present::{InsertError, PresentRange, PresentTable, RemoveError};
pub use transfer::TransferError;
pub(crate) use transfer::{Piece, Transfer};

pub use crate::wire::Arg;

use arena::Arena;
use blocks::{Block, Range};
use plan::Plan;
use pointers::{Patch, Site};
use present::Present;

// Addresses and lengths of a device are 64 bits wide and become host addresses.
const _: () = assert!(size_of::<usize>() == 8);

/// One argument as the host function receives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostArg {
    /// Host address. The value itself for `FIRSTPRIVATE_INT`. Null for an argument that was null on
    /// the device, and for `DELETE` and similar kinds of data that is not on the host. Aligned as
    /// the kind requests if `exclusive` and the device's address was aligned; otherwise as the
    /// surrounding data.
    pub(crate) ptr: *mut u8,
    /// Bytes that `ptr` is valid for, all initialised; for `FIRSTPRIVATE_INT` the device's value.
    pub(crate) size: u64,
    /// The kind.
    pub(crate) kind: MapKind,
    /// Whether only this argument of this call uses the bytes, so that a mutable reference to them
    /// is sound.
    pub(crate) exclusive: bool,
    /// Whether the bytes are an original in the [`PresentTable`]: then other requests may use them
    /// at the same time.
    pub(crate) present: bool,
}

impl HostArg {
    fn null(kind: MapKind) -> Self {
        HostArg {
            ptr: ptr::null_mut(),
            size: 0,
            kind,
            exclusive: true,
            present: false,
        }
    }
}

/// The limits of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of host memory, and bytes to copy in each direction.
    pub(crate) max_bytes: u64,
    /// Bytes of host memory that a mapper keeps for the next request.
    pub(crate) keep_bytes: usize,
}

/// Empties a list of a request, and frees most of its memory if it was long.
pub(crate) fn clear<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(1024);
}

/// Maps the arguments of requests, one request at a time; there is one per serving thread. Reuses
/// its memory, so that only a request larger than all earlier ones allocates.
pub(crate) struct Mapper {
    limits: Limits,
    scratch: Scratch,
}

impl Mapper {
    /// A mapper that rejects requests beyond `limits`, and beyond the rest of `budget`.
    #[must_use]
    pub(crate) fn new(limits: Limits, budget: Arc<Budget>) -> Self {
        Mapper {
            limits,
            scratch: Scratch::new(limits.keep_bytes, BudgetShare::new(budget)),
        }
    }

    /// Runs `call`, by which another runtime maps `args`, if they are within the limits, and that
    /// runtime can trust them. `may_be_mapped` is whether it may have mapped data in a range of
    /// device addresses.
    ///
    /// # Errors
    /// [`RunError::Map`] if the arguments are invalid, [`RunError::Call`] with the error of `call`.
    pub(crate) fn run_unmapped<R, E>(
        &mut self,
        args: &[Arg],
        may_be_mapped: &dyn Fn(u64, u64) -> bool,
        call: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, RunError<E>> {
        // Held until `call` has returned, which needs as much memory.
        let guard = ScratchGuard(&mut self.scratch);
        let data = Data::Foreign(may_be_mapped);
        guard.0.plan(&self.limits, args, &data)?;
        call().map_err(RunError::Call)
    }

    /// Maps `args`, runs `call` with the pointers and the description for a host function of
    /// libgomp's kind, and copies results back. If `call` fails, nothing is copied back.
    ///
    /// During `call` each [`HostArg::ptr`] is valid for reads and writes of its size, unless it is
    /// null or a `FIRSTPRIVATE_INT`. Afterwards only pointers into originals of `present` are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`RunError::Map`] if the arguments are rejected or a copy fails, [`RunError::Call`] with the
    /// error of `call`.
    #[inline]
    pub(crate) fn run<R, E, T: Transfer + ?Sized>(
        &mut self,
        args: &[Arg],
        present: &PresentTable,
        transfer: &mut T,
        call: impl FnOnce(&mut [*mut c_void], &[HostArg]) -> Result<R, E>,
    ) -> Result<R, RunError<E>> {
        if args.is_empty() {
            return call(&mut [], &[]).map_err(RunError::Call);
        }
        let mut memory = small_args::Memory::new();
        let guard = ScratchGuard(&mut self.scratch);
        let scratch = &mut *guard.0;
        // SAFETY: `memory` lives longer than `guard`, with which the request ends.
        let is_small = unsafe { scratch.prepare_small(&mut memory, &self.limits, args, present) };
        if !is_small {
            scratch.prepare(&self.limits, args, present)?;
        }
        if !scratch.fetches.is_empty() {
            transfer.fetch(&scratch.fetches).map_err(MapError::Fetch)?;
        }
        if !scratch.sites.is_empty() {
            scratch.attach(args, present)?;
        }
        let addresses = scratch.args.iter().map(|arg| arg.ptr.cast());
        scratch.pointers.extend(addresses);
        let result = call(&mut scratch.pointers, &scratch.args).map_err(RunError::Call)?;
        scratch.detach();
        if !scratch.stores.is_empty() {
            transfer.store(&scratch.stores).map_err(MapError::Store)?;
        }
        Ok(result)
    }
}

/// The arguments of a request that are mapped for longer than a call: until this is dropped.
pub(crate) struct Mapped(Scratch);

impl Mapped {
    /// Maps `args`, within `limits` and the rest of `budget`.
    ///
    /// # Errors
    /// The arguments are rejected or a copy fails.
    pub(crate) fn new<T: Transfer + ?Sized>(
        limits: Limits,
        budget: Arc<Budget>,
        args: &[Arg],
        present: &PresentTable,
        transfer: &mut T,
    ) -> Result<Self, MapError> {
        // An error drops it, which ends the request.
        let mut this = Self(Scratch::new(limits.keep_bytes, BudgetShare::new(budget)));
        let scratch = &mut this.0;
        scratch.prepare(&limits, args, present)?;
        if !scratch.fetches.is_empty() {
            transfer.fetch(&scratch.fetches).map_err(MapError::Fetch)?;
        }
        if !scratch.sites.is_empty() {
            scratch.attach(args, present)?;
        }
        Ok(this)
    }

    /// The arguments for the function. Each [`HostArg::ptr`] is valid for reads and writes of its size,
    /// unless it is null or a `FIRSTPRIVATE_INT`, until this is dropped.
    pub(crate) fn args(&self) -> &[HostArg] {
        &self.0.args
    }

    /// Copies results back. Nothing else uses the memory of the arguments meanwhile.
    ///
    /// # Errors
    /// A copy fails.
    pub(crate) fn store<T: Transfer + ?Sized>(&mut self, transfer: &mut T) -> Result<(), MapError> {
        self.0.detach();
        if !self.0.stores.is_empty() {
            transfer.store(&self.0.stores).map_err(MapError::Store)?;
        }
        Ok(())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        drop(ScratchGuard(&mut self.0));
    }
}

/// The mapped data that arguments may lie in.
enum Data<'a> {
    Present(&'a PresentTable),
    /// Data of another runtime; whether it may have mapped data in a range of device addresses.
    Foreign(&'a dyn Fn(u64, u64) -> bool),
}

/// Working memory of a mapper; all lists are empty between requests.
struct Scratch {
    /// The request's share of the runtime's memory for requests.
    share: BudgetShare,
    arena: Arena,
    /// The arguments for the function.
    args: Vec<HostArg>,
    /// Their addresses.
    pointers: Vec<*mut c_void>,
    /// Ranges that need memory of this request.
    ranges: Vec<Range>,
    /// That memory, by device address.
    blocks: Vec<Block>,
    /// Arguments that lie in the memory of other arguments, if anywhere.
    unbacked: Vec<usize>,
    /// Pointers to be set.
    sites: Vec<Site>,
    /// Pointers that were set.
    patches: Vec<Patch>,
    fetches: Vec<Piece>,
    stores: Vec<Piece>,
    /// Present data that the request uses.
    held: Vec<Arc<Present>>,
}

// SAFETY: raw pointers in the lists point into the arena and into present data, both of which the scratch
// keeps until its request ends and which can be sent, or (in a `Mapper`) to memory of a method call, on
// the thread of that call.
unsafe impl Send for Scratch {}

impl Scratch {
    fn new(keep: usize, share: BudgetShare) -> Self {
        Scratch {
            share,
            arena: Arena::new(keep),
            args: Vec::new(),
            pointers: Vec::new(),
            ranges: Vec::new(),
            blocks: Vec::new(),
            unbacked: Vec::new(),
            sites: Vec::new(),
            patches: Vec::new(),
            fetches: Vec::new(),
            stores: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Finds a host address for every argument, and lists the copies.
    fn prepare(
        &mut self,
        limits: &Limits,
        args: &[Arg],
        present: &PresentTable,
    ) -> Result<(), MapError> {
        self.plan(limits, args, &Data::Present(present))?;
        self.lay_out(args)?;
        if !self.unbacked.is_empty() {
            self.locate_unbacked(args)?;
        }
        Ok(())
    }

    /// Checks every argument, and lists those that need memory.
    fn plan(&mut self, limits: &Limits, args: &[Arg], data: &Data<'_>) -> Result<(), MapError> {
        Plan::new(self, limits, args, data).run()
    }

    /// Lists copies of `len` bytes at `host` for argument `entry`.
    ///
    /// # Safety
    ///
    /// `host` is valid for reads and writes of `len` bytes until the request ends.
    unsafe fn copy(
        &mut self,
        entry: usize,
        device: u64,
        host: ptr::NonNull<u8>,
        len: usize,
        (to, from): (bool, bool),
    ) {
        if len == 0 {
            return;
        }
        // SAFETY: valid by the caller's promise; pieces are lent before and after the function
        // runs, never while it runs.
        let piece = || unsafe { Piece::new(entry, device, host, len) };
        if to {
            self.fetches.push(piece());
        }
        if from {
            self.stores.push(piece());
        }
    }
}

/// The working memory during a request. Its drop empties the memory, even if the function panics.
struct ScratchGuard<'a>(&'a mut Scratch);

impl Drop for ScratchGuard<'_> {
    fn drop(&mut self) {
        let scratch = &mut *self.0;
        clear(&mut scratch.args);
        clear(&mut scratch.pointers);
        clear(&mut scratch.ranges);
        clear(&mut scratch.blocks);
        clear(&mut scratch.unbacked);
        clear(&mut scratch.sites);
        clear(&mut scratch.patches);
        clear(&mut scratch.fetches);
        clear(&mut scratch.stores);
        clear(&mut scratch.held);
        scratch.arena.reset();
        scratch.share.release();
    }
}
