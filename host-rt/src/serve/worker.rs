//! Serving one request: arguments, function, results, completion.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use host_fn::RawArg;
use shared_abi::status::Status;

use super::functions::FunctionError;
use super::in_flight::InFlight;
use super::poller::Found;
use super::{CallError, Entry, RequestMemory, Server};
use crate::base::Chain;
use crate::device::{DeviceAddr, DeviceError};
use crate::map::{Arg, HostArg, Limits, Mapper, Piece, RunError, Transfer, TransferError, clear};
use crate::wire::{ArgRange, Copier, Request};

/// The call that a host function serves, as identified by the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// The [`Launch::id`](crate::Launch::id) of the calling launch; 0 if the wire does not contain
    /// it (images built by GCC).
    pub launch: u32,
}

thread_local! {
    static CALL: Cell<Option<CallContext>> = const { Cell::new(None) };
    /// The server whose calls this thread serves.
    static SERVER: RefCell<Option<Arc<Server>>> = const { RefCell::new(None) };
}

/// Runs `act`, during which this thread serves calls of `server`.
pub(super) fn with_server<R>(server: &Arc<Server>, act: impl FnOnce() -> R) -> R {
    /// Restores the previous server.
    struct Restore(Option<Arc<Server>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            // Dropped after the cell is released: it may be the last owner, and its drop runs code
            // of the application.
            drop(SERVER.replace(self.0.take()));
        }
    }
    let _restore = Restore(SERVER.replace(Some(Arc::clone(server))));
    act()
}

/// In a host function, calls [`Server::serve_until`] of its runtime. Elsewhere, returns `false`
/// immediately.
pub(crate) fn serve_until(done: impl Fn() -> bool) -> bool {
    let server = SERVER.with_borrow(Clone::clone);
    match server.filter(|_| CALL.get().is_some()) {
        Some(server) => {
            server.serve_until(done);
            true
        }
        None => false,
    }
}

/// The call that the running host function serves; `None` outside one.
#[must_use]
pub fn current_call() -> Option<CallContext> {
    CALL.get()
}

/// Maximum number of arguments of a request.
const MAX_ARGS: u64 = 65536;

/// The buffers that a thread reuses for each request.
pub(super) struct Worker {
    mapper: Mapper,
    copier: Copier,
    args: Vec<Arg>,
    raw_args: Vec<RawArg>,
    in_flight: Arc<InFlight>,
}

impl Worker {
    /// A worker that keeps up to `keep_bytes` of memory from one request to the next.
    pub(super) fn new(server: &Server, keep_bytes: usize) -> Self {
        let limits = Limits {
            max_bytes: server.config.request_memory,
            keep_bytes,
        };
        Self {
            in_flight: server.new_in_flight(),
            mapper: Mapper::new(limits, Arc::clone(&server.requests.budget)),
            copier: server.copier(),
            args: Vec::new(),
            raw_args: Vec::new(),
        }
    }

    /// Serves one request and completes it, even after a panic of a host function or of other
    /// application code: a subscriber of the log, or the drop of a panic's payload.
    pub(super) fn serve(&mut self, server: &Arc<Server>, found: Found) {
        server.wait_for_text_before(&found);
        let (wire, launch) = (found.request.wire().name, found.request.launch());
        let mut request = Some(found.request);
        let run = AssertUnwindSafe(|| self.run(server, &mut request));
        let (status, error) = match catch_unwind(run) {
            Ok(Ok(())) => (Status::DONE, None),
            Ok(Err((status, error))) => (status, Some(error)),
            Err(panic) => {
                let error = CallError::Protocol {
                    wire,
                    reason: format!("serving a request panicked: {}", panic_message(&*panic)),
                };
                // Dropping the payload might panic too.
                std::mem::forget(panic);
                (Status::FUNCTION_FAILED, Some(error))
            }
        };
        // Reported before completion, after which the kernel may end: GCC's wires have no status.
        let report = |error| {
            let report = AssertUnwindSafe(|| server.requests.launches.report(launch, error));
            if let Err(panic) = catch_unwind(report) {
                std::mem::forget(panic);
            }
        };
        if let Some(error) = error {
            report(error);
        }
        let completed = request.map(|request| request.complete(&mut self.copier, status));
        if let Some(Err(error)) = completed {
            report(CallError::Protocol {
                wire,
                reason: error.to_string(),
            });
        }
    }

