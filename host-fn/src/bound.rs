//! The host side: a closure behind the interface that a host runtime calls.

use core::fmt::Write;

use crate::args::Args;
use crate::failure::Failure;
use crate::function::{HostFunction, RawArg};

/// A declaration and the closure that runs for it. Made by `bind` and `try_bind`
/// of the types that `host_functions!` generates.
#[derive(Clone, Copy)]
pub struct Bound<A> {
    name: &'static str,
    signature: u64,
    /// Number of arguments, the reply included.
    count: usize,
    adapter: A,
}

/// A closure that takes its arguments one by one; generated code makes it.
///
/// Implemented for all closures of the right type. Only this crate can run them, since only it
/// makes [`Args`].
pub trait Adapter: Send + Sync + 'static {
    /// Takes the arguments, runs the function, delivers the result.
    #[doc(hidden)]
    fn run(&self, args: &mut Args<'_>, message: &mut dyn Write) -> Result<(), Failure>;
}

impl<A> Adapter for A
where
    A: Fn(&mut Args<'_>, &mut dyn Write) -> Result<(), Failure> + Send + Sync + 'static,
{
    fn run(&self, args: &mut Args<'_>, message: &mut dyn Write) -> Result<(), Failure> {
        self(args, message)
    }
}

/// Makes a [`Bound`]. A function, so that the closure's parameter types are known
/// where it is written.
pub fn bind<A>(name: &'static str, signature: u64, count: usize, adapter: A) -> Bound<impl Adapter>
where
    A: Fn(&mut Args<'_>, &mut dyn Write) -> Result<(), Failure> + Send + Sync + 'static,
{
    Bound {
        name,
        signature,
        count,
        adapter,
    }
}

impl<A: Adapter> HostFunction for Bound<A> {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> u64 {
        self.signature
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn Write) -> Result<(), Failure> {
        // SAFETY: the caller's promise. The arguments are used nowhere else, and
        // `Args` does not outlive the call.
        let mut args = unsafe { Args::new(args, self.count) }?;
        self.adapter.run(&mut args, message)
    }
}
