//! The host side: turns the raw arguments of a request into those of a closure.

use core::fmt::{Display, Write};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
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
        let (argument, raw) = self.take();
        let kind = if size_of::<T>() > size_of::<u64>() {
            MapKind::FIRSTPRIVATE
        } else {
            MapKind::FIRSTPRIVATE_INT
        };
        check_kind(argument, raw, kind)?;
        check_size::<T>(argument, raw)?;
        let bits = raw.ptr.addr() as u64;
        let from = if kind == MapKind::FIRSTPRIVATE {
            if raw.ptr.is_null() {
                return Err(misplaced::<T>(argument, raw));
            }
            raw.ptr.cast_const()
        } else {
            ptr::from_ref(&bits).cast()
        };
        // SAFETY: `size_of::<T>()` bytes can be read at `from`, aligned or not: it is
        // either `bits`, which has eight bytes and is used for no larger `T`, or
        // memory of `raw.size` bytes (promised to `new`), which is `T`'s size. Any
        // bytes are a value, `T` being `FromBytes`.
        Ok(unsafe { from.cast::<T>().read_unaligned() })
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
        let (argument, raw) = self.take();
        check_kind(argument, raw, kind)?;
        check_size::<T>(argument, raw)?;
        place(argument, raw)
    }

    /// The next argument as a whole number of `T`s, aligned for them.
    fn elements<T>(&mut self, kind: MapKind) -> Result<(NonNull<T>, usize), BadArguments> {
        const { assert!(size_of::<T>() != 0) }
        let (argument, raw) = self.take();
        check_kind(argument, raw, kind)?;
        let element = size_of::<T>() as u64;
        if raw.size % element != 0 {
            return Err(BadArguments::Elements {
                argument,
                element,
                found: raw.size,
            });
        }
        let first = place(argument, raw)?;
        // Memory of that size exists, so the number of its elements is a `usize`.
        Ok((first, (raw.size / element) as usize))
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

fn check_size<T>(argument: usize, raw: &RawArg) -> Result<(), BadArguments> {
    let expected = size_of::<T>() as u64;
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

/// The address of an argument's memory, aligned for `T`.
fn place<T>(argument: usize, raw: &RawArg) -> Result<NonNull<T>, BadArguments> {
    if raw.size == 0 {
        return Ok(NonNull::dangling());
    }
    match NonNull::new(raw.ptr.cast::<T>()) {
        Some(place) if place.is_aligned() => Ok(place),
        _ => Err(misplaced::<T>(argument, raw)),
    }
}

fn misplaced<T>(argument: usize, raw: &RawArg) -> BadArguments {
    BadArguments::Address {
        argument,
        align: align_of::<T>() as u64,
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
