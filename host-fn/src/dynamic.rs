//! The host side of functions whose declaration is known only at run time, for bindings to other
//! languages: such a function implements [`HostFunction`](crate::HostFunction) and takes its arguments
//! from [`DynamicArgs`].

use core::alloc::Layout;
use core::slice;

use crate::args::Args;
use crate::failure::BadArguments;
use crate::function::RawArg;
use crate::reply::{self, Mark};
use crate::signature::Form;
use shared_abi::map_kind::MapKind;

/// The arguments of one call, taken in the order of their declaration, and then its reply. All checks of
/// typed functions apply.
pub struct DynamicArgs<'a> {
    args: Args<'a>,
    parameters: usize,
    has_reply: bool,
}

/// The bytes of one argument.
pub enum DynamicArg<'a> {
    /// A value, or memory that the function only reads.
    Read(&'a [u8]),
    /// Memory whose bytes are copied to the device when the function has returned.
    Write(&'a mut [u8]),
}

impl<'a> DynamicArgs<'a> {
    /// The arguments of a function with so many parameters. The reply may be missing, as in calls from C: it tells
    /// callers with a declaration that the function has run.
    ///
    /// # Safety
    /// As for [`HostFunction::call`](crate::HostFunction::call), for `'a`; and the memory is used only
    /// through the result.
    ///
    /// # Errors
    /// The device has sent another number of arguments, or some share memory that is written.
    pub unsafe fn new(all: &'a [RawArg], parameters: usize) -> Result<Self, BadArguments> {
        let has_reply = all.len() != parameters;
        // SAFETY: the caller's promise. The reply is one more argument.
        let args = unsafe { Args::new(all, parameters + usize::from(has_reply)) }?;
        Ok(Self {
            args,
            parameters,
            has_reply,
        })
    }

    /// The next argument, of a form and a type with this layout. The elements of a slice have a size.
    ///
    /// # Errors
    /// The device has sent another kind of argument.
    ///
    /// # Panics
    /// More arguments are taken than the function has, or the elements of a slice have no size.
    pub fn take(&mut self, form: Form, layout: Layout) -> Result<DynamicArg<'a>, BadArguments> {
        let kind = match form {
            Form::Value => return self.args.value_bytes(layout).map(DynamicArg::Read),
            Form::To | Form::ToSlice => MapKind::TO,
            Form::ToFrom | Form::ToFromSlice => MapKind::TOFROM,
            Form::From | Form::FromSlice => MapKind::FROM,
        };
        let (first, bytes) = if form.is_slice() {
            assert_ne!(layout.size(), 0, "the elements of a slice have no size");
            self.args.elements_of(kind, layout)?
        } else {
            (self.args.single_of(kind, layout)?, layout.size())
        };
        Ok(if form.copies_back() {
            // SAFETY: these bytes are initialised, readable and, since `kind` writes, writable for
            // `'a` (promised to `new`), or there are none. No other argument overlaps them, and each
            // is taken once.
            DynamicArg::Write(unsafe { slice::from_raw_parts_mut(first.as_ptr(), bytes) })
        } else {
            // SAFETY: these bytes are initialised and readable for `'a` (promised to `new`), or there
            // are none. They are not written: no writable argument overlaps them.
            DynamicArg::Read(unsafe { slice::from_raw_parts(first.as_ptr(), bytes) })
        })
    }

    /// The destination of a result with this layout, taken last.
    ///
    /// # Errors
    /// The device expects another result, or none.
    ///
    /// # Panics
    /// The size is close to that of the address space, or an argument before has not been taken.
    pub fn reply(mut self, value: Layout) -> Result<DynamicReply<'a>, BadArguments> {
        if !self.has_reply {
            self.args.assert_all_taken();
            let (expected, found) = (self.parameters + 1, self.parameters);
            return match value.size() {
                0 => Ok(DynamicReply(None)),
                _ => Err(BadArguments::Count { expected, found }),
            };
        }
        let (layout, done) = reply::layout_of(value).expect("a value is smaller than memory");
        let place = self.args.single_of(MapKind::FROM, layout)?;
        self.args.assert_all_taken();
        // SAFETY: as for an argument that is written, in `take`.
        let bytes = unsafe { slice::from_raw_parts_mut(place.as_ptr(), layout.size()) };
        // The padding, which the device gets to see, and a mark that is not `DONE`.
        bytes.fill(0);
        let size = value.size();
        Ok(DynamicReply(Some(ReplyBytes { bytes, size, done })))
    }
}

/// The destination of a result. Unless it is [`finish`](Self::finish)ed, the device gets none.
pub struct DynamicReply<'a>(
    /// `None` if the call has no reply.
    Option<ReplyBytes<'a>>,
);

struct ReplyBytes<'a> {
    bytes: &'a mut [u8],
    /// Bytes of the result.
    size: usize,
    /// Offset of the mark.
    done: usize,
}

impl DynamicReply<'_> {
    /// Writes the bytes of the result, followed by its mark.
    ///
    /// # Panics
    /// They are more or fewer than the result has.
    pub fn finish(self, value: &[u8]) {
        let Some(ReplyBytes { bytes, size, done }) = self.0 else {
            assert!(value.is_empty(), "the function has no result");
            return;
        };
        bytes[..size].copy_from_slice(value);
        bytes[done..][..size_of::<Mark>()].copy_from_slice(&Mark::DONE_BYTES);
    }
}
