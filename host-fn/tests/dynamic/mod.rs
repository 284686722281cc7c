//! A host function whose declaration is data.

use std::alloc::Layout;
use std::fmt::Write;

use revoff_fn::signature::{Form, Signature};
use revoff_fn::{DynamicArg, DynamicArgs, Failure, HostFunction, RawArg};

/// A type: its name and layout.
pub(crate) type Type = (&'static str, Layout);

/// The declaration, and the function, which gets the bytes of its arguments and returns those of its
/// result.
pub(crate) struct Dynamic<F> {
    pub(crate) name: &'static str,
    pub(crate) parameters: Vec<(Form, Type)>,
    pub(crate) returns: Type,
    pub(crate) run: F,
}

impl<F> HostFunction for Dynamic<F>
where
    F: Fn(&mut [DynamicArg<'_>]) -> Result<Vec<u8>, &'static str> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> u64 {
        let mut signature = Signature::new(self.name);
        for &(form, (name, layout)) in &self.parameters {
            signature = signature.parameter_of(form, name, layout);
        }
        let (name, layout) = self.returns;
        signature.returns_of(name, layout).finish()
    }

    unsafe fn call(&self, args: &[RawArg], message: &mut dyn Write) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let mut args = unsafe { DynamicArgs::new(args, self.parameters.len()) }?;
        let mut taken = Vec::new();
        for &(form, (_, layout)) in &self.parameters {
            taken.push(args.take(form, layout)?);
        }
        let reply = args.reply(self.returns.1)?;
        match (self.run)(&mut taken) {
            Ok(result) => {
                reply.finish(&result);
                Ok(())
            }
            Err(error) => {
                let _ = message.write_str(error);
                Err(Failure::Function)
            }
        }
    }
}

/// The bytes of an argument that is only read.
pub(crate) fn read<'a>(argument: &'a DynamicArg<'_>) -> &'a [u8] {
    match argument {
        DynamicArg::Read(bytes) => bytes,
        DynamicArg::Write(_) => panic!("it is written"),
    }
}

/// The bytes of an argument that is written.
pub(crate) fn write<'a>(argument: &'a mut DynamicArg<'_>) -> &'a mut [u8] {
    match argument {
        DynamicArg::Write(bytes) => bytes,
        DynamicArg::Read(_) => panic!("it is only read"),
    }
}
