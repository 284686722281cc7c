//! The host side of asynchronous functions: a closure that returns a future.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{self, Display};
use core::mem::offset_of;
use core::pin::Pin;

use crate::args::{Args, ReplyTo};
use crate::failure::{BadArguments, Failure};
use crate::function::RawArg;
use crate::plain::Plain;
use crate::reply::{Mark, Reply};

/// A future in a box, as asynchronous functions return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The error of a function that ran, as text: the error's own type is known only where it is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFailed(String);

impl FunctionFailed {
    /// That of a function which failed with this error.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }

    /// The error's text.
    #[must_use]
    pub fn into_message(self) -> String {
        self.0
    }
}

impl Display for FunctionFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for FunctionFailed {}

/// A function that devices call by name, and that returns its result later, on any thread.
pub trait AsyncHostFunction: Send + Sync + 'static {
    /// As [`HostFunction::name`](crate::HostFunction::name).
    fn name(&self) -> &str;

    /// As [`HostFunction::signature`](crate::HostFunction::signature).
    fn signature(&self) -> u64;

    /// Starts it. The future runs it, and writes its results to the memory of `args`; its output is the
    /// error if the function fails. Panics of the function pass through.
    ///
    /// # Errors
    /// The arguments differ from the declared ones.
    ///
    /// # Safety
    /// As for [`HostFunction::call`](crate::HostFunction::call), until the future is dropped instead of
    /// until this returns.
    unsafe fn start<'a>(
        &self,
        args: &'a [RawArg],
    ) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, Failure>;
}

/// A declaration and the asynchronous closure that runs for it. Made by `bind_async` and
/// `try_bind_async` of the types that `host_functions!` generates.
#[derive(Clone, Copy)]
pub struct BoundAsync<A> {
    name: &'static str,
    signature: u64,
    /// Number of arguments, the reply included.
    count: usize,
    adapter: A,
}

/// A closure that takes its arguments one by one and returns a future; generated code makes it.
///
/// Implemented for all closures of the right type. Only this crate can run them, since only it
/// makes [`Args`].
pub trait AsyncAdapter: Send + Sync + 'static {
    /// Takes the arguments, and starts the function.
    #[doc(hidden)]
    fn start<'a>(
        &self,
        args: &mut Args<'a>,
    ) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, BadArguments>;
}

impl<A> AsyncAdapter for A
where
    A: for<'a> Fn(&mut Args<'a>) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, BadArguments>
        + Send
        + Sync
        + 'static,
{
    fn start<'a>(
        &self,
        args: &mut Args<'a>,
    ) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, BadArguments> {
        self(args)
    }
}

/// Makes a [`BoundAsync`]. A function, so that the closure's type is known where it is written.
pub fn bind_async<A>(
    name: &'static str,
    signature: u64,
    count: usize,
    adapter: A,
) -> BoundAsync<impl AsyncAdapter>
where
    A: for<'a> Fn(&mut Args<'a>) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, BadArguments>
        + Send
        + Sync
        + 'static,
{
    BoundAsync {
        name,
        signature,
        count,
        adapter,
    }
}

/// Writes the result of a function, or returns its error.
pub fn finish<R, E: Display>(
    reply: ReplyTo<'_, R>,
    result: Result<R, E>,
) -> Result<(), FunctionFailed> {
    match result {
        Ok(value) => {
            reply.write(value);
            Ok(())
        }
        Err(error) => Err(FunctionFailed::new(error)),
    }
}

/// The bytes of a function's result as the device gets it.
pub fn reply_bytes<R: Plain>(value: R) -> Vec<u8> {
    // Zeros are in the padding, too.
    let mut bytes = vec![0; size_of::<Reply<R>>()];
    bytes[..size_of::<R>()].copy_from_slice(value.as_bytes());
    let done = offset_of!(Reply<R>, done);
    bytes[done..][..Mark::DONE_BYTES.len()].copy_from_slice(&Mark::DONE_BYTES);
    bytes
}

impl<A: AsyncAdapter> AsyncHostFunction for BoundAsync<A> {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> u64 {
        self.signature
    }

    unsafe fn start<'a>(
        &self,
        args: &'a [RawArg],
    ) -> Result<BoxFuture<'a, Result<(), FunctionFailed>>, Failure> {
        // SAFETY: the caller's promise lasts until the future is dropped. Only `'a` bounds it here: the
        // caller keeps `args` and their memory for `'a`, or drops the future before them. The function
        // gets references of a lifetime that it cannot name, so they are only in the future.
        let mut args = unsafe { Args::new(args, self.count) }?;
        Ok(self.adapter.start(&mut args)?)
    }
}
