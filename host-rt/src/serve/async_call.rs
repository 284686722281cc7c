//! Calls of asynchronous host functions: futures that an executor of the application runs.
//!
//! A serving thread copies the arguments, starts the function, and hands its future to the executor.
//! Then it serves other requests. The thread that polls the future to its end copies the results back
//! and completes the request. So calls that wait need no threads.
//!
//! For a call whose data stays in device memory (`device_call`), nothing is copied to the host. The copies
//! there are polled like the future, so no thread waits for them:
//!
//! | [`Stage`] | next |
//! |---|---|
//! | `Fetching` the arguments' data | `Running` when it is there, `Over` if a copy fails |
//! | `Running` the future | `Storing` if it returns data, `Over` otherwise, or if the request is taken |
//! | `Storing` that data | `Over` |
//!
//! The request is taken out of its [`PendingCall`] by the one thread that completes it: at the end of
//! the future, when the future is dropped, or when the launch is aborted or has ended. The mutex decides. Nobody
//! completes a request while a copy uses the kernel's data: the kernel could end, and its memory be freed.

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::slice;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use revoff_fn::{BoxFuture, FunctionFailed, RawArg};
use shared_abi::status::Status;

use super::call_context::{CallContext, CallGuard, with_server};
use super::call_span::call_span;
use super::device_call::{self, DeviceFuture, DeviceReply};
use super::device_copy::{DeviceCopy, poll_all};
use super::failures::log_failure;
use super::functions::FunctionError;
use super::in_flight::Kept;
use super::panic_message::message_of;
use super::transfer::{RequestTransfer, raw_arg};
use super::{CallError, RegisteredFunction, Server, lock};
use crate::base::catch_panic::catch_panic;
use crate::base::span::GuardedSpan;
use crate::device::{Event, EventState};
use crate::map::{Arg, Limits, MapError, Mapped, TransferError};
use crate::wire::{Copier, Request};

/// A call of an asynchronous host function. It is ready when the device has its result.
///
/// Dropping it before fails the call.
struct AsyncCall {
    /// Its future uses the memory of `raw_args` and `mapped`, with references whose lifetime is extended: it
    /// is dropped before these are used or dropped.
    stage: Stage,
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

/// How far a call is.
enum Stage {
    /// Copies of arguments are made.
    Fetching(Vec<DeviceCopy>, DeviceFuture),
    /// The function runs.
    Running(CallFuture),
    /// A copy of its result is made.
    Storing(DeviceCopy, DeviceReply),
    Over,
}

/// A call that a function has started.
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

/// A request that is not completed.
struct Held {
    request: Request,
    /// The ends of copies that use the kernel's data.
    copies: Vec<Arc<dyn Event>>,
    /// Whether another copy is about to start.
    starts_copy: bool,
    /// Wakes the future when another thread takes the request: the future is dropped then.
    waker: Option<Waker>,
}

/// The result of a call, without what is in mapped memory.
type CallResult = Result<Option<DeviceReply>, (Status, CallError)>;

/// A call whose future has not ended.
pub(super) struct PendingCall {
    /// `None` when a thread has taken it to complete it.
    request: Mutex<Option<Held>>,
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

    /// The request, for the thread that completes it, once no copy uses the kernel's data; `None` if another
    /// thread does.
    fn take(&self) -> Option<Request> {
        let held = lock(&self.request).take()?;
        for copy in held.copies {
            // A failed copy uses nothing either.
            let _ = copy.sync();
        }
        Some(held.request)
    }

    /// The same, but `None` if a copy has not ended.
    fn try_take(&self) -> Option<Request> {
        let copies = match &*lock(&self.request) {
            Some(held) if !held.starts_copy => held.copies.clone(),
            _ => return None,
        };
        // Without the lock: the device's driver is asked.
        if copies
            .iter()
            .any(|copy| copy.check() == EventState::Pending)
        {
            return None;
        }
        let mut held = lock(&self.request);
        let taken = held.take_if(|held| !held.starts_copy && held.copies.len() == copies.len())?;
        drop(held);
        if let Some(waker) = taken.waker {
            // An executor's code.
            catch_panic(|| waker.wake());
        }
        Some(taken.request)
    }

