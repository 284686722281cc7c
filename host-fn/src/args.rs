//! The host side: turns the raw arguments of a request into those of a closure.

use core::alloc::Layout;
use core::fmt::{Display, Write};
use core::marker::PhantomData;
use core::num::NonZero;
use core::ptr::NonNull;
use core::slice;

use crate::failure::{BadArguments, Failure};
use crate::function::RawArg;
use crate::plain::Plain;
use crate::reply::{Mark, Reply};
use shared_abi::map_kind::MapKind;

/// The arguments of one call, taken one after the other. Each can be taken only once, so exclusive
/// references to their memory are sound.
pub struct Args<'a> {
    all: &'a [RawArg],
    next: usize,
}

impl<'a> Args<'a> {
    /// Arguments of a function that has `count`, the reply included.
    ///
    /// # Safety
    ///
    /// As for [`HostFunction::call`](crate::HostFunction::call), for `'a`; and the memory is used
    /// only through the result.
    pub(crate) unsafe fn new(all: &'a [RawArg], count: usize) -> Result<Self, BadArguments> {
        if all.len() != count {
            return Err(BadArguments::Count {
                expected: count,
                found: all.len(),
            });
        }
        refuse_overlaps(all)?;
        Ok(Args { all, next: 0 })
    }

    /// `T`
    pub fn value<T: Plain>(&mut self) -> Result<T, BadArguments> {
        let bytes = self.value_bytes(Layout::new::<T>())?;
        // SAFETY: these are `size_of::<T>()` bytes, aligned or not. Any bytes are a value, `T` being
        // `FromBytes`.
        Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// The bytes of a `T` with this layout.
    pub(crate) fn value_bytes(&mut self, layout: Layout) -> Result<&'a [u8], BadArguments> {
        let (argument, raw) = self.take();
        let kind = if layout.size() > size_of::<u64>() {
            MapKind::FIRSTPRIVATE
        } else {
            MapKind::FIRSTPRIVATE_INT
        };
        check_kind(argument, raw, kind)?;
        check_size(argument, raw, layout)?;
        let from = if kind == MapKind::FIRSTPRIVATE {
            if raw.ptr.is_null() {
                return Err(misplaced(argument, raw, layout));
            }
            raw.ptr.cast_const()
        } else {
            const { assert!(size_of::<*mut u8>() == size_of::<u64>()) }
            (&raw const raw.ptr).cast()
        };
        // SAFETY: `layout.size()` bytes can be read at `from` for `'a`. It is either the eight bytes
        // of `raw.ptr`, which is borrowed for `'a` and used for no larger type, or memory of
        // `raw.size` bytes, the type's size, which are initialised and readable for `'a` (promised
        // to `new`) and not written, since no writable argument overlaps them.
        Ok(unsafe { slice::from_raw_parts(from, layout.size()) })
    }

