//! MPI for kernels.
//!
//! A kernel depends on this crate and calls its functions; the host program registers them with `revoff-mpi`,
//! which calls the machine's MPI. Each device thread may call at any time, and waits alone. Data that it sends is
//! copied by the call, and what it receives is copied to it at the end:
//!
//! ```
//! # fn kernel(temperatures: &mut [f64]) -> Result<(), revoff_fn::CallError> {
//! let right = (mpi_calls::rank()? + 1) % mpi_calls::size()?;
//! let sent = mpi_calls::isend(right, 0, &temperatures[..1])?;
//! let came = mpi_calls::recv(mpi_calls::ANY, 0, &mut temperatures[1..2])?;
//! sent.wait()?;
//! assert_eq!(came.bytes, 8);
//! # Ok(())
//! # }
//! ```
//!
//! All ranks call the collective functions ([`barrier`], [`broadcast`], [`reduce`], [`allreduce`]) in the same
//! order, each once for the rank: by one of its device threads.
//!
//! An error of MPI is an error of the launch, and a [`CallError`] here.
#![no_std]

mod element;

use revoff_fn::CallError;
use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

pub use element::{Datatype, Element, Operation};

/// Any rank, or any tag, as the source of a message.
pub const ANY: u32 = u32::MAX;

/// The largest tag that every MPI has.
pub const MAX_TAG: u32 = 32767;

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Received {
    /// The rank that sent it.
    pub from: u32,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: u64,
}

revoff_fn::host_functions! {
    /// This process's rank.
    pub fn mpi_rank() -> u32;

    /// The number of ranks.
    pub fn mpi_size() -> u32;

    /// Sends a message; returns when `data` has left, or when MPI has copied it.
    pub fn mpi_send(to: u32, tag: u32, data: &[u8]);

    /// Waits for a message of at most the bytes of `data`, which keeps its other bytes.
    pub fn mpi_recv(from: u32, tag: u32, data: &mut [u8]) -> Received;

    /// Sends `data` and receives a message into `into`, as `mpi_send` and `mpi_recv` at a time.
    pub fn mpi_sendrecv(to: u32, send_tag: u32, data: &[u8], from: u32, recv_tag: u32, into: &mut [u8]) -> Received;

    /// Sends to two ranks and receives from both, as two `mpi_sendrecv` at a time. Messages in the direction of `a`
    /// have the tag `tag_a`, those in the direction of `b` the tag `tag_b`.
    pub fn mpi_exchange(a: u32, tag_a: u32, to_a: &[u8], from_a: &mut [u8], b: u32, tag_b: u32, to_b: &[u8], from_b: &mut [u8]);

    /// Begins to send a message; returns its request, for `mpi_wait`.
    pub fn mpi_isend(to: u32, tag: u32, data: &[u8]) -> u64;

    /// Begins to receive a message of at most `bytes`; returns its request, for `mpi_wait`.
    pub fn mpi_irecv(from: u32, tag: u32, bytes: u64) -> u64;

    /// Waits for a request, which is then no more. A message that was received gets into `data`; a message that
    /// was sent is `Received` as empty.
    pub fn mpi_wait(request: u64, data: &mut [u8]) -> Received;

    /// Waits until all ranks have called it.
    pub fn mpi_barrier();

    /// Copies the `data` of the rank `root` to all others.
    pub fn mpi_broadcast(root: u32, data: &mut [u8]);

    /// Combines the `data` of all ranks, element by element; the result replaces that of the rank `root`.
    pub fn mpi_reduce(root: u32, datatype: u32, operation: u32, data: &mut [u8]);

    /// Combines the `data` of all ranks, element by element; the result replaces that of each.
    pub fn mpi_allreduce(datatype: u32, operation: u32, data: &mut [u8]);
}

/// This process's rank.
///
/// # Errors
/// The host did not answer.
pub fn rank() -> Result<u32, CallError> {
    mpi_rank()
}

/// The number of ranks.
///
/// # Errors
/// The host did not answer.
pub fn size() -> Result<u32, CallError> {
    mpi_size()
}

/// Sends `data` to the rank `to`; returns when it has left, or when MPI has copied it.
///
/// # Errors
/// MPI reports an error, such as a rank that does not exist.
pub fn send<T: Element>(to: u32, tag: u32, data: &[T]) -> Result<(), CallError> {
    mpi_send(to, tag, data.as_bytes())
}

/// Waits for a message from the rank `from` with this `tag`, or from [`ANY`], of at most the length of `data`,
/// whose other elements stay as they are.
///
/// # Errors
/// The message is longer, or MPI reports another error.
pub fn recv<T: Element>(from: u32, tag: u32, data: &mut [T]) -> Result<Received, CallError> {
    mpi_recv(from, tag, data.as_mut_bytes())
}

