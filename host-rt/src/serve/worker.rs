//! Serving one request: arguments, function, results, answer.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_fn::RawArg;
use shared_abi::status::Status;

use super::functions::Failed;
use super::in_flight::InFlight;
use super::poller::Served;
use super::{CallError, Entry, RequestMemory, Server};
use crate::device::DeviceError;
use crate::map::{Arg, HostArg, Limits, Mapper, Piece, RunError, Transfer, TransferError, clear};
use crate::wire::{Copier, Place, Taken, Wire};

/// Which call a host function runs for, as the device says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// The launch that called, as [`Launch::id`](crate::Launch::id) gives it; 0
    /// if the wire does not tell (images that GCC built).
    pub launch: u32,
}

thread_local! {
    static CALL: Cell<Option<CallContext>> = const { Cell::new(None) };
    /// The server that the call is one of, as long as it runs.
    static SERVER: Cell<Option<NonNull<Arc<Server>>>> = const { Cell::new(None) };
}

/// In a host function: serves calls of its runtime as [`Server::serve_until`] does.
/// Elsewhere: `false`, at once.
pub(crate) fn serve_until(done: impl Fn() -> bool) -> bool {
    let Some(server) = SERVER.get() else {
        return false;
    };
    // SAFETY: this thread is inside the call, during which the reference that this was made
    // from is borrowed.
    unsafe { server.as_ref() }.serve_until(done);
    true
}

/// The call that the running host function serves; `None` outside one.
#[must_use]
pub fn current_call() -> Option<CallContext> {
    CALL.get()
}

/// What a thread needs to serve requests, used again for each.
pub(super) struct Worker {
    limits: Limits,
    mapper: Mapper,
    copier: Copier,
    args: Vec<Arg>,
    places: Vec<Place>,
    raw_args: Vec<RawArg>,
    in_flight: Arc<InFlight>,
}

impl Worker {
    /// A worker that keeps up to `keep_bytes` of memory from one request to the next.
    pub(super) fn new(server: &Server, keep_bytes: usize) -> Self {
        let limits = Limits {
            max_bytes: server.config.request_memory,
            keep_bytes,
            ..Limits::default()
        };
        Self {
            in_flight: server.new_in_flight(),
            limits,
            mapper: Mapper::new(limits, Arc::clone(&server.requests.budget)),
            copier: server.copier(),
            args: Vec::new(),
            places: Vec::new(),
            raw_args: Vec::new(),
        }
    }

    /// Serves one request and answers it, whatever panics on the way: a host
    /// function, or what an application hangs into this library (a subscriber of
    /// its log, the drop of a panic's payload).
    pub(super) fn serve(&mut self, server: &Arc<Server>, served: &Served, taken: &Taken) {
        let wire = &*served.attached.wire;
        server.wait_for_text_of(served);
        let mut copied = 0;
        let run = catch_unwind(AssertUnwindSafe(|| {
            let result = self.run(server, served, taken, &mut copied);
            result.map_err(|(status, error)| {
                server.requests.launches.report(taken.launch, error);
                status
            })
        }));
        let status = match run {
            Ok(Ok(())) => Status::DONE,
            Ok(Err(status)) => status,
            Err(panic) => {
                // Callers on GCC's wires learn nothing: the launch must.
                let error = CallError::Protocol {
                    wire: wire.name(),
                    reason: format!("a request was not served: {}", panic_message(&*panic)),
                };
                // What has panicked may be a subscriber, which hears of this.
                let told =
                    AssertUnwindSafe(|| server.requests.launches.report(taken.launch, error));
                if let Err(again) = catch_unwind(told) {
                    std::mem::forget(again);
                }
                // Its drop might panic too.
                std::mem::forget(panic);
                Status::FUNCTION_FAILED
            }
        };
        if status != Status::DONE {
            copied = 0;
        }
        if let Err(error) = wire.complete(taken, &mut self.copier, status, copied) {
            let error = CallError::Protocol {
                wire: wire.name(),
                reason: error.to_string(),
            };
            server.requests.launches.report(taken.launch, error);
        }
    }

