//! The macro that reads the table of packed arithmetic.
//!
//! The modifiers of an instruction select the half of a source for each half of the result, and
//! negate it. A parameter's type determines the source:
//!
//! | type | source |
//! |---|---|
//! | `[u16; 2]`, `[i16; 2]`, `[F16; 2]`, `[BF16; 2]` | the halves of a row |
//! | `[f32; 2]`, `[u32; 2]` | two rows |
//! | `u32`, `i32`, `f32` | a row |
//! | [`Parts`] | a row of small integers |
//! | [`Mixed`] | a row, whose type the modifiers select |

use super::table::{Lanes, Outcome};
use super::value::{BF16, F16};
use super::{LANES, Lane, PackedModifiers, Type};

/// A parameter of an operation.
pub(super) trait PackedParameter {
    /// The type of the source's parts, which constants have; of two rows its width.
    const TYPE: Type;

    /// Its value in a lane. `source` is the number of its source.
    ///
    /// # Safety
    /// Same requirements as [`PackedFunction`](super::PackedFunction).
    unsafe fn of(modifiers: &PackedModifiers, lanes: &Lanes, source: usize, at: usize) -> Self;

    /// Whether it may have these bits of `neg_lo` and `neg_hi`.
    fn allows(low: bool, high: bool) -> bool {
        !low && !high
    }
}

/// A word of a source.
///
/// # Safety
/// The source has the row, and no other thread writes it.
#[inline(always)]
unsafe fn word(lanes: &Lanes, source: usize, row: usize, at: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { lanes.source(source).add(row * LANES + at).read() }
}

#[inline(always)]
fn bit(bits: u8, source: usize) -> bool {
    bits >> source & 1 != 0
}

/// Bits of the selected halves, with their signs changed.
macro_rules! halves {
    ($($T:ident $is_float:literal;)*) => {$(
        impl PackedParameter for [$T; 2] {
            const TYPE: Type = <$T as Lane>::TYPE;

            #[inline(always)]
            unsafe fn of(
                modifiers: &PackedModifiers,
                lanes: &Lanes,
                source: usize,
                at: usize,
            ) -> Self {
                // SAFETY: the caller's promise.
                let word = unsafe { word(lanes, source, 0, at) };
                let half = |selects: u8, negates: u8| {
                    let shift = if bit(selects, source) { 16 } else { 0 };
                    let sign = if bit(negates, source) { 0x8000 } else { 0 };
                    $T::from_words([(word >> shift ^ sign) & 0xffff, 0])
                };
                [
                    half(modifiers.op_sel, modifiers.neg_lo),
                    half(modifiers.op_sel_hi, modifiers.neg_hi),
                ]
            }

            fn allows(low: bool, high: bool) -> bool {
                $is_float || !low && !high
            }
        }
    )*};
}

halves! {
    u16 false;
    i16 false;
    F16 true;
    BF16 true;
}

/// The selected rows, with their signs changed.
macro_rules! rows {
    ($($T:ident $Type:ident $is_float:literal;)*) => {$(
        impl PackedParameter for [$T; 2] {
            const TYPE: Type = Type::$Type;

            #[inline(always)]
            unsafe fn of(
                modifiers: &PackedModifiers,
                lanes: &Lanes,
                source: usize,
                at: usize,
            ) -> Self {
                let half = |selects: u8, negates: u8| {
                    let row = usize::from(bit(selects, source));
                    // SAFETY: the caller's promise.
                    let word = unsafe { word(lanes, source, row, at) };
                    let sign = if bit(negates, source) { 1 << 31 } else { 0 };
                    $T::from_words([word ^ sign, 0])
                };
                [
                    half(modifiers.op_sel, modifiers.neg_lo),
                    half(modifiers.op_sel_hi, modifiers.neg_hi),
                ]
            }

            fn allows(low: bool, high: bool) -> bool {
                $is_float || !low && !high
            }
        }
    )*};
}

rows! {
    f32 F64 true;
    u32 U64 false;
}

