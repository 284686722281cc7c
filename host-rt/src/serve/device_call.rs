//! Calls of asynchronous functions whose data stays in device memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use revoff_fn::__private::{Reply, reply_bytes};
use revoff_fn::{BoxFuture, FunctionFailed, Plain};
use shared_abi::map_kind::MapKind;

use super::Server;
use super::device_copy::DeviceCopy;
use super::staging::StagingBuffer;
use crate::device::{DeviceAddr, DeviceError, MemoryKind};
use crate::map::{Arg, TransferError};
use crate::wire::{ArgRange, Copier, Request};

/// The call that a [`DeviceFunction`] has started.
pub type DeviceFuture = BoxFuture<'static, Result<DeviceReply, FunctionFailed>>;

/// How an asynchronous function serves some of its calls without copying their data to the host.
///
/// Implemented for closures.
pub trait DeviceFunction: Send + Sync + 'static {
    /// Starts a call. `None` leaves it to the function itself, with data that is copied: also if the arguments are
    /// not those of the declaration.
    ///
    /// Copies that it starts ([`DeviceCall::copy_of`]) are made before the future is first polled.
    fn start(&self, call: &mut DeviceCall<'_>) -> Option<DeviceFuture>;
}

impl<F> DeviceFunction for F
where
    F: Fn(&mut DeviceCall<'_>) -> Option<DeviceFuture> + Send + Sync + 'static,
{
    fn start(&self, call: &mut DeviceCall<'_>) -> Option<DeviceFuture> {
        self(call)
    }
}

/// A call whose arguments are not mapped.
pub struct DeviceCall<'a> {
    server: &'a Arc<Server>,
    copier: &'a Copier,
    args: &'a [Arg],
    /// The copies that have started.
    copies: Vec<DeviceCopy>,
}

/// A call that a [`DeviceFunction`] has started, and the copies that are made before its first poll.
pub(super) type Started = (DeviceFuture, Vec<DeviceCopy>);

/// Starts a call with these arguments.
///
/// # Errors
/// The function has panicked.
pub(super) fn start(
    function: &dyn DeviceFunction,
    server: &Arc<Server>,
    copier: &Copier,
    args: &[Arg],
) -> thread::Result<Option<Started>> {
    let mut call = DeviceCall {
        server,
        copier,
        args,
        copies: vec![],
    };
    let future = catch_unwind(AssertUnwindSafe(|| function.start(&mut call)));
    let copies = call.copies;
    if !matches!(future, Ok(Some(_))) {
        // The kernel gets an answer that does not wait for them.
        copies.iter().for_each(DeviceCopy::wait);
    }
    Ok(future?.map(|future| (future, copies)))
}

impl DeviceCall<'_> {
    /// The kind of the device's memory.
    #[must_use]
    pub fn memory_kind(&self) -> MemoryKind {
        self.server.device.memory_kind()
    }

    /// Whether copies within the device's memory go on while kernels wait for the host. If not, a call that copies so
    /// may wait for ever, if kernels that wait occupy the whole device.
    #[must_use]
    pub fn copies_beside_kernels(&self) -> bool {
        self.server.device.copies_beside_kernels()
    }

    /// The value of an argument; `None` if it is none of this type.
    #[must_use]
    pub fn value<T: Plain>(&self, argument: usize) -> Option<T> {
        let arg = self.args.get(argument)?;
        let is_value = arg.kind.plain() == MapKind::FIRSTPRIVATE_INT
            && arg.size == size_of::<T>() as u64
            && size_of::<T>() <= size_of::<u64>();
        let bytes = arg.addr.to_ne_bytes();
        is_value.then(|| T::read_from_bytes(bytes.get(..size_of::<T>())?).ok())?
    }

    /// The length of an argument's data in bytes; `None` if it is mapped by another kind, or not in device memory.
    #[must_use]
    pub fn data(&self, argument: usize, kind: MapKind) -> Option<usize> {
        let arg = self.args.get(argument)?;
        let is_data = arg.kind.plain() == kind
            && arg.addr != 0
            && arg.is_in_device_memory()
            && self.server.present.is_empty();
        is_data.then_some(arg.size as usize)
    }

    /// Whether the result, which follows `arguments` arguments, is an `R`.
    #[must_use]
    pub fn returns<R: Plain>(&self, arguments: usize) -> bool {
        let is_reply = |reply: &Arg| {
            reply.kind.plain() == MapKind::FROM && reply.size == size_of::<Reply<R>>() as u64
        };
        self.args.len() == arguments + 1 && self.args.last().is_some_and(is_reply)
    }

    /// Whether a buffer is memory of the device that calls.
    #[must_use]
    pub fn owns(&self, buffer: &StagingBuffer) -> bool {
        buffer.is_on(&self.server.device)
    }

    /// Memory of the device for so many bytes, more than none; `None` if there is no room, or if an allocation may wait
    /// for the kernel that calls.
    #[must_use]
    pub fn alloc(&self, bytes: usize) -> Option<StagingBuffer> {
        let device = &self.server.device;
        let may_alloc = bytes > 0 && device.allocates_beside_kernels();
        may_alloc.then(|| StagingBuffer::new(device, &self.server.requests.budget, bytes))?
    }

    /// A copy of an argument's data, made on the device; `None` if there is no room, or if the device cannot reach the
    /// data. The buffer has the data when the future of the call is first polled. If the copy fails, so does the call.
    #[must_use]
    pub fn copy_of(&mut self, argument: usize) -> Option<StagingBuffer> {
        let arg = self.args.get(argument)?;
        let (address, len) = (DeviceAddr(arg.addr), usize::try_from(arg.size).ok()?);
        let mut buffer = self.alloc(len)?;
        let copied = self.copier.fetch_on_device(buffer.address(), address, len);
        let event = copied.ok()?;
        buffer.copies(&event);
        self.copies.push(DeviceCopy {
            event,
            address,
            len,
        });
        Some(buffer)
    }
}

