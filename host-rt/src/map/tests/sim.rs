//! A device made of a vector of bytes, which records copies.

use std::{cell::Cell, convert::Infallible};

use shared_abi::map_kind::MapKind;

use crate::device::{DeviceAddr, DeviceError};
use crate::map::{
    Arg, Budget, HostArg, Limits, MapError, Mapper, Piece, PresentTable, RunError, Transfer,
    TransferError,
};

/// Device address of the first byte of a [`Sim`].
pub(super) const BASE: u64 = 0x7_0000_0000;

/// A device with a few bytes of memory.
pub(super) struct Sim {
    pub(super) bytes: Vec<u8>,
    pub(super) fetch_calls: usize,
    pub(super) store_calls: usize,
    /// (argument, device address, length) of each copy.
    pub(super) fetched: Vec<(usize, u64, usize)>,
    pub(super) stored: Vec<(usize, u64, usize)>,
}

impl Sim {
    /// `len` bytes, each of which depends on its address.
    pub(super) fn new(len: usize) -> Self {
        Sim {
            bytes: (0..len).map(|i| pattern(BASE + i as u64)).collect(),
            fetch_calls: 0,
            store_calls: 0,
            fetched: Vec::new(),
            stored: Vec::new(),
        }
    }

    pub(super) fn put_u64(&mut self, addr: u64, value: u64) {
        let at = (addr - BASE) as usize;
        self.bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    fn slice(&mut self, piece: &Piece) -> Result<&mut [u8], TransferError> {
        let start = piece.device().checked_sub(BASE);
        start
            .and_then(|start| {
                let start = usize::try_from(start).ok()?;
                self.bytes.get_mut(start..start.checked_add(piece.len())?)
            })
            .ok_or_else(|| {
                let unreachable = DeviceError::Unreachable {
                    address: DeviceAddr(piece.device()),
                    len: piece.len() as u64,
                    what: "no such device memory",
                };
                TransferError::of(piece, unreachable)
            })
    }
}

pub(super) fn pattern(addr: u64) -> u8 {
    (addr % 251) as u8 + 1
}

impl Transfer for Sim {
    fn fetch(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        self.fetch_calls += 1;
        for piece in pieces {
            let bytes = self.slice(piece)?;
            // SAFETY: the piece is valid for its length, which is that of `bytes`.
            unsafe { piece.host().copy_from(bytes.as_ptr(), piece.len()) };
            self.fetched
                .push((piece.entry(), piece.device(), piece.len()));
        }
        Ok(())
    }

    fn store(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        self.store_calls += 1;
        for piece in pieces {
            let bytes = self.slice(piece)?;
            // SAFETY: the piece is valid for its length, which is that of `bytes`.
            unsafe { piece.host().copy_to(bytes.as_mut_ptr(), piece.len()) };
            self.stored
                .push((piece.entry(), piece.device(), piece.len()));
        }
        Ok(())
    }
}

pub(super) fn arg(kind: MapKind, addr: u64, size: u64) -> Arg {
    Arg::new(addr, size, kind)
}

pub(super) fn mapper() -> Mapper {
    limited(Limits::default())
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_bytes: 1 << 32,
            keep_bytes: 16 << 20,
        }
    }
}

/// A mapper with a budget of its own.
pub(super) fn limited(limits: Limits) -> Mapper {
    Mapper::new(limits, Budget::new(limits.max_bytes))
}

/// Runs `call`, which cannot fail, with a new mapper and without present data.
pub(super) fn run<R>(
    sim: &mut Sim,
    args: &[Arg],
    call: impl FnOnce(&[HostArg]) -> R,
) -> Result<R, MapError> {
    run_with(sim, args, &PresentTable::new(), call)
}

/// The same with present data. Checks invariants of every call.
pub(super) fn run_with<R>(
    sim: &mut Sim,
    args: &[Arg],
    present: &PresentTable,
    call: impl FnOnce(&[HostArg]) -> R,
) -> Result<R, MapError> {
    let called = Cell::new(false);
    let result = mapper().run(args, present, sim, |pointers, host| {
        called.set(true);
        assert_eq!(pointers.len(), args.len());
        assert_eq!(host.len(), args.len());
        for ((pointer, host), arg) in pointers.iter().zip(host).zip(args) {
            assert_eq!(pointer.addr(), host.ptr.addr());
            assert_eq!(host.kind, arg.kind);
        }
        Ok::<R, Infallible>(call(host))
    });
    match result {
        Ok(result) => {
            assert!(called.get());
            assert!(sim.fetch_calls <= 1 && sim.store_calls <= 1);
            Ok(result)
        }
        Err(RunError::Map(error)) => {
            assert_eq!(called.get(), matches!(error, MapError::Store(_)));
            Err(error)
        }
        Err(RunError::Call(never)) => match never {},
    }
}

/// The bytes of an argument.
#[expect(clippy::mut_from_ref, reason = "the bytes are not the argument's own")]
pub(super) fn bytes(arg: &HostArg) -> &mut [u8] {
    assert!(!arg.ptr.is_null());
    // SAFETY: valid and initialised for its size during the call, the only time
    // that there is a `HostArg`; the tests use one such slice at a time.
    unsafe { std::slice::from_raw_parts_mut(arg.ptr, arg.size as usize) }
}
