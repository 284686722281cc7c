//! The host functions.

use std::sync::Arc;

use mpi_calls::{
    MpiAllreduce, MpiBarrier, MpiBroadcast, MpiExchange, MpiIrecv, MpiIsend, MpiRank, MpiRecv,
    MpiReduce, MpiSend, MpiSendrecv, MpiSize, MpiWait, Received,
};
use revoff_host::{Functions, RuntimeError};

use crate::error::MpiError;
use crate::on_device;
use crate::request::{Buffer, Request, Words};
use crate::session::{Mpi, Shared};

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
                    Box::pin(async move {
                        $shared.check()?;
                        $body
                    })
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
            |shared, to, tag, data| {
                let request = shared.send(to, tag, data)?;
                request.done().await.map(drop)
            },
            on_device::send
        );
        add!(
            MpiRecv,
            |shared, from, tag, data| {
                let request = shared.receive(from, tag, data.len())?;
                deliver(request, data).await
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
            let receiving = shared.receive(from, recv_tag, into.len())?;
            let sending = shared.send(to, send_tag, data)?;
            let received = deliver(receiving, into).await?;
            sending.done().await?;
            Ok::<_, MpiError>(received)
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
            // A message from one neighbour travels in the direction of the other.
            let of_a = shared.receive(a, tag_b, from_a.len())?;
            let of_b = shared.receive(b, tag_a, from_b.len())?;
            let sent_to_a = shared.send(a, tag_a, to_a)?;
            let sent_to_b = shared.send(b, tag_b, to_b)?;
            deliver(of_a, from_a).await?;
            deliver(of_b, from_b).await?;
            sent_to_a.done().await?;
            sent_to_b.done().await.map(drop)
        });
        add!(
            MpiIsend,
            |shared, to, tag, data| shared.keep(data.len(), || shared.send(to, tag, data)),
            on_device::isend
        );
        add!(
            MpiIrecv,
            |shared, from, tag, bytes| {
                // More than there is memory for is an error of MPI's as well.
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                shared.keep(bytes, || shared.receive(from, tag, bytes))
            },
            on_device::irecv
        );
        add!(
            MpiWait,
            |shared, request, data| {
                // The request keeps its memory until it is done.
                let (request, _reserved) = shared.kept().take(request)?;
                deliver(request, data).await
            },
            on_device::wait
        );
        add!(MpiBarrier, |shared| {
            let request = shared.communicator.barrier()?;
            request.done().await.map(drop)
        });
        add!(MpiBroadcast, |shared, root, data| {
            let request = shared.communicator.broadcast(root, data)?;
            put(&request.done().await?.1, data)
        });
        add!(MpiReduce, |shared, root, datatype, operation, data| {
            let is_root = shared.communicator.rank == root;
            let request = shared
                .communicator
                .reduce(Some(root), (datatype, operation), data)?;
            let (_, buffers) = request.done().await?;
            if is_root {
                put(&buffers, data)?;
            }
            Ok::<_, MpiError>(())
        });
        add!(MpiAllreduce, |shared, datatype, operation, data| {
            let request = shared
                .communicator
                .reduce(None, (datatype, operation), data)?;
            put(&request.done().await?.1, data)
        });
        Ok(functions)
    }
}

impl Shared {
    /// Begins to send data, of which MPI gets a copy.
    fn send(&self, to: u32, tag: u32, data: &[u8]) -> Result<Request, MpiError> {
        let copy = || Words::copy_of(data).into();
        self.communicator.send(to, tag, data.len(), copy)
    }

    /// Begins to receive at most so many bytes, into memory of the host.
    fn receive(&self, from: u32, tag: u32, bytes: usize) -> Result<Request, MpiError> {
        let memory = || Words::new(bytes).into();
        self.communicator.receive(from, tag, bytes, memory)
    }

    /// Begins a request with a message of that many bytes, and keeps it until a kernel waits for it; returns its
    /// number.
    pub(crate) fn keep(
        &self,
        bytes: usize,
        begin: impl FnOnce() -> Result<Request, MpiError>,
    ) -> Result<u64, MpiError> {
        let reserved = self.kept().reserve(bytes as u64)?;
        let request = begin()?;
        Ok(self.kept().add(request, reserved))
    }
}

/// Waits for a request, and copies a message that was received.
async fn deliver(request: Request, data: &mut [u8]) -> Result<Received, MpiError> {
    let (received, buffers) = request.done().await?;
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
