//! The host functions.

use std::sync::Arc;

use mpi_calls::{
    MpiAllreduce, MpiBarrier, MpiBroadcast, MpiExchange, MpiIrecv, MpiIsend, MpiRank, MpiRecv,
    MpiReduce, MpiSend, MpiSendrecv, MpiSize, MpiWait, Received,
};
use revoff_host::{Functions, RuntimeError};

use crate::collective::Collective;
use crate::communication::Communication;
use crate::error::MpiError;
use crate::on_device;
use crate::open_requests::{OpenRequest, Sending};
use crate::progress::Command;
use crate::receives::Receive;
use crate::request::{Buffer, Words};
use crate::run_to_end::RunToEnd;
use crate::session::{Mpi, Shared};

/// The result of the wait for a send.
const NOTHING_RECEIVED: Received = Received {
    from: 0,
    tag: 0,
    bytes: 0,
};

impl Mpi {
    /// Adds the functions that kernels call.
    ///
    /// # Errors
    /// One has a function of that name.
    pub fn add_to<'a>(
        &self,
        functions: &'a mut Functions,
    ) -> Result<&'a mut Functions, RuntimeError> {
        let (rank, size) = (self.rank(), self.size());
        functions.add(MpiRank::bind(move || rank))?;
        functions.add(MpiSize::bind(move || size))?;
        /// Adds an asynchronous function: its name, its parameters, and a future with `shared`; and what serves calls
        /// with messages in device memory, if there is such a thing.
        macro_rules! add {
            ($function:ident, |$shared:ident $(, $parameter:ident)*| $body:expr $(, $on_device:path)?) => {{
                let shared = Arc::clone(&self.shared);
                let function = $function::try_bind_async(move |$($parameter),*| {
                    let $shared = Arc::clone(&shared);
                    Box::pin(async move { $shared.call(async { $body }).await })
                });
                let shared = Arc::clone(&self.shared);
                let spawn = move |call| shared.run(call);
                add!(@ function, spawn $(, $on_device(&self.shared))?);
            }};
            (@ $function:expr, $spawn:expr) => {
                functions.add_async($function, $spawn)?
            };
            (@ $function:expr, $spawn:expr, $on_device:expr) => {
                functions.add_async_on_device($function, $on_device, $spawn)?
            };
        }
        add!(
            MpiSend,
            |shared, to, tag, data| shared.send(to, tag, data)?.await,
            on_device::send
        );
        add!(
            MpiRecv,
            |shared, from, tag, data| {
                let receive = shared.receive(from, tag, data.len())?;
                deliver(receive, data).await
            },
            on_device::recv
        );
        add!(MpiSendrecv, |shared,
                           to,
                           send_tag,
                           data,
                           from,
                           recv_tag,
                           into| {
            shared.check_send(to, send_tag, data)?;
            let receiving = shared.receive(from, recv_tag, into.len())?;
            let sending = shared.send(to, send_tag, data)?;
            let received = deliver(receiving, into).await?;
            sending.await?;
            Ok(received)
        });
        add!(MpiExchange, |shared,
                           a,
                           tag_a,
                           to_a,
                           from_a,
                           b,
                           tag_b,
                           to_b,
                           from_b| {
            shared.check_send(a, tag_a, to_a)?;
            shared.check_send(b, tag_b, to_b)?;
            // A message from one neighbour travels in the direction of the other.
            let of_a = shared.receive(a, tag_b, from_a.len())?;
            let of_b = shared.receive(b, tag_a, from_b.len())?;
            let sent_to_a = shared.send(a, tag_a, to_a)?;
            let sent_to_b = shared.send(b, tag_b, to_b)?;
            // Both messages are received, also if one of them is too long.
            let came = [deliver(of_a, from_a).await, deliver(of_b, from_b).await];
            for received in came {
                received?;
            }
            sent_to_a.await?;
            sent_to_b.await
        });
        add!(
            MpiIsend,
            |shared, to, tag, data| {
                let sending = shared.send(to, tag, data)?;
                Ok(shared.open_requests().add(OpenRequest::Send(sending)))
            },
            on_device::isend
        );
        add!(
            MpiIrecv,
            |shared, from, tag, bytes| {
                // More than there is memory for is an error of MPI's as well.
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                shared.open_receive(bytes, || shared.receive(from, tag, bytes))
            },
            on_device::irecv
        );
        add!(
            MpiWait,
            |shared, request, data| {
                let request = shared.open_requests().take(request)?;
                match request {
                    OpenRequest::Receive(receive, _reserved) => deliver(receive, data).await,
                    OpenRequest::Send(sending) => sending.await.map(|()| NOTHING_RECEIVED),
                }
            },
            on_device::wait
        );
        add!(MpiBarrier, |shared| {
            let barrier = shared.collective(
                Communication::Barrier,
                (0, 0),
                || Ok(vec![]),
                |_, _| Ok(None),
            );
            barrier?.await.map(drop)
        });
        add!(MpiBroadcast, |shared, root, data| {
            let bytes = data.len();
            let what = Communication::Broadcast { root, bytes };
            let buffers = || Ok(vec![Words::copy_of(data)?.into()]);
            let broadcast =
                shared.collective(what, (0, 0), buffers, move |communicator, buffers| {
                    communicator.broadcast(root, bytes, buffers).map(Some)
                });
            put(&broadcast?.await?, data)
        });
        add!(MpiReduce, |shared, root, datatype, operation, data| {
            let is_root = shared.communicator.rank == root;
            let buffers = shared
                .reduce(Some(root), (datatype, operation), data)?
                .await?;
            if is_root {
                put(&buffers, data)?;
            }
            Ok(())
        });
        add!(MpiAllreduce, |shared, datatype, operation, data| {
            put(
                &shared.reduce(None, (datatype, operation), data)?.await?,
                data,
            )
        });
        Ok(functions)
    }
}

