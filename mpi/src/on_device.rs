//! Calls whose messages are staged in device memory, which MPI accesses itself.
//!
//! Each function here serves those calls of one host function, and declines the others. MPI never gets the kernel's own
//! memory: a launch can be aborted, or the kernel can change its data, while MPI works.

use std::sync::Arc;

use mpi_calls::Received;
use revoff_fn::{FunctionFailed, Plain};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::{DeviceCall, DeviceFunction, DeviceFuture, DeviceReply};

use crate::error::MpiError;
use crate::request::{Buffer, Request};
use crate::session::Shared;

/// `mpi_send`
pub(crate) fn send(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let (to, tag) = (call.value(0)?, call.value(1)?);
        let (buffer, bytes) = outgoing::<()>(&shared, call)?;
        future(&shared, async move |shared| {
            let request = shared.communicator.send(to, tag, bytes, || buffer)?;
            request.done().await?;
            Ok(DeviceReply::new(()))
        })
    }
}

/// `mpi_isend`
pub(crate) fn isend(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let (to, tag) = (call.value(0)?, call.value(1)?);
        let (buffer, bytes) = outgoing::<u64>(&shared, call)?;
        future(&shared, async move |shared| {
            let begin = || shared.communicator.send(to, tag, bytes, || buffer);
            shared.keep(bytes, begin).map(DeviceReply::new)
        })
    }
}

/// `mpi_recv`
pub(crate) fn recv(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let (from, tag) = (call.value(0)?, call.value(1)?);
        let bytes = call.data(2, MapKind::TOFROM)?;
        let buffer = incoming::<Received>(&shared, call, bytes)?;
        future(&shared, async move |shared| {
            let request = shared.communicator.receive(from, tag, bytes, || buffer)?;
            deliver(request, 2, bytes).await
        })
    }
}

/// `mpi_irecv`
pub(crate) fn irecv(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let (from, tag) = (call.value(0)?, call.value(1)?);
        let bytes = usize::try_from(call.value::<u64>(2)?).ok()?;
        let buffer = incoming::<u64>(&shared, call, bytes)?;
        future(&shared, async move |shared| {
            let begin = || shared.communicator.receive(from, tag, bytes, || buffer);
            shared.keep(bytes, begin).map(DeviceReply::new)
        })
    }
}

/// `mpi_wait`, for a message that is received in memory of the device that waits.
pub(crate) fn wait(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let number = call.value(0)?;
        let room = call.data(1, MapKind::TOFROM)?;
        let is_declared = call.returns::<Received>(2);
        let is_here = |request: &Request| request.staging().is_some_and(|buffer| call.owns(buffer));
        if !is_declared || !shared.kept().find(number).is_some_and(is_here) {
            return None;
        }
        future(&shared, async move |shared| {
            let (request, _reserved) = shared.kept().take(number)?;
            deliver(request, 1, room).await
        })
    }
}

/// The message of a call that sends its third argument, and returns an `R`.
fn outgoing<R: Plain>(shared: &Shared, call: &mut DeviceCall<'_>) -> Option<(Buffer, usize)> {
    let bytes = call.data(2, MapKind::TO)?;
    let stages = call.returns::<R>(3) && shared.gpu_memory.stages(call, bytes);
    let buffer = stages.then(|| call.copy_of(2))??;
    Some((Buffer::Device(buffer), bytes))
}

/// Memory for the message of a call that has three arguments, and returns an `R`.
fn incoming<R: Plain>(shared: &Shared, call: &DeviceCall<'_>, bytes: usize) -> Option<Buffer> {
    let stages = call.returns::<R>(3) && shared.gpu_memory.stages(call, bytes);
    stages.then(|| call.alloc(bytes))?.map(Buffer::Device)
}

/// Runs a call while MPI runs.
fn future<F>(
    shared: &Arc<Shared>,
    run: impl FnOnce(Arc<Shared>) -> F + Send + 'static,
) -> Option<DeviceFuture>
where
    F: Future<Output = Result<DeviceReply, MpiError>> + Send,
{
    let shared = Arc::clone(shared);
    Some(Box::pin(async move {
        shared.check().map_err(FunctionFailed::new)?;
        run(shared).await.map_err(FunctionFailed::new)
    }))
}

/// Waits for a request, whose message then gets to an argument with so much room.
async fn deliver(request: Request, argument: usize, room: usize) -> Result<DeviceReply, MpiError> {
    let (received, mut buffers) = request.done().await?;
    let bytes = usize::try_from(received.bytes).unwrap_or(usize::MAX);
    if bytes > room {
        return Err(MpiError::NoRoom { bytes, room });
    }
    let reply = DeviceReply::new(received);
    Ok(match buffers.pop() {
        Some(Buffer::Device(buffer)) => reply.with_data(argument, buffer, bytes),
        _ => unreachable!("it was staged in device memory"),
    })
}