    /// Arranges to wake the future when another thread takes the request: at once, if one has.
    fn wake_when_taken(&self, waker: &Waker) {
        // An executor's code runs in each of these, so without the lock.
        let waker = waker.clone();
        let mut request = lock(&self.request);
        let Some(held) = &mut *request else {
            drop(request);
            return waker.wake();
        };
        let before = held.waker.replace(waker);
        drop(request);
        drop(before);
    }

    fn is_taken(&self) -> bool {
        lock(&self.request).is_none()
    }

    /// Keeps the request for a copy that is about to start; `false` if it is taken.
    fn starts_copy(&self) -> bool {
        let mut held = lock(&self.request);
        let Some(held) = &mut *held else {
            return false;
        };
        held.starts_copy = true;
        true
    }

    /// Keeps the request until the end of a copy that has started, if one has.
    fn has_started_copy(&self, copy: Option<&DeviceCopy>) {
        if let Some(held) = &mut *lock(&self.request) {
            held.starts_copy = false;
            held.copies.extend(copy.map(|copy| Arc::clone(&copy.event)));
        }
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

    /// Completes the calls of the launches that `is_chosen` chooses, as aborted, unless they copy. Otherwise as
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
            if let Some(request) = call.try_take() {
                report(call.kept.launch, call.word);
                if let Err(error) = request.complete(&mut copier(), Status::ABORTED) {
                    catch_panic(|| tracing::error!(%error, "cannot complete an aborted call"));
                }
            }
            // Also if a copy has to end first: then soon.
            has_aborted = true;
        }
        has_aborted
    }
}

impl Server {
    /// Gives up the calls of launches that have ended, as by a fault: nobody waits for them.
    ///
    /// A call that begins meanwhile either is in the list, or its `start`, which adds it before it looks, sees by the same
    /// mutexes that its launch has ended.
    pub(super) fn give_up_calls(&self) {
        for call in self.requests.pending.list() {
            self.give_up_if_over(&call);
        }
    }

    fn give_up_if_over(&self, call: &PendingCall) {
        let is_running = match call.kept.launch {
            // On GPUs, calls do not name their launch.
            0 => self.poller.is_running(),
            key => self.requests.launches.is_running(key),
        };
        // A call that copies fails with its copy.
        if !is_running && let Some(request) = call.try_take() {
            // So that its slot is free. A lost device has none.
            let _ = request.complete(&mut self.copier(), Status::ABORTED);
            let (function, launch) = (call.function.name(), call.kept.launch);
            catch_panic(|| tracing::debug!(function, launch, "a call is given up"));
        }
    }
}

/// The context in which a serving thread starts a call.
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
    let on_device = function.on_device().map_or(Ok(None), |on_device| {
        device_call::start(on_device, server, copier, &args)
    });
    let on_device = on_device.map_err(|panic| panicked(function, panic))?;
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
        stage: Stage::Over,
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
        if let Some((future, copies)) = on_device {
            return Ok(Stage::Fetching(copies, future));
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
        unsafe { asynchronous.start(args) }.map(|future| Stage::Running(CallFuture::Mapped(future)))
    });
    call.stage = match catch_unwind(begin) {
        Ok(Ok(stage)) => stage,
        Ok(Err(failure)) => return Err(fail(FunctionError::BadArguments(failure))),
        Err(panic) => return Err(panicked(function, panic)),
    };
    let pending = Arc::clone(&call.pending);
    let copies = match &call.stage {
        Stage::Fetching(copies, _) => copies.iter().map(|copy| Arc::clone(&copy.event)).collect(),
        _ => vec![],
    };
    *lock(&pending.request) = owned.take().map(|request| Held {
        request,
        copies,
        starts_copy: false,
        waker: None,
    });
    // A thread that aborts the launch either sees the request, or has marked the launch before it locked
    // the request. A call that copies asks later.
    if server.requests.launches.is_aborted(launch)
        && let Some(request) = pending.try_take()
    {
        *owned = Some(request);
        return Err(fail(FunctionError::Aborted));
    }
    // Its first poll ends it then.
    server.give_up_if_over(&pending);
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