    /// Runs the function of the request `owned`, which stays there or is returned there.
    fn run(
        &mut self,
        server: &Arc<Server>,
        owned: &mut Option<Request>,
    ) -> Result<(), (Status, CallError)> {
        let Some(request) = owned else {
            unreachable!("nothing has taken the request yet")
        };
        // Relaxed: a request taken meanwhile may still be served.
        if server.requests.refusing.load(Ordering::Relaxed) {
            let word = request.func();
            return Err((Status::SHUTTING_DOWN, CallError::ShuttingDown { word }));
        }
        let functions = server.requests.functions.load();
        let word = request.func();
        let function = match functions.find(word) {
            Ok(function) => function,
            Err(name) => {
                let name = name.map(str::to_owned);
                return Err((
                    Status::NO_SUCH_FUNCTION,
                    CallError::NoSuchFunction { word, name },
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
        request
            .read_args(&mut self.copier, MAX_ARGS, &mut self.args)
            .map_err(|error| refused(Chain(&error).to_string()))?;
        let bounce = request.bounce_blocks(&self.args, &self.copier);
        let launch = request.launch();

        // `serve` reports a panic here.
        function.normalize_kinds(&mut self.args);
        let maps = function.must_map(&self.args);
        let outer = CALL.replace(Some(CallContext { launch }));
        self.in_flight.begin(word, request.wire(), &bounce);
        let result = if maps {
            self.call_mapping(server, function, owned)
        } else {
            let mut transfer = RequestTransfer {
                request,
                copier: &mut self.copier,
                args: &self.args,
            };
            let raw_args = &mut self.raw_args;
            catch_unwind(AssertUnwindSafe(|| {
                self.mapper.run(
                    &self.args,
                    &server.present,
                    &mut transfer,
                    |pointers, args| call_mapped(function, raw_args, pointers, args),
                )
            }))
        };
        self.in_flight.end();
        CALL.set(outer);
        let function = || function.name().to_owned();
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RunError::Map(error))) => Err(refused(Chain(&error).to_string())),
            Ok(Err(RunError::Call(FunctionError::Refused(reason)))) => Err(refused(reason)),
            Ok(Err(RunError::Call(FunctionError::Failed(message)))) => Err((
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

    /// Lets another runtime map the arguments and run the function. It shares the request during
    /// the call.
    fn call_mapping(
        &mut self,
        server: &Server,
        function: &Entry,
        owned: &mut Option<Request>,
    ) -> std::thread::Result<Result<(), RunError<FunctionError>>> {
        let copier = mem::replace(&mut self.copier, server.copier());
        let memory = Rc::new(SharedRequest {
            args: mem::take(&mut self.args),
            request: RefCell::new(owned.take().map(|request| (request, copier))),
        });
        let may_be_mapped = |addr, size| function.may_have_mapped(addr, size);
        let call = || function.call_mapping(&memory.args, Rc::clone(&memory) as _);
        let run = || self.mapper.run_unmapped(&memory.args, &may_be_mapped, call);
        let result = catch_unwind(AssertUnwindSafe(run));
        if let Some((request, copier)) = memory.request.take() {
            *owned = Some(request);
            self.copier = copier;
        }
        self.args = Rc::into_inner(memory).map_or_else(Vec::new, |memory| memory.args);
        result
    }
}

/// Calls `function` with mapped arguments.
fn call_mapped(
    function: &Entry,
    raw_args: &mut Vec<RawArg>,
    pointers: &mut [*mut std::ffi::c_void],
    args: &[HostArg],
) -> Result<(), FunctionError> {
    if function.is_typed()
        && let Some(i) = args.iter().position(|arg| arg.present)
    {
        return Err(FunctionError::Refused(format!(
            "argument {i} is mapped host memory, which other calls may use: pass other memory, or \
             register a raw function"
        )));
    }
    clear(raw_args);
    raw_args.extend(args.iter().map(|arg| RawArg {
        ptr: arg.ptr,
        size: arg.size,
        kind: arg.kind,
    }));
    // SAFETY: the mapper keeps the memory of each argument valid during this call. Only present
    // arguments are shared with other calls, and typed functions do not get them (checked above). A
    // typed function checks for overlaps within a call itself.
    unsafe { function.call(pointers, raw_args) }
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no message)".to_owned())
}

/// Transfers the bytes of one request's arguments.
struct RequestTransfer<'a> {
    request: &'a mut Request,
    copier: &'a mut Copier,
    args: &'a [Arg],
}

impl RequestTransfer<'_> {
    fn range(&self, piece: &Piece) -> ArgRange {
        ArgRange::in_arg(&self.args[piece.entry()], piece.device(), piece.len())
    }

    /// Waits for the queue, even after a failure, since it may still be copying.
    fn finish(
        &mut self,
        pieces: &[Piece],
        failed: Option<TransferError>,
    ) -> Result<(), TransferError> {
        let finished = self.copier.finish();
        match (failed, finished, pieces.first()) {
            (Some(error), ..) => Err(error),
            (None, Err(error), Some(piece)) => Err(TransferError::new(piece, error)),
            _ => Ok(()),
        }
    }
}

impl Transfer for RequestTransfer<'_> {
    fn fetch(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let mut failed = None;
        for piece in pieces {
            let range = self.range(piece);
            // SAFETY: a piece is writable for its length until this returns, and `finish` below
            // waits for started copies.
            let read = unsafe { self.request.read(self.copier, range, piece.host()) };
            if let Err(error) = read {
                failed = Some(TransferError::new(piece, error));
                break;
            }
        }
        self.finish(pieces, failed)
    }

    fn store(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let mut failed = None;
        for piece in pieces {
            let range = self.range(piece);
            // SAFETY: a piece is readable for its length until this returns, and `finish` below
            // waits for started copies.
            let written = unsafe { self.request.write(self.copier, range, piece.host()) };
            if let Err(error) = written {
                failed = Some(TransferError::new(piece, error));
                break;
            }
        }
        self.finish(pieces, failed)
    }
}

/// A request that another runtime shares while it maps the arguments.
struct SharedRequest {
    args: Vec<Arg>,
    /// `None` after the call.
    request: RefCell<Option<(Request, Copier)>>,
}

impl SharedRequest {
    /// Starts a copy of `len` bytes at device address `addr`, and waits for it.
    fn copy(
        &self,
        addr: u64,
        len: usize,
        start: impl FnOnce(&mut Request, &mut Copier, ArgRange) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let mut shared = self.request.borrow_mut();
        let Some((request, copier)) = shared.as_mut() else {
            return Err(DeviceError::Unreachable {
                address: DeviceAddr(addr),
                len: len as u64,
                what: "the call has returned",
            });
        };
        let started = start(request, copier, ArgRange::in_any(&self.args, addr, len));
        started.and(copier.finish())
    }
}

impl RequestMemory for SharedRequest {
    unsafe fn read(&self, to: *mut u8, from: u64, len: usize) -> Result<(), DeviceError> {
        self.copy(from, len, |request, copier, range| {
            // SAFETY: the caller ensures that `to` is writable until this returns, and `copy`
            // waits for the copy.
            unsafe { request.read(copier, range, to) }
        })
    }

    unsafe fn write(&self, to: u64, from: *const u8, len: usize) -> Result<(), DeviceError> {
        self.copy(to, len, |request, copier, range| {
            // SAFETY: the caller ensures that `from` is readable until this returns, and `copy`
            // waits for the copy.
            unsafe { request.write(copier, range, from) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_request_has_no_memory() {
        let memory = SharedRequest {
            args: Vec::new(),
            request: RefCell::new(None),
        };
        let mut byte = 0;
        // SAFETY: a local of one byte.
        let copies = unsafe {
            [
                memory.read(&raw mut byte, 4096, 1),
                memory.write(4096, &raw const byte, 1),
            ]
        };
        for copied in copies {
            let error = copied.unwrap_err().to_string();
            assert!(error.contains("the call has returned"), "{error}");
        }
    }
}