/// The result of a call that a [`DeviceFunction`] has started.
#[derive(Debug)]
pub struct DeviceReply {
    /// The bytes of the last argument.
    reply: Vec<u8>,
    /// An argument, the data for it, and its length.
    data: Option<(usize, StagingBuffer, usize)>,
}

impl DeviceReply {
    /// The result. Its type is that of the declaration.
    #[must_use]
    pub fn new<R: Plain>(value: R) -> Self {
        Self {
            reply: reply_bytes(value),
            data: None,
        }
    }

    /// Also copies the first `len` bytes of a buffer of the same device to the begin of an argument's data, on the
    /// device. The other bytes of that stay as they are.
    ///
    /// # Panics
    /// The buffer has fewer bytes.
    #[must_use]
    pub fn with_data(self, argument: usize, buffer: StagingBuffer, len: usize) -> Self {
        assert!(len <= buffer.len(), "a staging buffer has fewer bytes");
        Self {
            data: Some((argument, buffer, len)),
            ..self
        }
    }

    /// Starts the copy of data to an argument, if there is one.
    pub(super) fn start_copy(
        &mut self,
        server: &Server,
        copier: &Copier,
        args: &[Arg],
    ) -> Result<Option<DeviceCopy>, TransferError> {
        let Some((argument, buffer, len)) = &mut self.data else {
            return Ok(None);
        };
        let len = *len;
        let arg = args.get(*argument).filter(|arg| {
            arg.kind.writes_device()
                && arg.is_in_device_memory()
                && len as u64 <= arg.size
                && buffer.is_on(&server.device)
        });
        let Some(arg) = arg else {
            return Err(unfit(len));
        };
        let address = DeviceAddr(arg.addr);
        let copied = copier.store_on_device(address, buffer.address(), len);
        let event = copied.map_err(|reason| failed(address, len, reason))?;
        buffer.copies(&event);
        Ok(Some(DeviceCopy {
            event,
            address,
            len,
        }))
    }

    /// Writes the result to the last argument.
    pub(super) fn write(
        &self,
        request: &mut Request,
        copier: &mut Copier,
        args: &[Arg],
    ) -> Result<(), TransferError> {
        let len = self.reply.len();
        let Some(last) = args.last().filter(|last| last.size == len as u64) else {
            return Err(unfit(len));
        };
        let range = ArgRange::in_arg(last, last.addr, len);
        // SAFETY: the reply, all of whose bytes have values, stays as it is until `finish` has returned.
        let started = unsafe { request.write(copier, range, self.reply.as_ptr()) };
        let finished = copier.finish();
        let written = started.and(finished);
        written.map_err(|reason| failed(DeviceAddr(last.addr), len, reason))
    }
}

fn failed(device: DeviceAddr, len: usize, reason: DeviceError) -> TransferError {
    let len = len as u64;
    TransferError::Copy {
        device,
        len,
        reason,
    }
}

fn unfit(len: usize) -> TransferError {
    let address = DeviceAddr(0);
    let reason = DeviceError::Unreachable {
        address,
        len: len as u64,
        what: "no argument of the call with so many bytes",
    };
    failed(address, len, reason)
}