    fn run(
        &mut self,
        server: &Arc<Server>,
        served: &Served,
        taken: &Taken,
        copied: &mut u64,
    ) -> Result<(), (Status, CallError)> {
        let wire = &*served.attached.wire;
        // Relaxed: seen soon enough.
        if server.requests.refusing.load(Ordering::Relaxed) {
            return Err((
                Status::SHUTTING_DOWN,
                CallError::ShuttingDown { word: taken.func },
            ));
        }
        let functions = server.requests.functions.load();
        let function = match functions.find(taken.func) {
            Ok(function) => function,
            Err(name) => {
                let name = name.map(str::to_owned);
                return Err((
                    Status::NO_SUCH_FUNCTION,
                    CallError::NoSuchFunction {
                        word: taken.func,
                        name,
                    },
                ));
            }
        };
        let _in_function = server.enter_function(function.is_slow());

        let refused = |reason: String| {
            let function = function.name().to_owned();
            (
                Status::REFUSED_MAPPING,
                CallError::Refused { function, reason },
            )
        };
        clear(&mut self.args);
        clear(&mut self.places);
        wire.read_args(
            taken,
            &mut self.copier,
            self.limits.max_args,
            &mut self.args,
            &mut self.places,
        )
        .map_err(refused)?;

        let bounce = taken.bounce_blocks(&self.args, &self.copier);

        // What panics here, `serve` tells.
        let maps = function.maps(&mut self.args);
        let mut transfer = RequestTransfer {
            wire,
            taken,
            copier: &mut self.copier,
            args: &self.args,
            places: &self.places,
            copied,
        };
        let raw_args = &mut self.raw_args;
        let outer = CALL.replace(Some(CallContext {
            launch: taken.launch,
        }));
        let outer_server = SERVER.replace(Some(NonNull::from(server)));
        self.in_flight.begin(taken.func, served, &bounce);
        let result = catch_unwind(AssertUnwindSafe(|| {
            if maps {
                let args = &self.args;
                let call = || function.call_mapping(args, &mut transfer);
                return self.mapper.run_unmapped(args, call);
            }
            self.mapper.run(
                &self.args,
                &server.present,
                &mut transfer,
                |pointers, args| call(function, raw_args, pointers, args),
            )
        }));
        self.in_flight.end();
        CALL.set(outer);
        SERVER.set(outer_server);
        let function = || function.name().to_owned();
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RunError::Map(error))) => Err(refused(with_sources(&error))),
            Ok(Err(RunError::Call(Failed::Refused(reason)))) => Err(refused(reason)),
            Ok(Err(RunError::Call(Failed::Function(message)))) => Err((
                Status::FUNCTION_FAILED,
                CallError::Failed {
                    function: function(),
                    message,
                },
            )),
            Err(panic) => Err((
                Status::FUNCTION_FAILED,
                CallError::Panicked {
                    function: function(),
                    message: panic_message(&*panic),
                },
            )),
        }
    }
}

fn call(
    function: &Entry,
    raw_args: &mut Vec<RawArg>,
    pointers: &mut [*mut std::ffi::c_void],
    args: &[HostArg],
) -> Result<(), Failed> {
    if function.is_typed()
        && let Some(i) = args.iter().position(|arg| arg.present)
    {
        return Err(Failed::Refused(format!(
            "argument {i} is an original on the host, which others may use; only a raw function \
             can take it"
        )));
    }
    clear(raw_args);
    raw_args.extend(args.iter().map(|arg| RawArg {
        ptr: arg.ptr,
        size: arg.size,
        kind: arg.kind,
    }));
    // SAFETY: the mapper vouches for the memory of each argument during this
    // call. What two calls can have at the same time, a typed function does not
    // get (see above); overlaps within a call it looks for itself.
    unsafe { function.call(pointers, raw_args) }
}

/// An error's message and those of its sources, with colons between.
fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| {
        format!("{text}: {source}")
    })
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned())
}

/// Moves the bytes of one request: from and to its slot, its bounce extent, or
/// device memory.
struct RequestTransfer<'a> {
    wire: &'a dyn Wire,
    taken: &'a Taken,
    copier: &'a mut Copier,
    args: &'a [Arg],
    places: &'a [Place],
    /// Carried ranges whose bytes were written back.
    copied: &'a mut u64,
}