macro_rules! words {
    ($($T:ident)*) => {$(
        impl PackedParameter for $T {
            const TYPE: Type = <$T as Lane>::TYPE;

            #[inline(always)]
            unsafe fn of(_: &PackedModifiers, lanes: &Lanes, source: usize, at: usize) -> Self {
                // SAFETY: the caller's promise.
                Self::from_words([unsafe { word(lanes, source, 0, at) }, 0])
            }
        }
    )*};
}

words! { u32 i32 }

impl PackedParameter for f32 {
    const TYPE: Type = Type::F32;

    #[inline(always)]
    unsafe fn of(modifiers: &PackedModifiers, lanes: &Lanes, source: usize, at: usize) -> Self {
        // SAFETY: the caller's promise.
        let word = unsafe { word(lanes, source, 0, at) };
        let sign = if bit(modifiers.neg_lo, source) {
            1 << 31
        } else {
            0
        };
        Self::from_bits(word ^ sign)
    }

    /// Compilers set both bits for a sign.
    fn allows(low: bool, high: bool) -> bool {
        low == high
    }
}

/// A word of small integers.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) word: u32,
    /// Whether they have signs.
    pub(super) signed: bool,
}

impl PackedParameter for Parts {
    const TYPE: Type = Type::U32;

    #[inline(always)]
    unsafe fn of(modifiers: &PackedModifiers, lanes: &Lanes, source: usize, at: usize) -> Self {
        Self {
            // SAFETY: the caller's promise.
            word: unsafe { word(lanes, source, 0, at) },
            signed: bit(modifiers.neg_lo, source),
        }
    }

    fn allows(_: bool, high: bool) -> bool {
        !high
    }
}

/// A float: a half if `op_sel_hi` has the bit, then the upper one if `op_sel` has it; `neg_hi` removes
/// its sign, and `neg_lo` negates it.
#[derive(Clone, Copy)]
pub(super) struct Mixed(pub(super) f32);

impl PackedParameter for Mixed {
    const TYPE: Type = Type::F32;

    #[inline(always)]
    unsafe fn of(modifiers: &PackedModifiers, lanes: &Lanes, source: usize, at: usize) -> Self {
        // SAFETY: the caller's promise.
        let word = unsafe { word(lanes, source, 0, at) };
        let shift = if bit(modifiers.op_sel, source) { 16 } else { 0 };
        let half = F16((word >> shift) as u16).single();
        let value = match bit(modifiers.op_sel_hi, source) {
            true => half,
            false => f32::from_bits(word),
        };
        let value = if bit(modifiers.neg_hi, source) {
            value.abs()
        } else {
            value
        };
        Self(if bit(modifiers.neg_lo, source) {
            -value
        } else {
            value
        })
    }

    fn allows(_: bool, _: bool) -> bool {
        true
    }
}

/// The result of an operation.
pub(super) trait PackedResult {
    /// The type of the destination.
    type Whole: Lane + Outcome;

    /// The destination.
    fn whole(self) -> Self::Whole;

    /// A float between 0 and 1, and 0 for NaNs; the same integer.
    fn clamped(self) -> Self;
}

impl PackedResult for f32 {
    type Whole = Self;

    #[inline(always)]
    fn whole(self) -> Self {
        self
    }

    #[inline(always)]
    fn clamped(self) -> Self {
        let positive = if self > 0.0 { self } else { 0.0 };
        if positive > 1.0 { 1.0 } else { positive }
    }
}

impl PackedResult for [F16; 2] {
    type Whole = u32;

    #[inline(always)]
    fn whole(self) -> u32 {
        self.map(|half| half.0).whole()
    }

    #[inline(always)]
    fn clamped(self) -> Self {
        self.map(|half| F16::nearest(half.single().clamped()))
    }
}

impl PackedResult for [f32; 2] {
    type Whole = u64;

    #[inline(always)]
    fn whole(self) -> u64 {
        self.map(f32::to_bits).whole()
    }

    #[inline(always)]
    fn clamped(self) -> Self {
        self.map(PackedResult::clamped)
    }
}

