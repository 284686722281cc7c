//! One argument of a kernel's launch.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr;

use crate::plain::Plain;
use crate::scalar::Scalar;
use crate::signature::Form;

/// An argument of a kernel's launch; borrows the value or memory that it was made from.
#[derive(Debug)]
pub struct Argument<'a>(Passed<'a>);

/// How an [`Argument`] is passed.
#[derive(Debug)]
pub enum Passed<'a> {
    /// By value: these bytes.
    Value(Value),
    /// By its address on the device.
    Memory(Memory<'a>),
}

/// The bytes of a number.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    bytes: [u8; size_of::<u64>()],
    len: usize,
}

impl Value {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Host memory that a kernel accesses.
#[derive(Debug)]
pub struct Memory<'a> {
    address: *mut u8,
    bytes: usize,
    align: usize,
    count: usize,
    form: Form,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl Memory<'_> {
    /// Its address: readable for all [`bytes`](Self::bytes), which are initialised, and writable,
    /// with any bytes, if it [is copied back](Form::copies_back).
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        self.address
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The alignment that it has, at most [`Argument::MAX_ALIGN`].
    #[must_use]
    pub fn align(&self) -> usize {
        self.align
    }

    /// Whether it is copied to the device, back, or both.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The number of elements of a slice, which follows the address.
    #[must_use]
    pub fn elements(&self) -> Option<usize> {
        self.form.is_slice().then_some(self.count)
    }
}

impl<'a> Argument<'a> {
    /// The largest alignment of an argument's memory.
    pub const MAX_ALIGN: usize = 256;

    /// How it is passed.
    #[must_use]
    pub fn passed(&self) -> &Passed<'a> {
        &self.0
    }

    /// `T`
    #[must_use]
    pub fn value<T: Scalar>(value: &'a T) -> Self {
        let mut bytes = [0; size_of::<u64>()];
        let len = size_of::<T>();
        bytes[..len].copy_from_slice(value.as_bytes());
        Argument(Passed::Value(Value { bytes, len }))
    }

    /// `&T`
    #[must_use]
    pub fn to<T: Plain>(target: &'a T) -> Self {
        Self::memory(Form::To, ptr::from_ref(target).cast_mut(), 1)
    }

    /// `&[T]`
    #[must_use]
    pub fn to_slice<T: Plain>(target: &'a [T]) -> Self {
        Self::memory(Form::ToSlice, target.as_ptr().cast_mut(), target.len())
    }

    /// `&mut T`
    #[must_use]
    pub fn tofrom<T: Plain>(target: &'a mut T) -> Self {
        Self::memory(Form::ToFrom, target, 1)
    }

    /// `&mut [T]`
    #[must_use]
    pub fn tofrom_slice<T: Plain>(target: &'a mut [T]) -> Self {
        Self::memory(Form::ToFromSlice, target.as_mut_ptr(), target.len())
    }

    /// `Out<T>`
    #[must_use]
    pub fn from<T: Plain>(target: &'a mut T) -> Self {
        Self::memory(Form::From, target, 1)
    }

    /// `Out<[T]>`
    #[must_use]
    pub fn from_slice<T: Plain>(target: &'a mut [T]) -> Self {
        Self::memory(Form::FromSlice, target.as_mut_ptr(), target.len())
    }

    /// The bytes of a number whose type is known only at run time; `None` if they are more than eight.
    #[must_use]
    pub fn value_of(number: &[u8]) -> Option<Self> {
        let mut bytes = [0; size_of::<u64>()];
        bytes.get_mut(..number.len())?.copy_from_slice(number);
        let len = number.len();
        Some(Argument(Passed::Value(Value { bytes, len })))
    }

    /// `count` values of a type that is known only at run time, in the form `form`, which is not
    /// [`Form::Value`]. A form that is not a slice passes their address alone: the kernel expects one value, or knows
    /// how many there are.
    ///
    /// # Safety
    /// For `'a`, the values from `first` on are aligned, initialised and readable. If `form` [copies
    /// back](Form::copies_back), they are also writable, with any bytes, and not used otherwise.
    #[must_use]
    pub unsafe fn memory_of(form: Form, first: *mut u8, element: Layout, count: usize) -> Self {
        Argument(Passed::Memory(Memory {
            address: first,
            // The memory exists, so its size does not wrap.
            bytes: count.wrapping_mul(element.size()),
            align: element.align(),
            count,
            form,
            borrowed: PhantomData,
        }))
    }

    fn memory<T>(form: Form, first: *mut T, count: usize) -> Self {
        // SAFETY: the callers have borrowed these values for `'a`, exclusively where `form` copies
        // back. They are `Plain`: their bytes are initialised, and any bytes are a value.
        unsafe { Self::memory_of(form, first.cast(), Layout::new::<T>(), count) }
    }
}
