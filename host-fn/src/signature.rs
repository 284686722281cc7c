//! The hash by which both sides compare declarations.
//!
//! FNV-1a, 64 bits. Device code and host code compute it at compile time, each with its own
//! compiler, and the host compares before the first launch. It covers the name, the form of each
//! parameter, and for each type its name as written, its size and its alignment. So a parameter of
//! another type, or a structure that was changed on one side only, is detected before a launch.
//! Names of parameters are not included.

use core::alloc::Layout;

/// The form of a parameter, as encoded in the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// `T`
    Value = 1,
    /// `&T`
    To = 2,
    /// `&[T]`
    ToSlice = 3,
    /// `&mut T`
    ToFrom = 4,
    /// `&mut [T]`
    ToFromSlice = 5,
    /// `Out<T>`
    From = 6,
    /// `Out<[T]>`
    FromSlice = 7,
}

impl Form {
    /// Whether it is a slice.
    #[must_use]
    pub const fn is_slice(self) -> bool {
        matches!(self, Form::ToSlice | Form::ToFromSlice | Form::FromSlice)
    }

    /// Whether the caller's data is copied to the other side.
    #[must_use]
    pub const fn copies_in(self) -> bool {
        !matches!(self, Form::From | Form::FromSlice)
    }

    /// Whether the other side's data is copied back.
    #[must_use]
    pub const fn copies_back(self) -> bool {
        !matches!(self, Form::Value | Form::To | Form::ToSlice)
    }
}

/// Takes a [`Form`]'s place in the hash, before the return type.
const RETURNS: u8 = 0;

/// An unfinished hash.
#[derive(Clone, Copy, Debug)]
pub struct Signature(u64);

impl Signature {
    /// The hash of a function's name.
    #[must_use]
    pub const fn new(name: &str) -> Self {
        Signature(0xcbf2_9ce4_8422_2325).text(name)
    }

    /// Adds a parameter.
    ///
    /// A slice is sent with its size in bytes, so its elements must have a size:
    ///
    /// ```compile_fail,E0080
    /// revoff_fn::host_functions! { pub fn nothing(a: &[()]); }
    /// # fn main() {}
    /// ```
    #[must_use]
    pub const fn parameter<T>(self, form: Form, type_name: &str) -> Self {
        if form.is_slice() {
            assert!(
                size_of::<T>() != 0,
                "the elements of a slice parameter have no size"
            );
        }
        self.parameter_of(form, type_name, Layout::new::<T>())
    }

    /// [`parameter`](Self::parameter), for a type that is known only at run time. The elements of a
    /// slice have a size.
    #[must_use]
    pub const fn parameter_of(self, form: Form, type_name: &str, layout: Layout) -> Self {
        self.byte(form as u8).layout(type_name, layout)
    }

    /// Adds a return type. Comes last.
    #[must_use]
    pub const fn returns<T>(self, type_name: &str) -> Self {
        self.returns_of(type_name, Layout::new::<T>())
    }

    /// [`returns`](Self::returns), for a type that is known only at run time.
    #[must_use]
    pub const fn returns_of(self, type_name: &str, layout: Layout) -> Self {
        self.byte(RETURNS).layout(type_name, layout)
    }

    /// The hash. Never 0, which means "not compared".
    #[must_use]
    pub const fn finish(self) -> u64 {
        if self.0 == 0 { 1 } else { self.0 }
    }

    const fn layout(self, type_name: &str, layout: Layout) -> Self {
        self.text(type_name)
            .number(layout.size() as u64)
            .number(layout.align() as u64)
    }

    /// Adds text and a byte that no text contains, so that no two lists of texts are the same
    /// bytes.
    const fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).byte(0xff)
    }

    const fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    const fn bytes(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() {
            self = self.byte(bytes[at]);
            at += 1;
        }
        self
    }

    const fn byte(self, byte: u8) -> Self {
        Signature((self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

/// The hash in the [`KernelInfo`](shared_abi::image::KernelInfo) of a kernel without a declaration:
/// it covers its parameter types by name (`"u32"`, `"f64"`, ...), `"*"` for every pointer, joined
/// by commas.
#[must_use]
pub const fn of_kernel(parameters: &[&str]) -> u64 {
    let mut hash = Signature(0xcbf2_9ce4_8422_2325);
    let mut at = 0;
    while at < parameters.len() {
        if at > 0 {
            hash = hash.byte(b',');
        }
        hash = hash.bytes(parameters[at].as_bytes());
        at += 1;
    }
    hash.finish()
}
