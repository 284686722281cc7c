//! Serving one request: arguments, function, results, completion.

use std::cell::RefCell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use revoff_fn::RawArg;
use shared_abi::status::Status;

use super::async_call;
use super::call_context::{CallContext, CallGuard};
use super::call_span::call_span;
use super::failures::log_failure;
use super::functions::FunctionError;
use super::in_flight::InFlight;
use super::panic_message::message_of;
use super::poller::Found;
use super::transfer::{RequestTransfer, raw_arg};
use super::{CallError, RegisteredFunction, RequestMemory, Server};
use crate::base::span::EnteredSpan;
use crate::device::{DeviceAddr, DeviceError};
use crate::map::{Arg, HostArg, Limits, MapError, Mapper, RunError, clear};
use crate::wire::{ArgRange, Copier, Request};

/// Maximum number of arguments of a request.
const MAX_ARGS: u64 = 65536;

/// The state with which a thread serves one request after the other.
pub(super) struct Worker {
    in_flight: Arc<InFlight>,
    buffers: Buffers,
}

/// The memory and the queue that a thread reuses for each request.
struct Buffers {
    mapper: Mapper,
    copier: Copier,
    args: Vec<Arg>,
    raw_args: Vec<RawArg>,
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
            buffers: Buffers {
                mapper: Mapper::new(limits, Arc::clone(&server.requests.budget)),
                copier: server.copier(),
                args: Vec::new(),
                raw_args: Vec::new(),
            },
        }
    }

    /// Serves one request and completes it, even after a panic of a host function or of other
    /// application code: a subscriber of the log, or the drop of a panic's payload.
    pub(super) fn serve(&mut self, server: &Arc<Server>, found: Found) {
        server.wait_for_text_before(&found);
        let (wire, launch) = (found.request.wire().name, found.request.launch());
        let mut request = Some(found.request);
        // Left after the completion, while the caller is on its way: a subscriber may take as long as a call.
        let mut span = EnteredSpan::default();
        let run = AssertUnwindSafe(|| self.run(server, &mut request, &mut span));
        let (status, error) = match catch_unwind(run) {
            Ok(Ok(())) => (Status::DONE, None),
            Ok(Err((status, error))) => (status, Some(error)),
            Err(panic) => {
                let message = message_of(panic);
                (
                    Status::FUNCTION_FAILED,
                    Some(CallError::NotServed { wire, message }),
                )
            }
        };
        // Reported before completion, after which the kernel may end: GCC's wires have no status.
        let report = |error| {
            server.requests.launches.record(launch, &error);
            server.run_foreign(|| log_failure(launch, &error));
        };
        if let Some(error) = error {
            report(error);
        }
        let completed = request.map(|request| request.complete(&mut self.buffers.copier, status));
        if let Some(Err(error)) = completed {
            let reason = Arc::new(error);
            report(CallError::NotCompleted { wire, reason });
        }
    }

    /// Runs the function of the request `owned`, which stays there or is returned there. The thread enters `span`.
    fn run(
        &mut self,
        server: &Arc<Server>,
        owned: &mut Option<Request>,
        span: &mut EnteredSpan,
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
        if server.requests.launches.is_aborted(request.launch()) {
            let function = function.name().to_owned();
            return Err((Status::ABORTED, CallError::Aborted { function }));
        }
        let _in_function = server.enter_function(function.is_slow());

        let Buffers {
            mapper,
            copier,
            args,
            raw_args,
        } = &mut self.buffers;
        clear(args);
        request.read_args(copier, MAX_ARGS, args).map_err(|error| {
            let (function, reason) = (function.name().to_owned(), Arc::new(error));
            (
                Status::REFUSED_MAPPING,
                CallError::Args { function, reason },
            )
        })?;
        let bounce = request.bounce_blocks(args, copier);
        if function.asynchronous().is_some() {
            let start = async_call::Start {
                server,
                function,
                copier,
                args: mem::take(args),
                bounce,
            };
            return async_call::start(start, owned);
        }
        let launch = request.launch();

        let _call = CallGuard::enter(CallContext { launch });
        *span = call_span(server, function, request).enter();
        let in_flight = self.in_flight.begin(request, &bounce);
        if let Some(transfer) = function.direct_transfer(args) {
            let mut memory = RequestTransfer {
                request,
                copier,
                args,
            };
            if let Some(served) = memory.serve_in_place(function, transfer) {
                return served.map_err(|error| {
                    let function = function.name().to_owned();
                    let reason = Arc::new(MapError::Store(error));
                    (Status::REFUSED_MAPPING, CallError::Map { function, reason })
                });
            }
        }
        let must_map = catch_unwind(AssertUnwindSafe(|| {
            function.normalize_kinds(args);
            function.must_map(args)
        }));
        let result = match must_map {
            Err(panic) => Err(panic),
            Ok(true) => self.buffers.call_mapping(server, function, owned),
            Ok(false) => {
                let mut transfer = RequestTransfer {
                    request,
                    copier,
                    args,
                };
                catch_unwind(AssertUnwindSafe(|| {
                    mapper.run(args, &server.present, &mut transfer, |pointers, args| {
                        let result = in_flight.run(|| {
                            // Again: see `CallState::begin`.
                            if server.requests.launches.is_aborted(launch) {
                                return Err(FunctionError::Aborted);
                            }
                            call_mapped(function, raw_args, pointers, args)
                        });
                        // The caller may be gone, and what it points to.
                        match in_flight.was_aborted() {
                            true => Err(FunctionError::Aborted),
                            false => result,
                        }
                    })
                }))
            }
        };
        if in_flight.was_aborted() {
            if let Some(request) = owned.take() {
                request.completed_elsewhere();
            }
            return Ok(());
        }
        let function = || function.name().to_owned();
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RunError::Map(error))) => {
                let (function, reason) = (function(), Arc::new(error));
                Err((Status::REFUSED_MAPPING, CallError::Map { function, reason }))
            }
            Ok(Err(RunError::Call(error))) => Err(error.into_call_error(function())),
            Err(panic) => {
                let (function, message) = (function(), message_of(panic));
                Err((
                    Status::FUNCTION_FAILED,
                    CallError::Panicked { function, message },
                ))
            }
        }
    }
}