macro_rules! integers {
    ($($T:ty, $Whole:ident: |$value:ident| $whole:expr;)*) => {$(
        impl PackedResult for $T {
            type Whole = $Whole;

            #[inline(always)]
            fn whole(self) -> $Whole {
                let $value = self;
                $whole
            }

            #[inline(always)]
            fn clamped(self) -> Self {
                self
            }
        }
    )*};
}

integers! {
    u32, u32: |value| value;
    i32, i32: |value| value;
    [u16; 2], u32: |halves| u32::from(halves[1]) << 16 | u32::from(halves[0]);
    [i16; 2], u32: |halves| halves.map(i16::cast_unsigned).whole();
    [u32; 2], u64: |words| u64::from(words[1]) << 32 | u64::from(words[0]);
}

/// Declares the arithmetic of a table's operations.
macro_rules! packed {
    ($Table:ident; $(
        $name:ident: ($($arg:ident: $T:ty),* $(; $old:ident: $O:ty)?) -> $R:ty $body:block
        $(clamp $clamped:block)?;
    )*) => {
        /// The arithmetic of an operation.
        pub(super) fn find(op: $Table) -> Option<&'static $crate::alu::PackedOperation> {
            use $crate::alu::packed_table::{PackedParameter, function, last};
            match op {
                $($Table::$name => {
                    static OPERATION: $crate::alu::PackedOperation = $crate::alu::PackedOperation {
                        run: function!(
                            ($($arg: $T),* $(; $old: $O)?) -> $R
                            { $body } { last!({ $body.clamped() } $({ $clamped })?) }
                        ),
                        src: &[
                            $(<$T as PackedParameter>::TYPE,)*
                            $(<$O as PackedParameter>::TYPE,)?
                        ],
                        allows: &[$(<$T as PackedParameter>::allows),*],
                        reads_dst: $crate::alu::table::old!(($($arg: $T),* $(; $old: $O)?)),
                        dst: <<$R as PackedResult>::Whole as $crate::alu::Lane>::TYPE,
                    };
                    Some(&OPERATION)
                })*
                _ => None,
            }
        }
    };
}
pub(super) use packed;

/// The last of one or two blocks.
macro_rules! last {
    ($first:block) => {
        $first
    };
    ($first:block $second:block) => {
        $second
    };
}
pub(super) use last;

/// The [`PackedFunction`](super::PackedFunction) that performs one of two blocks: the latter clamps.
macro_rules! function {
    (
        ($($arg:ident: $T:ty),* $(; $old:ident: $O:ty)?) -> $R:ty $plain:block $clamped:block
    ) => {{
        struct One<const CLAMPS: bool>;

        impl<const CLAMPS: bool> $crate::alu::table::LaneFunction for One<CLAMPS> {
            type Context = $crate::alu::PackedModifiers;
            type Result = <$R as PackedResult>::Whole;

            #[inline(always)]
            unsafe fn call(
                modifiers: &Self::Context,
                lanes: &$crate::alu::table::Lanes,
                at: usize,
            ) -> Self::Result {
                let mut source = 0;
                $(
                    // SAFETY: the caller's promise.
                    let $arg = unsafe {
                        <$T as PackedParameter>::of(modifiers, lanes, source, at)
                    };
                    source += 1;
                )*
                $(
                    // SAFETY: the caller's promise.
                    let $old = unsafe {
                        <$O as PackedParameter>::of(modifiers, lanes, source, at)
                    };
                )?
                let _ = source;
                let result: $R = if CLAMPS $clamped else $plain;
                result.whole()
            }
        }

        $crate::alu::table::code!(
            (modifiers: $crate::alu::PackedModifiers),
            |operands, M| {
                // SAFETY: the caller's promise.
                unsafe {
                    match modifiers.clamp {
                        true => $crate::alu::table::each::<One<true>, M>(operands, modifiers),
                        false => $crate::alu::table::each::<One<false>, M>(operands, modifiers),
                    }
                }
            }
        )
    }};
}
pub(super) use function;