impl RequestTransfer<'_> {
    /// Where a piece is: its argument's place, moved on by how far into the
    /// argument it starts; its device address if it is not all carried.
    fn place(&self, piece: &Piece) -> Place {
        self.place_in(piece.entry(), piece.device(), piece.len())
    }

    /// Where the range is that argument `entry` may contain.
    fn place_in(&self, entry: usize, device: u64, len: usize) -> Place {
        let arg = &self.args[entry];
        let Some(skip) = device.checked_sub(arg.addr) else {
            return Place::Device;
        };
        if skip
            .checked_add(len as u64)
            .is_none_or(|end| end > arg.size)
        {
            return Place::Device;
        }
        // At most `arg.size`, which was checked to fit its place.
        match self.places[entry] {
            Place::Device => Place::Device,
            Place::Slot(offset, bit) => Place::Slot(offset + skip as usize, bit),
            Place::Bounce(offset, bit) => Place::Bounce(offset + skip as usize, bit),
        }
    }
}

impl Transfer for RequestTransfer<'_> {
    fn fetch(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let mut failed = None;
        for piece in pieces {
            let (to, len) = (piece.host(), piece.len());
            // SAFETY: a piece is writable for its length until this returns, and
            // `finish` below waits for what a queue still copies.
            let result = unsafe { self.fetch_from(self.place(piece), to, piece.device(), len) };
            if let Err(error) = result {
                failed = Some(TransferError::new(piece, error));
                break;
            }
        }
        self.finish(pieces, failed)
    }

    fn store(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let mut failed = None;
        for piece in pieces {
            let (from, len) = (piece.host().cast_const(), piece.len());
            // SAFETY: as in `fetch`, for reading.
            let result = unsafe { self.store_at(self.place(piece), piece.device(), from, len) };
            if let Err(error) = result {
                failed = Some(TransferError::new(piece, error));
                break;
            }
        }
        self.finish(pieces, failed)
    }
}

impl RequestMemory for RequestTransfer<'_> {
    unsafe fn read(&mut self, to: *mut u8, from: u64, len: usize) -> Result<(), DeviceError> {
        let place = self.carried(from, len);
        // SAFETY: the caller vouches for `to`, and `finish` waits for the copy.
        let result = unsafe { self.fetch_from(place, to, from, len) };
        result.and(self.copier.finish())
    }

    unsafe fn write(&mut self, to: u64, from: *const u8, len: usize) -> Result<(), DeviceError> {
        let place = self.carried(to, len);
        // SAFETY: as above.
        let result = unsafe { self.store_at(place, to, from, len) };
        result.and(self.copier.finish())
    }
}

impl RequestTransfer<'_> {
    /// Where a range is that some argument may contain.
    fn carried(&self, device: u64, len: usize) -> Place {
        let places = (0..self.args.len()).map(|entry| self.place_in(entry, device, len));
        places
            .into_iter()
            .find(|place| *place != Place::Device)
            .unwrap_or(Place::Device)
    }

    /// Starts to copy `len` bytes to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes until the copier has finished; `place` is where
    /// the range is, as `place_in` says.
    unsafe fn fetch_from(
        &mut self,
        place: Place,
        to: *mut u8,
        device: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller vouches for both; `place_in` checked the range in the slot
        // or the bounce area.
        unsafe {
            match place {
                Place::Slot(offset, _) => self.wire.read_slot(self.taken, offset, to, len),
                Place::Bounce(offset, _) => self.copier.read_bounce(offset, to, len),
                Place::Device => self.copier.fetch(to, device, len)?,
            }
        }
        Ok(())
    }

    /// Starts to copy `len` bytes from `from`.
    ///
    /// # Safety
    /// As for [`fetch_from`](Self::fetch_from), with `from` readable.
    unsafe fn store_at(
        &mut self,
        place: Place,
        device: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: as in `fetch_from`.
        unsafe {
            match place {
                Place::Slot(offset, bit) => {
                    self.wire.write_slot(self.taken, offset, from, len);
                    *self.copied |= 1 << bit;
                }
                Place::Bounce(offset, bit) => {
                    self.copier.write_bounce(offset, from, len);
                    *self.copied |= 1 << bit;
                }
                Place::Device => self.copier.store(device, from, len)?,
            }
        }
        Ok(())
    }

    /// Waits for the queue, also after a failure: it may still be copying.
    fn finish(
        &mut self,
        pieces: &[Piece],
        failed: Option<TransferError>,
    ) -> Result<(), TransferError> {
        let finished: Result<(), DeviceError> = self.copier.finish();
        match (failed, finished, pieces.first()) {
            (Some(error), ..) => Err(error),
            (None, Err(error), Some(piece)) => Err(TransferError::new(piece, error)),
            _ => Ok(()),
        }
    }
}
