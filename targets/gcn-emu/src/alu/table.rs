//! The macro that reads tables of arithmetic.

use super::{LANES, Lane, Operands, Type};

/// Lanes that are computed together.
const PIECE: usize = 8;

/// As many active lanes as this, or fewer, are computed one at a time.
const FEW: u32 = 4;

/// A parameter of an operation.
pub(super) trait Parameter {
    /// Its type; none for a bit of a mask.
    const TYPE: Option<Type>;

    /// Its value in a lane. `next` is the number of its source, which it increments if it has one.
    ///
    /// # Safety
    /// As for [`Function`](super::Function).
    unsafe fn of(operands: &Operands, next: &mut usize, lane: usize) -> Self;
}

impl<T: Lane> Parameter for T {
    const TYPE: Option<Type> = Some(T::TYPE);

    #[inline(always)]
    unsafe fn of(operands: &Operands, next: &mut usize, lane: usize) -> Self {
        let at = operands.src[*next].cast::<u32>().wrapping_add(lane);
        *next += 1;
        // SAFETY: the caller's promise: the upper half of 64 bits is in the next row.
        let words = unsafe {
            match T::TYPE.rows() {
                1 => [at.read(), 0],
                _ => [at.read(), at.add(LANES).read()],
            }
        };
        T::from_words(words)
    }
}

impl Parameter for bool {
    const TYPE: Option<Type> = None;

    #[inline(always)]
    unsafe fn of(operands: &Operands, _: &mut usize, lane: usize) -> Self {
        operands.mask >> lane & 1 != 0
    }
}

/// The result of an operation.
pub(super) trait Outcome: Copy {
    /// The type of the destination.
    const TYPE: Option<Type>;
    /// Whether a part of it is a bit of a mask.
    const HAS_MASK: bool;

    /// The words of the destination, and the bit.
    fn parts(self) -> ([u32; 2], bool);
}

impl<T: Lane> Outcome for T {
    const TYPE: Option<Type> = Some(T::TYPE);
    const HAS_MASK: bool = false;

    #[inline(always)]
    fn parts(self) -> ([u32; 2], bool) {
        (self.words(), false)
    }
}

impl<T: Lane> Outcome for (T, bool) {
    const TYPE: Option<Type> = Some(T::TYPE);
    const HAS_MASK: bool = true;

    #[inline(always)]
    fn parts(self) -> ([u32; 2], bool) {
        (self.0.words(), self.1)
    }
}

impl Outcome for bool {
    const TYPE: Option<Type> = None;
    const HAS_MASK: bool = true;

    #[inline(always)]
    fn parts(self) -> ([u32; 2], bool) {
        ([0; 2], self)
    }
}

/// Applies `one`, which has no effect of its own, to each active lane. Returns the bits of the mask.
///
/// # Safety
/// The destination is valid for the outcome's type, and no other thread accesses it.
#[inline(always)]
pub(super) unsafe fn each<R: Outcome>(operands: &Operands, one: impl Fn(usize) -> R) -> u64 {
    let rows = R::TYPE.map_or(0, Type::rows);
    let dst = operands.dst.cast::<u32>();
    let mut mask = 0;
    if operands.exec.count_ones() <= FEW {
        let mut rest = operands.exec;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (words, bit) = one(lane).parts();
            mask |= u64::from(bit) << lane;
            for (row, &word) in words[..rows].iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { dst.add(row * LANES + lane).write(word) };
            }
        }
        return mask;
    }
    for first in (0..LANES).step_by(PIECE) {
        let active = operands.exec >> first & ((1 << PIECE) - 1);
        if active == 0 {
            continue;
        }
        // All lanes of a piece are computed before any is written, since a source may be the
        // destination.
        let piece: [_; PIECE] = std::array::from_fn(|at| one(first + at).parts());
        for (at, &(_, bit)) in piece.iter().enumerate() {
            mask |= u64::from(bit) << (first + at);
        }
        for row in 0..rows {
            // SAFETY: the caller's promise.
            let to = unsafe { dst.add(row * LANES + first).cast::<[u32; PIECE]>() };
            // SAFETY: as above.
            let old = unsafe { to.read() };
            let new = std::array::from_fn(|at| match active >> at & 1 {
                0 => old[at],
                _ => piece[at].0[row],
            });
            // SAFETY: as above.
            unsafe { to.write(new) };
        }
    }
    mask & operands.exec
}

/// Whether this machine has the vector instructions that tables have code for.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// The [`Function`](super::Function) that performs `$body` for each active lane.
macro_rules! function {
    (($($arg:ident: $T:ty),* $(; $old:ident: $O:ty)?) -> $R:ty $body:block) => {{
        #[inline(always)]
        unsafe fn portable(operands: &$crate::alu::Operands) -> u64 {
            let one = |lane: usize| -> $R {
                let mut next = 0;
                $(
                    // SAFETY: the caller's promise.
                    let $arg = unsafe {
                        <$T as $crate::alu::table::Parameter>::of(operands, &mut next, lane)
                    };
                )*
                $(
                    // SAFETY: the caller's promise.
                    let $old = unsafe {
                        <$O as $crate::alu::table::Parameter>::of(operands, &mut next, lane)
                    };
                )?
                let _ = next;
                $body
            };
            // SAFETY: the caller's promise.
            unsafe { $crate::alu::table::each(operands, one) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn avx2(operands: &$crate::alu::Operands) -> u64 {
            // SAFETY: the caller's promise.
            unsafe { portable(operands) }
        }
        $crate::alu::Functions {
            portable,
            #[cfg(target_arch = "x86_64")]
            avx2,
        }
    }};
}
pub(super) use function;

/// Declares the arithmetic of a table's operations, see [the module](super).
macro_rules! arithmetic {
    ($Table:ident; $($name:ident: $params:tt -> $R:ty $body:block $(clamp $clamped:block)?;)*) => {
        /// The arithmetic of an operation.
        pub(super) fn find(op: $Table) -> Option<&'static $crate::alu::Operation> {
            use $crate::alu::table::{Outcome, function, old, types};
            match op {
                $($Table::$name => {
                    static OPERATION: $crate::alu::Operation = $crate::alu::Operation {
                        run: function!($params -> $R $body),
                        clamped: &[$(function!($params -> $R $clamped))?],
                        src: types!($params),
                        reads_dst: old!($params),
                        dst: <$R as Outcome>::TYPE,
                        writes_mask: <$R as Outcome>::HAS_MASK,
                    };
                    Some(&OPERATION)
                })*
                _ => None,
            }
        }
    };
}
pub(super) use arithmetic;

/// The types of parameters.
macro_rules! types {
    (($($arg:ident: $T:ty),* $(; $old:ident: $O:ty)?)) => {
        &[
            $(<$T as $crate::alu::table::Parameter>::TYPE,)*
            $(<$O as $crate::alu::table::Parameter>::TYPE,)?
        ]
    };
}
pub(super) use types;

/// Whether the last parameter is the old value of the destination.
macro_rules! old {
    (($($arg:ident: $T:ty),*)) => {
        false
    };
    (($($arg:ident: $T:ty),*; $old:ident: $O:ty)) => {
        true
    };
}
pub(super) use old;
