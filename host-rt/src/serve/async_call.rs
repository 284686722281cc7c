//! Calls of asynchronous host functions: futures that an executor of the application runs.
//!
//! A serving thread copies the arguments, starts the function, and hands its future to the executor.
//! Then it serves other requests. The thread that polls the future to its end copies the results back
//! and completes the request. So calls that wait need no threads. For a call whose data stays in device
//! memory (`device_call`), nothing is copied to the host.
//!
//! The request is taken out of its [`PendingCall`] by the one thread that completes it: at the end of
//! the future, when the future is dropped, or when the launch is aborted. The mutex decides.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::slice;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use revoff_fn::{BoxFuture, FunctionFailed, RawArg};
use shared_abi::status::Status;

use super::call_context::{CallContext, CallGuard, with_server};
use super::call_span::call_span;
use super::device_call::{DeviceCall, DeviceFuture, DeviceReply};
use super::failures::log_failure;
use super::functions::FunctionError;
use super::in_flight::Kept;
use super::panic_message::message_of;
use super::transfer::{RequestTransfer, raw_arg};
use super::{CallError, RegisteredFunction, Server, lock};
use crate::base::catch_panic::catch_panic;
use crate::base::span::GuardedSpan;
use crate::map::{Arg, Limits, MapError, Mapped};
use crate::wire::{Copier, Request};

/// A call of an asynchronous host function. It is ready when the device has its result.
///
/// Dropping it before fails the call.
struct AsyncCall {
    /// `None` at the end. It uses the memory of `raw_args` and `mapped`, with references whose lifetime
    /// is extended: it is dropped before these are used or dropped.
    future: Option<CallFuture>,
    /// The arguments as the function gets them; owned by this. None, and none is mapped, if data stays in device
    /// memory.
    raw_args: *mut [RawArg],
    mapped: Mapped,
    /// The arguments as the device has sent them.
    args: Vec<Arg>,
    pending: Arc<PendingCall>,
    server: Arc<Server>,
    /// Until the call ends.
    _span: GuardedSpan,
}

// SAFETY: the pointer owns its memory, like a box, and `RawArg`s point into the memory of `mapped`. All
// other fields can be sent.
unsafe impl Send for AsyncCall {}

/// What a function has started.
enum CallFuture {
    /// It writes its results to mapped memory.
    Mapped(BoxFuture<'static, Result<(), FunctionFailed>>),
    /// It returns them.
    OnDevice(DeviceFuture),
}

impl CallFuture {
    /// Polls it. The output has the results that are not in mapped memory.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<DeviceReply>, FunctionFailed>> {
        match self {
            Self::Mapped(future) => future.as_mut().poll(context).map_ok(|()| None),
            Self::OnDevice(future) => future.as_mut().poll(context).map_ok(Some),
        }
    }
}

/// A call whose future has not ended.
pub(super) struct PendingCall {
    /// `None` when a thread has taken it to complete it.
    request: Mutex<Option<Request>>,
    function: Arc<RegisteredFunction>,
    /// Its key in [`PendingCalls`].
    key: u64,
    word: u64,
    kept: Kept,
}

impl PendingCall {
    /// The resources that it keeps.
    pub(super) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    /// The request, for the thread that completes it; `None` if another one does.
    fn take(&self) -> Option<Request> {
        lock(&self.request).take()
    }

    fn is_taken(&self) -> bool {
        lock(&self.request).is_none()
    }
}

/// The calls whose futures have not ended, of all launches.
#[derive(Default)]
pub(super) struct PendingCalls(Mutex<(u64, BTreeMap<u64, Arc<PendingCall>>)>);

impl PendingCalls {
    fn add(&self, call: impl FnOnce(u64) -> PendingCall) -> Arc<PendingCall> {
        let mut calls = lock(&self.0);
        calls.0 += 1;
        let call = Arc::new(call(calls.0));
        calls.1.insert(call.key, Arc::clone(&call));
        call
    }

    fn remove(&self, call: &PendingCall) {
        let removed = lock(&self.0).1.remove(&call.key);
        // Outside the lock: it may be the last owner of the function.
        drop(removed);
    }

    /// The calls whose requests are not completed.
    pub(super) fn list(&self) -> Vec<Arc<PendingCall>> {
        let calls: Vec<_> = lock(&self.0).1.values().map(Arc::clone).collect();
        calls.into_iter().filter(|call| !call.is_taken()).collect()
    }