fn store_failed(function: &RegisteredFunction, error: TransferError) -> (Status, CallError) {
    map_failed(function, MapError::Store(error))
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
        let stage = mem::replace(&mut self.stage, Stage::Over);
        catch_panic(|| drop(stage));
    }

    /// Polls the call in its stage.
    fn poll_result(&mut self, context: &mut Context<'_>) -> Poll<CallResult> {
        if let Stage::Fetching(copies, _) = &self.stage {
            let fetched = ready!(poll_all(copies));
            fetched.map_err(|error| map_failed(&self.pending.function, MapError::Fetch(error)))?;
            // A thread that has aborted the launch may have given up waiting for the copies.
            let launches = &self.server.requests.launches;
            if launches.is_aborted(self.pending.kept.launch) {
                let function = self.pending.function.name().to_owned();
                return Poll::Ready(Err((Status::ABORTED, CallError::Aborted { function })));
            }
            self.server.give_up_if_over(&self.pending);
            if let Stage::Fetching(_, future) = mem::replace(&mut self.stage, Stage::Over) {
                self.stage = Stage::Running(CallFuture::OnDevice(future));
            }
        }
        if let Stage::Running(_) = &self.stage {
            let Some(mut reply) = ready!(self.poll_future(context))? else {
                return Poll::Ready(Ok(None));
            };
            self.drop_future();
            let copier = self.server.copier();
            if !self.pending.starts_copy() {
                return Poll::Ready(Ok(None));
            }
            let started = reply.start_copy(&self.server, &copier, &self.args);
            let copy = started.as_ref().ok().and_then(Option::as_ref);
            self.pending.has_started_copy(copy);
            match started.map_err(|error| store_failed(&self.pending.function, error))? {
                Some(copy) => self.stage = Stage::Storing(copy, reply),
                None => return Poll::Ready(Ok(Some(reply))),
            }
        }
        if let Stage::Storing(copy, _) = &self.stage {
            let stored = ready!(copy.poll());
            stored.map_err(|error| store_failed(&self.pending.function, error))?;
        }
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Storing(_, reply) => Poll::Ready(Ok(Some(reply))),
            _ => Poll::Ready(Ok(None)),
        }
    }

    /// Polls the future of a call that runs. Nobody wants its result if the request is taken.
    fn poll_future(&mut self, context: &mut Context<'_>) -> Poll<CallResult> {
        let Stage::Running(future) = &mut self.stage else {
            unreachable!("the caller has checked it")
        };
        if self.pending.is_taken() {
            return Poll::Ready(Ok(None));
        }
        let launch = self.pending.kept.launch;
        let _call = CallGuard::enter(CallContext { launch });
        // So that a wait for tasks in the function serves calls.
        let poll = || with_server(&self.server, || future.poll(context));
        let polled = catch_unwind(AssertUnwindSafe(poll));
        Poll::Ready(match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(reply))) => Ok(reply),
            Ok(Poll::Ready(Err(error))) => {
                let message = error.into_message();
                let function = self.pending.function.name().to_owned();
                Err(FunctionError::Failed(message).into_call_error(function))
            }
            Err(panic) => Err(panicked(&self.pending.function, panic)),
        })
    }

    /// Copies results back if the function succeeded, and completes the request, unless the launch was
    /// aborted. The future is dropped.
    fn finish(&mut self, result: CallResult) {
        debug_assert!(matches!(self.stage, Stage::Over));
        let pending = Arc::clone(&self.pending);
        let Some(mut request) = pending.take() else {
            return;
        };
        let (wire, launch) = (request.wire().name, pending.kept.launch);
        let mut copier = self.server.copier();
        let result = result.and_then(|reply| match reply {
            Some(reply) => reply
                .write(&mut request, &mut copier, &self.args)
                .map_err(|error| store_failed(&pending.function, error)),
            None => self
                .mapped
                .store(&mut RequestTransfer {
                    request: &mut request,
                    copier: &mut copier,
                    args: &self.args,
                })
                .map_err(|error| map_failed(&pending.function, error)),
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
        match this.poll_result(context) {
            Poll::Pending => {
                if let Stage::Fetching(..) | Stage::Storing(..) = this.stage {
                    // The end of a copy wakes nobody.
                    context.waker().wake_by_ref();
                } else {
                    this.pending.wake_when_taken(context.waker());
                }
                Poll::Pending
            }
            Poll::Ready(result) => {
                this.drop_future();
                this.finish(result);
                Poll::Ready(())
            }
        }
    }
}

impl Drop for AsyncCall {
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::Over) {
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
