//! Calls whose messages are staged in device memory, which MPI accesses itself.
//!
//! Each function here serves those calls of one host function, and declines the others. MPI never gets the kernel's own
//! memory: a launch can be aborted, or the kernel can change its data, while MPI works.

use std::sync::Arc;

use mpi_calls::Received;
use revoff_fn::Plain;
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::{DeviceCall, DeviceFunction, DeviceFuture, DeviceReply, StagingBuffer};

use crate::error::MpiError;
use crate::open_requests::OpenRequest;
use crate::receives::Receive;
use crate::request::Buffer;
use crate::session::Shared;

/// `mpi_send`
pub(crate) fn send(shared: &Arc<Shared>) -> impl DeviceFunction + use<> {
    let shared = Arc::clone(shared);
    move |call: &mut DeviceCall<'_>| {
        let (to, tag) = (call.value(0)?, call.value(1)?);
        let (buffer, bytes) = outgoing::<()>(&shared, call)?;
        future(&shared, async move |shared| {
            let buffer = || Ok(Buffer::Device(buffer));
            shared.send_buffer(to, tag, bytes, buffer)?.await?;
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
            let buffer = || Ok(Buffer::Device(buffer));
            let sending = shared.send_buffer(to, tag, bytes, buffer)?;
            let number = shared.open_requests().add(OpenRequest::Send(sending));
            Ok(DeviceReply::new(number))
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
            let receive = receive(&shared, (from, tag, bytes), buffer)?;
            deliver(receive, 2, bytes).await
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
            let begin = || receive(&shared, (from, tag, bytes), buffer);
            shared.open_receive(bytes, begin).map(DeviceReply::new)
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
        let is_here = |request: &OpenRequest| match request {
            OpenRequest::Receive(receive, _) => receive.is_staged_on(|buffer| call.owns(buffer)),
            OpenRequest::Send(_) => false,
        };
        if !is_declared || !shared.open_requests().find(number).is_some_and(is_here) {
            return None;
        }
        future(&shared, async move |shared| {
            let request = shared.open_requests().take(number)?;
            match request {
                OpenRequest::Receive(receive, _reserved) => deliver(receive, 1, room).await,
                OpenRequest::Send(_) => unreachable!("numbers are not given again"),
            }
        })
    }
}

/// The message of a call that sends its third argument, and returns an `R`.
fn outgoing<R: Plain>(
    shared: &Shared,
    call: &mut DeviceCall<'_>,
) -> Option<(StagingBuffer, usize)> {
    let bytes = call.data(2, MapKind::TO)?;
    let stages = call.returns::<R>(3) && shared.gpu_memory.stages(call, bytes);
    let buffer = stages.then(|| call.copy_of(2))??;
    Some((buffer, bytes))
}

/// Memory for the message of a call that has three arguments, and returns an `R`.
fn incoming<R: Plain>(
    shared: &Shared,
    call: &DeviceCall<'_>,
    bytes: usize,
) -> Option<StagingBuffer> {
    let stages = call.returns::<R>(3) && shared.gpu_memory.stages(call, bytes);
    stages.then(|| call.alloc(bytes))?
}

/// Begins to receive a message in `buffer`.
fn receive(
    shared: &Shared,
    message: (u32, u32, usize),
    buffer: StagingBuffer,
) -> Result<Receive, MpiError> {
    let (receives, thread) = (&shared.receives, &shared.thread);
    receives.begin(thread, message, Some(buffer))
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
        shared.call(run(Arc::clone(&shared))).await
    }))
}

/// Waits for a message, which then gets to an argument with so much room.
async fn deliver(receive: Receive, argument: usize, room: usize) -> Result<DeviceReply, MpiError> {
    let (received, mut buffers) = receive.done().await?;
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