impl Buffers {
    /// Lets another runtime map the arguments and run the function. It shares the request during
    /// the call.
    fn call_mapping(
        &mut self,
        server: &Server,
        function: &RegisteredFunction,
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
    function: &RegisteredFunction,
    raw_args: &mut Vec<RawArg>,
    pointers: &mut [*mut std::ffi::c_void],
    args: &[HostArg],
) -> Result<(), FunctionError> {
    if function.is_typed()
        && let Some(argument) = args.iter().position(|arg| arg.present)
    {
        return Err(FunctionError::SharedArgument(argument));
    }
    clear(raw_args);
    raw_args.extend(args.iter().map(raw_arg));
    // SAFETY: the mapper keeps the memory of each argument valid during this call. Only present
    // arguments are shared with other calls, and typed functions do not get them (checked above). A
    // typed function checks for overlaps within a call itself.
    unsafe { function.call(pointers, raw_args) }
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
    use std::ffi::c_void;
    use std::panic::panic_any;
    use std::ptr::with_exposed_provenance_mut;
    use std::sync::atomic::AtomicU64;

    use shared_abi::wire::WireKind;
    use shared_abi::wire::gcc_slot::GccSlot;

    use super::*;
    use crate::serve::{ForeignError, ForeignFunction, LaunchError, testing};

    /// A panic's payload whose drop panics.
    struct Payload;

    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("the drop of a payload");
        }
    }

    /// A function that panics, perhaps already when it looks at its arguments.
    struct Panics {
        in_must_map: bool,
    }

    impl ForeignFunction for Panics {
        fn must_map(&self, _: &[Arg]) -> bool {
            if self.in_must_map {
                panic_any(Payload);
            }
            false
        }
        fn may_have_mapped(&self, _: u64, _: u64) -> bool {
            false
        }
        fn call_mapping(&self, _: &[Arg], _: Rc<dyn RequestMemory>) -> Result<(), ForeignError> {
            Ok(())
        }
        unsafe fn call(&self, _: &mut [*mut c_void]) -> Result<(), ForeignError> {
            panic_any(Payload)
        }
    }

    #[test]
    fn a_panic_is_reported_with_its_function() {
        const WORD: u64 = 77;
        let server = testing::server(testing::host());
        let config = server.connect(WireKind::GCC_SLOT).unwrap();
        let slot = with_exposed_provenance_mut::<GccSlot>(config.wire as usize);
        // SAFETY: on `host`, a wire has the same address for device and host. It lives as long as
        // `server`, and all accesses to its words are atomic.
        let word = unsafe { AtomicU64::from_ptr(&raw mut (*slot).func) };
        for in_must_map in [false, true] {
            let function = Arc::new(RegisteredFunction::foreign(
                "bad",
                Arc::new(Panics { in_must_map }),
            ));
            server.change_functions(|table| table.insert(WORD, "bad", Some(&function)));
            let launch = server.begin("kernel", true).unwrap();
            // Release: edge `S1`, as on the device.
            word.store(WORD, Ordering::Release);
            server.wake_host();
            // Acquire: edge `S2`, as on the device.
            while word.load(Ordering::Acquire) != 0 {
                std::thread::yield_now();
            }
            let error = launch.state.outcome(Ok(())).unwrap_err();
            assert!(
                matches!(
                    &error,
                    LaunchError::Call { first: CallError::Panicked { function, .. }, .. }
                        if function == "bad"
                ),
                "{error}"
            );
        }
        server.stop();
    }

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