impl Shared {
    /// Begins to send data, of which MPI gets a copy.
    fn send(&self, to: u32, tag: u32, data: &[u8]) -> Result<Sending, MpiError> {
        self.send_buffer(to, tag, data.len(), || {
            Words::copy_of(data).map(Buffer::from)
        })
    }

    /// Begins to send `bytes` bytes, which `buffer` returns.
    pub(crate) fn send_buffer(
        &self,
        to: u32,
        tag: u32,
        bytes: usize,
        buffer: impl FnOnce() -> Result<Buffer, MpiError>,
    ) -> Result<Sending, MpiError> {
        let reserved = self.open_requests().reserve(bytes as u64)?;
        let request = self.communicator.send(to, tag, bytes, buffer)?;
        Ok(RunToEnd::new(
            &self.thread,
            Command::Abandoned,
            async move {
                let _reserved = reserved;
                request.done().await.map(drop)
            },
        ))
    }

    /// Checks a send before what precedes it begins.
    fn check_send(&self, to: u32, tag: u32, data: &[u8]) -> Result<(), MpiError> {
        let bytes = data.len();
        self.communicator
            .check(Communication::Send { to, tag, bytes })
    }

    /// Begins to receive at most so many bytes, into memory of the host.
    fn receive(&self, from: u32, tag: u32, bytes: usize) -> Result<Receive, MpiError> {
        self.receives.begin(&self.thread, (from, tag, bytes), None)
    }

    /// Begins to combine elements of all ranks; the last buffer gets the result, of `root` alone or of all.
    fn reduce(
        &self,
        root: Option<u32>,
        (datatype, operation): (u32, u32),
        data: &[u8],
    ) -> Result<Collective, MpiError> {
        let bytes = data.len();
        let what = Communication::Reduce { root, bytes };
        let buffers = || Buffer::for_reduction(data);
        let elements = (datatype, operation);
        self.collective(what, elements, buffers, move |communicator, buffers| {
            let request = communicator.reduce(root, elements, bytes, buffers)?;
            Ok(Some(request))
        })
    }

    /// Begins a receive of at most so many bytes, and keeps it until a kernel waits for it; returns its number.
    pub(crate) fn open_receive(
        &self,
        bytes: usize,
        begin: impl FnOnce() -> Result<Receive, MpiError>,
    ) -> Result<u64, MpiError> {
        let reserved = self.open_requests().reserve(bytes as u64)?;
        let request = OpenRequest::Receive(begin()?, reserved);
        Ok(self.open_requests().add(request))
    }
}

/// Waits for a message, and copies it.
async fn deliver(receive: Receive, data: &mut [u8]) -> Result<Received, MpiError> {
    let (received, buffers) = receive.done().await?;
    let bytes = usize::try_from(received.bytes).unwrap_or(usize::MAX);
    let room = data.len();
    let no_room = MpiError::NoRoom { bytes, room };
    let place = data.get_mut(..bytes).ok_or(no_room)?;
    if let Some(message) = buffers.first() {
        message.read(place)?;
    }
    Ok(received)
}

/// Copies the last buffer, which has the result.
fn put(buffers: &[Buffer], data: &mut [u8]) -> Result<(), MpiError> {
    buffers.last().map_or(Ok(()), |result| result.read(data))
}
