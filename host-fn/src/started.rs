//! The device side: a call that does not block.

use core::ffi::{c_uint, c_void};
use core::marker::PhantomData;
use core::mem;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll};

use crate::call_error::CallError;
use crate::entry::Entry;
use crate::plain::Plain;
use crate::reply::Reply;
use shared_abi::image::FunctionInfo;
use shared_abi::status::Status;

unsafe extern "C" {
    // `device-rt` defines these, with its feature `start`.
    fn revoff_start(
        func: *mut c_void,
        mapnum: c_uint,
        hostaddrs: *mut *mut c_void,
        sizes: *mut usize,
        kinds: *mut u16,
        started: *mut u64,
    ) -> u32;
    fn revoff_is_ready(call: u64) -> bool;
    fn revoff_finish(
        call: u64,
        mapnum: c_uint,
        hostaddrs: *mut *mut c_void,
        sizes: *mut usize,
        kinds: *mut u16,
    ) -> u32;
}

/// A call that runs on the host while the device thread goes on.
///
/// The host has copies of the arguments. Results of `&mut` and `Out` parameters, which are borrowed for
/// `'call`, are written by [`wait`](Self::wait), a poll that is ready, or the drop, on this thread: the
/// host never accesses that memory.
///
/// Dropping it waits for the call, since its slot cannot be used before. Forgetting it
/// ([`mem::forget`]) keeps the slot until the runtime ends, and nothing else: blocking calls
/// have slots of their own.
///
/// It is a future for executors that poll whatever is awake: it wakes its task at each poll, since
/// nothing on the device can wake it when the reply comes. It belongs to the thread that started it.
#[must_use = "dropping it waits for the call"]
pub struct Started<'call, R: Plain, const N: usize> {
    /// The number of the call; 0 if it is finished.
    call: u64,
    /// If it is finished, its status and its result.
    status: Status,
    reply: Reply<R>,
    /// The arguments, the last of which is for the reply. Values and data that the host only reads may be
    /// gone; nothing reads these.
    addresses: [*mut c_void; N],
    sizes: [usize; N],
    kinds: [u16; N],
    borrowed: PhantomData<&'call mut ()>,
}

/// Starts a call. Memory that the host writes, other than the reply, is borrowed for `'call`, also if `entries`
/// are borrowed for a shorter time: generated code vouches for that.
///
/// # Errors
/// The arguments do not fit a slot, or too many calls are in flight.
#[inline(always)]
pub fn start<'call, R: Plain, const N: usize>(
    function: &'static FunctionInfo,
    entries: impl FnOnce(&mut Reply<R>) -> [RawEntry; N],
    _borrowed: PhantomData<&'call mut ()>,
) -> Result<Started<'call, R, N>, CallError> {
    let mut reply = Reply::pending();
    let entries = entries(&mut reply);
    let mut this = Started {
        call: 0,
        status: Status::NONE,
        reply,
        addresses: entries.map(|entry| entry.address),
        sizes: entries.map(|entry| entry.size),
        kinds: entries.map(|entry| entry.kind),
        borrowed: PhantomData,
    };
    this.addresses[N - 1] = ptr::from_mut(&mut this.reply).cast();
    // SAFETY: the arrays have `N` elements each. The entries were made from references that live until
    // this returns, or (where the host writes) for `'call`; that of the reply is in `this`, which does not
    // move until this returns.
    let status = unsafe {
        revoff_start(
            ptr::from_ref(function).cast_mut().cast(),
            N as c_uint,
            this.addresses.as_mut_ptr(),
            this.sizes.as_mut_ptr(),
            this.kinds.as_mut_ptr(),
            &mut this.call,
        )
    };
    this.status = Status(status);
    match this.status {
        Status::TOO_MANY | Status::REFUSED_MAPPING if this.call == 0 => {
            Err(CallError::new(this.status))
        }
        _ => Ok(this),
    }
}

impl<R: Plain, const N: usize> Started<'_, R, N> {
    /// Whether the call is finished, so that [`wait`](Self::wait) does not wait.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        // SAFETY: the call is in flight, and this cannot be sent to another thread.
        self.call == 0 || unsafe { revoff_is_ready(self.call) }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// As for a call that blocks.
    pub fn wait(mut self) -> Result<R, CallError> {
        self.finish();
        self.take()
    }

    /// The number of the call if it is in flight, which the caller then finishes; otherwise its result.
    pub(crate) fn into_call(mut self) -> Result<u64, Result<R, CallError>> {
        match mem::take(&mut self.call) {
            0 => Err(self.take()),
            call => Ok(call),
        }
    }

    /// Waits for the reply, and writes results.
    fn finish(&mut self) {
        if self.call == 0 {
            return;
        }
        self.addresses[N - 1] = ptr::from_mut(&mut self.reply).cast();
        // SAFETY: the call is in flight, and this cannot be sent to another thread. Sizes and kinds are
        // those of the start. Only entries that the host writes are written here: these are borrowed for
        // `'call`, in which `self` lives, or are that of the reply, which is a field of `self`.
        self.status = Status(unsafe {
            revoff_finish(
                mem::take(&mut self.call),
                N as c_uint,
                self.addresses.as_mut_ptr(),
                self.sizes.as_mut_ptr(),
                self.kinds.as_mut_ptr(),
            )
        });
    }

    /// The result of a finished call; an error without a status the second time.
    fn take(&mut self) -> Result<R, CallError> {
        let status = mem::replace(&mut self.status, Status::NONE);
        mem::replace(&mut self.reply, Reply::pending()).result(status)
    }
}

impl<R: Plain, const N: usize> Drop for Started<'_, R, N> {
    fn drop(&mut self) {
        self.finish();
    }
}

// No field is pinned: the reply is used by address only while a method runs.
impl<R: Plain, const N: usize> Unpin for Started<'_, R, N> {}

impl<R: Plain, const N: usize> Future for Started<'_, R, N> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_ready() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.finish();
        Poll::Ready(self.take())
    }
}

/// An [`Entry`] that borrows nothing.
#[derive(Clone, Copy)]
pub struct RawEntry {
    pub(crate) address: *mut c_void,
    pub(crate) size: usize,
    pub(crate) kind: u16,
}

impl From<Entry<'_>> for RawEntry {
    #[inline(always)]
    fn from(entry: Entry<'_>) -> Self {
        Self {
            address: entry.address,
            size: entry.size,
            kind: entry.kind,
        }
    }
}