    /// Describes the calls: each function, with the number of its calls if there are several.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut counts = BTreeMap::<String, usize>::new();
        for call in self.list() {
            *counts.entry(call.function.name().to_owned()).or_default() += 1;
        }
        let describe = |(name, count)| match count {
            1 => format!("`{name}`"),
            _ => format!("`{name}` ({count} calls)"),
        };
        counts.into_iter().map(describe).collect()
    }

    /// Completes the calls of the launches that `is_chosen` chooses, as aborted. Otherwise as
    /// [`Server::abort_calls`].
    pub(super) fn abort(
        &self,
        copier: impl Fn() -> Copier,
        is_chosen: impl Fn(u32) -> bool,
        report: impl Fn(u32, u64),
    ) -> bool {
        let mut has_aborted = false;
        let calls = self.list().into_iter();
        for call in calls.filter(|call| is_chosen(call.kept.launch)) {
            if let Some(request) = call.take() {
                report(call.kept.launch, call.word);
                if let Err(error) = request.complete(&mut copier(), Status::ABORTED) {
                    catch_panic(|| tracing::error!(%error, "cannot complete an aborted call"));
                }
                has_aborted = true;
            }
        }
        has_aborted
    }
}

/// What a serving thread has for the start of a call.
pub(super) struct Start<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) function: &'a Arc<RegisteredFunction>,
    pub(super) copier: &'a mut Copier,
    pub(super) args: Vec<Arg>,
    pub(super) bounce: Range<u32>,
}

/// Starts the call of an asynchronous function, and hands it to its executor. The request `owned` stays
/// there if the function does not start; then the caller completes it.
///
/// # Errors
/// The function has not started, or it could not be handed to an executor.
pub(super) fn start(
    start: Start<'_>,
    owned: &mut Option<Request>,
) -> Result<(), (Status, CallError)> {
    let Start {
        server,
        function,
        copier,
        args,
        bounce,
    } = start;
    let Some((asynchronous, spawn)) = function.asynchronous() else {
        unreachable!("the caller has checked it")
    };
    let Some(request) = owned else {
        unreachable!("nothing has taken the request yet")
    };
    let launch = request.launch();
    let _call = CallGuard::enter(CallContext { launch });
    let name = || function.name().to_owned();
    let fail = |error: FunctionError| error.into_call_error(name());
    let limits = Limits {
        max_bytes: server.config.request_memory,
        keep_bytes: 0,
    };
    let budget = Arc::clone(&server.requests.budget);
    let on_device = AssertUnwindSafe(|| {
        function.on_device()?.start(&mut DeviceCall {
            server,
            copier,
            args: &args,
        })
    });
    let on_device = catch_unwind(on_device).map_err(|panic| panicked(function, panic))?;
    let mut transfer = RequestTransfer {
        request,
        copier,
        args: &args,
    };
    let to_map = if on_device.is_some() { &[] } else { &args[..] };
    let mapped = Mapped::new(limits, budget, to_map, &server.present, &mut transfer)
        .map_err(|error| map_failed(function, error))?;
    if let Some(argument) = mapped.args().iter().position(|arg| arg.present) {
        return Err(fail(FunctionError::SharedArgument(argument)));
    }
    let raw_args: Box<[RawArg]> = mapped.args().iter().map(raw_arg).collect();
    let raw_args = Box::into_raw(raw_args);
    // From here on, a drop of this frees `raw_args`.
    let mut call = AsyncCall {
        future: None,
        raw_args,
        mapped,
        args,
        pending: server.requests.pending.add(|key| PendingCall {
            request: Mutex::new(None),
            function: Arc::clone(function),
            key,
            word: request.func(),
            kept: Kept {
                wire: request.wire().kind.0,
                slot: request.slot().unwrap_or(0),
                bounce,
                launch,
            },
        }),
        server: Arc::clone(server),
        _span: call_span(server, function, request),
    };
    let begin = AssertUnwindSafe(|| {
        if let Some(future) = on_device {
            return Ok(CallFuture::OnDevice(future));
        }
        // SAFETY: `raw_args` is from a box and lives as long as `call`, which does not access it before
        // its drop.
        let args = unsafe {
            slice::from_raw_parts(call.raw_args.cast_const().cast(), call.raw_args.len())
        };
        // SAFETY: `mapped` keeps the memory of each argument valid and initialised, and only this call
        // uses it: present arguments were rejected, and `mapped` does not access it before its `store`,
        // before which the future is dropped. Both live in `call`, which is dropped, or leaked, as a
        // whole, the future first (see its drop). So the lifetime of `args`, which is extended to
        // 'static here, ends after the future's.
        unsafe { asynchronous.start(args) }.map(CallFuture::Mapped)
    });
    call.future = match catch_unwind(begin) {
        Ok(Ok(future)) => Some(future),
        Ok(Err(failure)) => return Err(fail(FunctionError::BadArguments(failure))),
        Err(panic) => return Err(panicked(function, panic)),
    };
    let pending = Arc::clone(&call.pending);
    *lock(&pending.request) = owned.take();
    // A thread that aborts the launch either sees the request, or has marked the launch before it locked
    // the request.
    if server.requests.launches.is_aborted(launch)
        && let Some(request) = pending.take()
    {
        *owned = Some(request);
        return Err(fail(FunctionError::Aborted));
    }
    // An executor may run the future here for a while.
    let run = || function.timed(|| spawn.spawn(Box::pin(call)));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        let message = message_of(panic);
        // If the executor has dropped the call, it has completed the request. If it has leaked it:
        if let Some(request) = pending.take() {
            *owned = Some(request);
            let function = name();
            return Err((
                Status::FUNCTION_FAILED,
                CallError::NotSpawned { function, message },
            ));
        }
    }
    Ok(())
}