    /// `&T`
    pub fn to<T: Plain>(&mut self) -> Result<&'a T, BadArguments> {
        let place = self.single::<T>(MapKind::TO)?;
        // SAFETY: `place` is aligned and has the size of `T`, or `T` has none; its
        // bytes are initialised and readable for `'a` (promised to `new`), any bytes
        // are a `T`, and they are not written: no writable argument overlaps it.
        Ok(unsafe { place.as_ref() })
    }

    /// `&[T]`
    pub fn to_slice<T: Plain>(&mut self) -> Result<&'a [T], BadArguments> {
        let (first, len) = self.elements::<T>(MapKind::TO)?;
        // SAFETY: `first` is aligned for `len` elements, or they have no bytes; these are
        // initialised and readable for `'a` (promised to `new`), any bytes are a `T`, and no
        // writable argument overlaps them.
        Ok(unsafe { slice::from_raw_parts(first.as_ptr(), len) })
    }

    /// `&mut T`
    pub fn tofrom<T: Plain>(&mut self) -> Result<&'a mut T, BadArguments> {
        self.exclusive(MapKind::TOFROM)
    }

    /// `&mut [T]`
    pub fn tofrom_slice<T: Plain>(&mut self) -> Result<&'a mut [T], BadArguments> {
        self.exclusive_slice(MapKind::TOFROM)
    }

    /// `Out<T>`
    pub fn from<T: Plain>(&mut self) -> Result<&'a mut T, BadArguments> {
        self.exclusive(MapKind::FROM)
    }

    /// `Out<[T]>`
    pub fn from_slice<T: Plain>(&mut self) -> Result<&'a mut [T], BadArguments> {
        self.exclusive_slice(MapKind::FROM)
    }

    /// The destination of the result. Taken last; until [`ReplyTo::finish`] it is marked as having
    /// none.
    pub fn reply<R: Plain>(&mut self) -> Result<ReplyTo<'a, R>, BadArguments> {
        let place = self.single::<Reply<R>>(MapKind::FROM)?;
        // SAFETY: `place` has the size of a `Reply<R>`, can be written for `'a`
        // (promised to `new`) and belongs to no other argument. The zeroes cover
        // the padding, which the device gets to see, and are a mark that is not
        // `DONE`.
        unsafe { place.write_bytes(0, 1) };
        Ok(ReplyTo {
            place,
            lifetime: PhantomData,
        })
    }

    fn exclusive<T: Plain>(&mut self, kind: MapKind) -> Result<&'a mut T, BadArguments> {
        let mut place = self.single::<T>(kind)?;
        // SAFETY: `place` is aligned and has the size of `T`, or `T` has none; its
        // bytes are initialised, readable and, since `kind` is a kind that writes,
        // writable for `'a` (promised to `new`); any bytes are a `T` and a `T` leaves
        // only initialised ones. No other argument overlaps it, and this one is
        // taken once.
        Ok(unsafe { place.as_mut() })
    }

    fn exclusive_slice<T: Plain>(&mut self, kind: MapKind) -> Result<&'a mut [T], BadArguments> {
        let (first, len) = self.elements::<T>(kind)?;
        // SAFETY: `first` is aligned for `len` elements, or they have no bytes; these are
        // initialised, readable and, since `kind` writes, writable for `'a` (promised to `new`);
        // any bytes are a `T`. No other argument overlaps them, and each is taken once.
        Ok(unsafe { slice::from_raw_parts_mut(first.as_ptr(), len) })
    }

    /// The next argument as one `T`: of its size, and aligned for it.
    fn single<T>(&mut self, kind: MapKind) -> Result<NonNull<T>, BadArguments> {
        Ok(self.single_of(kind, Layout::new::<T>())?.cast())
    }

    /// The next argument as a whole number of `T`s, aligned for them.
    fn elements<T>(&mut self, kind: MapKind) -> Result<(NonNull<T>, usize), BadArguments> {
        const { assert!(size_of::<T>() != 0) }
        let (first, bytes) = self.elements_of(kind, Layout::new::<T>())?;
        Ok((first.cast(), bytes / size_of::<T>()))
    }

    /// [`single`](Self::single), of a type with this layout.
    pub(crate) fn single_of(
        &mut self,
        kind: MapKind,
        layout: Layout,
    ) -> Result<NonNull<u8>, BadArguments> {
        let (argument, raw) = self.take();
        check_kind(argument, raw, kind)?;
        check_size(argument, raw, layout)?;
        place(argument, raw, layout)
    }

    /// [`elements`](Self::elements), of a type with this layout, which has a size; with the number of
    /// their bytes.
    pub(crate) fn elements_of(
        &mut self,
        kind: MapKind,
        layout: Layout,
    ) -> Result<(NonNull<u8>, usize), BadArguments> {
        let (argument, raw) = self.take();
        check_kind(argument, raw, kind)?;
        let element = layout.size() as u64;
        if !raw.size.is_multiple_of(element) {
            return Err(BadArguments::Elements {
                argument,
                element,
                found: raw.size,
            });
        }
        // Memory of that size exists, so it is a `usize`.
        Ok((place(argument, raw, layout)?, raw.size as usize))
    }

    /// Panics unless all arguments have been taken.
    pub(crate) fn assert_all_taken(&self) {
        assert_eq!(self.next, self.all.len(), "an argument was not taken");
    }

    fn take(&mut self) -> (usize, &'a RawArg) {
        let argument = self.next;
        self.next += 1;
        // `new` compared the count, so no argument past the end is taken.
        (argument, &self.all[argument])
    }
}