/// Sends `data` to the rank `to` and receives a message from the rank `from` (or from [`ANY`]) into `into`, both with
/// this `tag`, in one call of the host.
///
/// # Errors
/// As for [`send`] and [`recv`].
pub fn sendrecv<T: Element>(
    to: u32,
    data: &[T],
    from: u32,
    into: &mut [T],
    tag: u32,
) -> Result<Received, CallError> {
    mpi_sendrecv(to, tag, data.as_bytes(), from, tag, into.as_mut_bytes())
}

/// A neighbour of a rank, for [`exchange`].
#[derive(Debug)]
pub struct Neighbor<'a, T> {
    /// Its rank.
    pub rank: u32,
    /// The tag of messages in its direction: of that to it, and of that from the other neighbour.
    pub tag: u32,
    /// The data for it.
    pub send: &'a [T],
    /// The place for its data.
    pub receive: &'a mut [T],
}

/// Sends to both neighbours and receives from both, in one call of the host: the exchange of a part that borders on
/// two others. They may be the same rank, or this one, if the tags differ.
///
/// # Errors
/// As for [`send`] and [`recv`].
pub fn exchange<T: Element>(a: Neighbor<'_, T>, b: Neighbor<'_, T>) -> Result<(), CallError> {
    let (to_a, from_a) = (a.send.as_bytes(), a.receive.as_mut_bytes());
    let (to_b, from_b) = (b.send.as_bytes(), b.receive.as_mut_bytes());
    mpi_exchange(a.rank, a.tag, to_a, from_a, b.rank, b.tag, to_b, from_b)
}

/// Begins to send `data`, which the kernel may change at once.
///
/// # Errors
/// As for [`send`].
pub fn isend<T: Element>(to: u32, tag: u32, data: &[T]) -> Result<Sending, CallError> {
    mpi_isend(to, tag, data.as_bytes()).map(Sending)
}

/// Begins to receive a message of at most `data`'s length.
///
/// # Errors
/// As for [`recv`].
pub fn irecv<T: Element>(
    from: u32,
    tag: u32,
    data: &mut [T],
) -> Result<Receiving<'_, T>, CallError> {
    let request = mpi_irecv(from, tag, size_of_val(data) as u64)?;
    Ok(Receiving { request, data })
}

/// A message that is being sent. If it is not waited for, its request stays in the host's memory.
#[must_use = "the host keeps the request until it is waited for"]
#[derive(Debug)]
pub struct Sending(u64);

impl Sending {
    /// Waits until it has left, or until MPI has copied it.
    ///
    /// # Errors
    /// MPI reports an error.
    pub fn wait(self) -> Result<(), CallError> {
        mpi_wait(self.0, &mut []).map(drop)
    }
}

/// A message that is being received. If it is not waited for, its request stays in the host's memory.
#[must_use = "the message arrives where it is waited for"]
#[derive(Debug)]
pub struct Receiving<'a, T> {
    request: u64,
    data: &'a mut [T],
}

impl<T: Element> Receiving<'_, T> {
    /// Waits for it.
    ///
    /// # Errors
    /// The message is too long, or MPI reports another error.
    pub fn wait(self) -> Result<Received, CallError> {
        mpi_wait(self.request, self.data.as_mut_bytes())
    }
}

/// Waits until all ranks have called it.
///
/// # Errors
/// Another rank has called something else, or MPI reports an error.
pub fn barrier() -> Result<(), CallError> {
    mpi_barrier()
}

/// Copies the `data` of the rank `root` to all others. All have the same length.
///
/// # Errors
/// Another rank has called something else, or with another root or length, or MPI reports an error.
pub fn broadcast<T: Element>(root: u32, data: &mut [T]) -> Result<(), CallError> {
    mpi_broadcast(root, data.as_mut_bytes())
}

/// Combines the `data` of all ranks, element by element. The result replaces that of the rank `root`. All have the
/// same length.
///
/// # Errors
/// The operation does not exist for such elements, another rank has called something else, or with other elements, or
/// MPI reports another error.
pub fn reduce<T: Element>(
    root: u32,
    operation: Operation,
    data: &mut [T],
) -> Result<(), CallError> {
    mpi_reduce(root, T::DATATYPE.0, operation.0, data.as_mut_bytes())
}

/// Combines the `data` of all ranks, element by element. The result replaces that of each. All have the same length.
///
/// # Errors
/// As for [`reduce`].
pub fn allreduce<T: Element>(operation: Operation, data: &mut [T]) -> Result<(), CallError> {
    mpi_allreduce(T::DATATYPE.0, operation.0, data.as_mut_bytes())
}