fn map_failed(function: &RegisteredFunction, error: MapError) -> (Status, CallError) {
    let (function, reason) = (function.name().to_owned(), Arc::new(error));
    (Status::REFUSED_MAPPING, CallError::Map { function, reason })
}

fn panicked(function: &RegisteredFunction, panic: Box<dyn Any + Send>) -> (Status, CallError) {
    let (function, message) = (function.name().to_owned(), message_of(panic));
    (
        Status::FUNCTION_FAILED,
        CallError::Panicked { function, message },
    )
}

impl AsyncCall {
    /// Drops the future, which uses the memory of the arguments. A panic of its drop is ignored: the
    /// call has its result.
    fn drop_future(&mut self) {
        let future = self.future.take();
        catch_panic(|| drop(future));
    }

    /// Copies results back if the function succeeded, and completes the request, unless the launch was
    /// aborted. The future is dropped.
    fn finish(&mut self, result: Result<Option<DeviceReply>, (Status, CallError)>) {
        debug_assert!(self.future.is_none());
        let pending = Arc::clone(&self.pending);
        let Some(mut request) = pending.take() else {
            return;
        };
        let (wire, launch) = (request.wire().name, pending.kept.launch);
        let mut copier = self.server.copier();
        let result = result.and_then(|reply| {
            let stored = match reply {
                Some(reply) => reply
                    .write(&self.server, &mut request, &mut copier, &self.args)
                    .map_err(MapError::Store),
                None => self.mapped.store(&mut RequestTransfer {
                    request: &mut request,
                    copier: &mut copier,
                    args: &self.args,
                }),
            };
            stored.map_err(|error| map_failed(&pending.function, error))
        });
        // Reported before completion, after which the kernel may end: GCC's wires have no status.
        let report = |error| {
            self.server.requests.launches.record(launch, &error);
            log_failure(launch, &error);
        };
        let status = match result {
            Ok(()) => Status::DONE,
            Err((status, error)) => {
                report(error);
                status
            }
        };
        if let Err(error) = request.complete(&mut copier, status) {
            let reason = Arc::new(error);
            report(CallError::NotCompleted { wire, reason });
        }
    }
}

impl Future for AsyncCall {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(future) = &mut this.future else {
            return Poll::Ready(());
        };
        if this.pending.is_taken() {
            // The launch was aborted: nobody wants the result.
            this.drop_future();
            return Poll::Ready(());
        }
        let launch = this.pending.kept.launch;
        let _call = CallGuard::enter(CallContext { launch });
        // So that a wait for tasks in the function serves calls.
        let poll = || with_server(&this.server, || future.poll(context));
        let polled = catch_unwind(AssertUnwindSafe(poll));
        let result = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(reply))) => Ok(reply),
            Ok(Poll::Ready(Err(error))) => {
                let message = error.into_message();
                let function = this.pending.function.name().to_owned();
                Err(FunctionError::Failed(message).into_call_error(function))
            }
            Err(panic) => Err(panicked(&this.pending.function, panic)),
        };
        this.drop_future();
        this.finish(result);
        Poll::Ready(())
    }
}

impl Drop for AsyncCall {
    fn drop(&mut self) {
        if self.future.is_some() {
            self.drop_future();
            let function = self.pending.function.name().to_owned();
            let error = CallError::Dropped { function };
            self.finish(Err((Status::FUNCTION_FAILED, error)));
        }
        self.server.requests.pending.remove(&self.pending);
        // SAFETY: from `Box::into_raw`, and freed only here. The future, which has borrowed it, is
        // dropped.
        drop(unsafe { Box::from_raw(self.raw_args) });
    }
}
