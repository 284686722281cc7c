//! The device side: calls without a result, which their thread need not wait for one by one.

use core::ffi::c_uint;
use core::marker::PhantomData;

use crate::call_error::CallError;
use crate::started::Started;
use shared_abi::status::Status;

unsafe extern "C" {
    // `device-rt` defines it, with its feature `start`.
    fn revoff_finish_posted(call: u64, mapnum: c_uint) -> u32;
}

/// Up to `K` calls in flight that one thread has posted. Dropping it waits for them.
///
/// The calls of a thread may run at the same time and in any order. A call that fails is an error of the
/// launch.
#[derive(Debug)]
pub struct Posts<const K: usize> {
    /// The number of each call in flight, and that of its arguments; 0 if there is none.
    calls: [(u64, u32); K],
    /// The place for the next call; that of the oldest one if all are used.
    next: usize,
    failed: u32,
    /// A call belongs to the thread that posted it.
    not_sent: PhantomData<*mut ()>,
}

impl<const K: usize> Posts<K> {
    /// No calls.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(K > 0, "there is no room for a call") }
        Self {
            calls: [(0, 0); K],
            next: 0,
            failed: 0,
            not_sent: PhantomData,
        }
    }

    /// The number of finished calls that have failed.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Waits for all calls.
    pub fn wait(&mut self) {
        self.finish_all();
    }

    /// Waits for all calls. Returns whether there was one.
    fn finish_all(&mut self) -> bool {
        let mut any = false;
        for place in 0..K {
            any |= self.finish(place);
        }
        any
    }

    /// Waits for the call in a place. Returns whether there was one.
    fn finish(&mut self, place: usize) -> bool {
        let (call, count) = core::mem::take(&mut self.calls[place]);
        if call == 0 {
            return false;
        }
        // SAFETY: the call is in flight, and this cannot be sent to another thread. The host writes only
        // the reply, of 8 bytes, which is the last argument: `add` gets only such calls.
        let status = Status(unsafe { revoff_finish_posted(call, count) });
        self.failed += u32::from(status != Status::DONE);
        true
    }

    /// Posts the call that `start` starts. If it does not fit a slot, or no slot is free after the calls
    /// before it, `call` makes it, and waits.
    ///
    /// Generated code ensures that the host writes none of the arguments except the reply.
    #[inline(always)]
    pub(crate) fn add<const N: usize>(
        &mut self,
        start: impl Fn() -> Result<Started<'static, (), N>, CallError>,
        call: impl FnOnce() -> Result<(), CallError>,
    ) {
        let place = self.next;
        self.next = if place + 1 == K { 0 } else { place + 1 };
        self.finish(place);
        let mut started = start();
        if is_too_many(&started) && self.finish_all() {
            started = start();
        }
        let result = match started.map(Started::into_call) {
            Ok(Ok(number)) => {
                self.calls[place] = (number, N as u32);
                return;
            }
            Ok(Err(result)) => result,
            Err(_) => call(),
        };
        self.failed += u32::from(result.is_err());
    }
}

fn is_too_many<T>(started: &Result<T, CallError>) -> bool {
    matches!(started, Err(error) if error.status() == Status::TOO_MANY)
}

impl<const K: usize> Default for Posts<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const K: usize> Drop for Posts<K> {
    fn drop(&mut self) {
        self.finish_all();
    }
}

/// Posts a call, after waiting for the oldest one if there are already `K`.
#[inline(always)]
pub fn post<const K: usize, const N: usize>(
    posts: &mut Posts<K>,
    start: impl Fn() -> Result<Started<'static, (), N>, CallError>,
    call: impl FnOnce() -> Result<(), CallError>,
) {
    posts.add(start, call);
}