/// The destination of a result.
pub struct ReplyTo<'a, R> {
    place: NonNull<Reply<R>>,
    lifetime: PhantomData<&'a mut Reply<R>>,
}

// SAFETY: an exclusive reference to memory for an `R`, which any thread can write if an `R` can be sent
// there.
unsafe impl<R: Send> Send for ReplyTo<'_, R> {}

impl<R> ReplyTo<'_, R> {
    /// Writes the result, followed by its mark.
    pub(crate) fn write(self, value: R) {
        let reply = self.place.as_ptr();
        // SAFETY: `place` is aligned for a `Reply<R>`, has its size, and is
        // writable for the lifetime of `self`, see `Args::reply`. Field by
        // field, so that the zeroes in the padding stay.
        unsafe {
            (&raw mut (*reply).value).write(value);
            (&raw mut (*reply).done).write(Mark::DONE);
        }
    }

    /// Writes the result, followed by its mark; or writes the error to `message`.
    pub fn finish<E: Display>(
        self,
        result: Result<R, E>,
        message: &mut dyn Write,
    ) -> Result<(), Failure> {
        match result {
            Ok(value) => {
                self.write(value);
                Ok(())
            }
            Err(error) => {
                // A message that does not fit is cut; the call fails in any case.
                let _ = write!(message, "{error}");
                Err(Failure::Function)
            }
        }
    }
}

fn check_kind(argument: usize, raw: &RawArg, expected: MapKind) -> Result<(), BadArguments> {
    if raw.kind.base() == expected.base() {
        Ok(())
    } else {
        Err(BadArguments::Kind {
            argument,
            expected,
            found: raw.kind,
        })
    }
}

fn check_size(argument: usize, raw: &RawArg, layout: Layout) -> Result<(), BadArguments> {
    let expected = layout.size() as u64;
    if raw.size == expected {
        Ok(())
    } else {
        Err(BadArguments::Size {
            argument,
            expected,
            found: raw.size,
        })
    }
}

/// The address of an argument's memory, aligned for a type with this layout.
fn place(argument: usize, raw: &RawArg, layout: Layout) -> Result<NonNull<u8>, BadArguments> {
    if raw.size == 0 {
        let align = NonZero::new(layout.align()).expect("an alignment is a power of two");
        return Ok(NonNull::without_provenance(align));
    }
    match NonNull::new(raw.ptr) {
        Some(place) if place.addr().get().is_multiple_of(layout.align()) => Ok(place),
        _ => Err(misplaced(argument, raw, layout)),
    }
}

fn misplaced(argument: usize, raw: &RawArg, layout: Layout) -> BadArguments {
    BadArguments::Address {
        argument,
        align: layout.align() as u64,
        found: raw.ptr.addr() as u64,
    }
}

/// Rejects arguments that share memory, unless both are only read.
///
/// The kinds are those that the device sent. Each is compared with the declared one when the
/// argument is taken, before a reference is made.
fn refuse_overlaps(all: &[RawArg]) -> Result<(), BadArguments> {
    for (argument, one) in all.iter().enumerate() {
        for (other, two) in all[..argument].iter().enumerate() {
            if (one.kind.writes_device() || two.kind.writes_device()) && overlap(one, two) {
                return Err(BadArguments::Overlap { argument, other });
            }
        }
    }
    Ok(())
}

fn overlap(one: &RawArg, two: &RawArg) -> bool {
    let range = |raw: &RawArg| {
        let start = raw.ptr.addr() as u128;
        let empty = raw.size == 0 || raw.kind.base() == MapKind::FIRSTPRIVATE_INT.0;
        (start, start + u128::from(if empty { 0 } else { raw.size }))
    };
    let ((start, end), (other_start, other_end)) = (range(one), range(two));
    // An empty range ends where it starts, so it cannot pass both.
    start.max(other_start) < end.min(other_end)
}
