//! The macro that reads tables of arithmetic.

use super::{LANES, Lane, Operands, Type};

/// Number of lanes that are computed together: their mask is one word.
const HALF: usize = 32;

/// Maximum number of active lanes that are computed one at a time.
const FEW: u32 = 4;

/// Operands of up to 32 lanes, from some lane on.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    src: [*const u32; 4],
    mask: u32,
}

impl Lanes {
    /// The words of a source.
    #[inline(always)]
    pub(super) fn source(&self, number: usize) -> *const u32 {
        self.src[number]
    }

    #[inline(always)]
    fn starting_at(operands: &Operands, first: usize) -> Self {
        Self {
            src: operands
                .src
                .map(|row| row.cast::<u32>().wrapping_add(first)),
            mask: (operands.mask >> first) as u32,
        }
    }
}

/// A parameter of an operation.
pub(super) trait Parameter {
    /// Its type; none for a bit of a mask.
    const TYPE: Option<Type>;

    /// Its value in a lane. `next` is the number of its source, which it increments if it has one.
    ///
    /// # Safety
    /// Same requirements as [`Function`](super::Function).
    unsafe fn of(lanes: &Lanes, next: &mut usize, at: usize) -> Self;
}

impl<T: Lane> Parameter for T {
    const TYPE: Option<Type> = Some(T::TYPE);

    #[inline(always)]
    unsafe fn of(lanes: &Lanes, next: &mut usize, at: usize) -> Self {
        let from = lanes.src[*next].wrapping_add(at);
        *next += 1;
        // SAFETY: the caller's promise: the upper half of 64 bits is in the next row.
        let words = unsafe {
            match T::TYPE.rows() {
                1 => [from.read(), 0],
                _ => [from.read(), from.add(LANES).read()],
            }
        };
        T::from_words(words)
    }
}

impl Parameter for bool {
    const TYPE: Option<Type> = None;

    #[inline(always)]
    unsafe fn of(lanes: &Lanes, _: &mut usize, at: usize) -> Self {
        lanes.mask >> at & 1 != 0
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

/// Function of an operation in one lane.
pub(super) trait LaneFunction {
    /// Arguments that are the same for all lanes.
    type Context: Copy;
    type Result: Outcome;

    /// The result in a lane, without any other effect.
    ///
    /// # Safety
    /// Same requirements as [`Function`](super::Function).
    unsafe fn call(context: &Self::Context, lanes: &Lanes, at: usize) -> Self::Result;
}

/// Applies a function to each active lane. Returns the bits of the mask.
///
/// # Safety
/// Same requirements as [`Function`](super::Function), and this machine is an `M`.
#[inline(always)]
pub(super) unsafe fn each<F: LaneFunction, M: Machine>(
    operands: &Operands,
    context: &F::Context,
) -> u64 {
    let (operands, context) = (*operands, &{ *context });
    if !M::HAS_VECTORS || operands.exec.count_ones() <= FEW {
        // SAFETY: the caller's promise.
        return unsafe { each_of_few::<F>(&operands, context) };
    }
    let mut mask = 0;
    for first in [0, HALF] {
        let active = (operands.exec >> first) as u32;
        if active != 0 {
            // SAFETY: the caller's promise.
            mask |= u64::from(unsafe { each_of_half::<F, M>(&operands, context, first, active) })
                << first;
        }
    }
    mask
}

/// Applies a function to active lanes one at a time.
///
/// # Safety
/// Same requirements as [`Function`](super::Function).
#[inline(always)]
unsafe fn each_of_few<F: LaneFunction>(operands: &Operands, context: &F::Context) -> u64 {
    let (mut mask, mut rest) = (0, operands.exec);
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let lanes = Lanes::starting_at(operands, lane);
        // SAFETY: the caller's promise.
        let (words, bit) = unsafe { F::call(context, &lanes, 0) }.parts();
        mask |= u64::from(bit) << lane;
        for (row, word) in words.into_iter().enumerate().take(rows_of::<F>()) {
            // SAFETY: the caller's promise.
            unsafe {
                operands
                    .dst
                    .cast::<u32>()
                    .add(row * LANES + lane)
                    .write(word)
            };
        }
    }
    mask
}

/// Applies a function to the active lanes of a half, together.
///
/// # Safety
/// Same requirements as [`Function`](super::Function), and this machine is an `M`.
#[inline(always)]
unsafe fn each_of_half<F: LaneFunction, M: Machine>(
    operands: &Operands,
    context: &F::Context,
    first: usize,
    active: u32,
) -> u32 {
    let lanes = Lanes::starting_at(operands, first);
    // All are computed before any is written, since a source may be the destination. The compiler
    // does not know the number, or it would unroll the loop instead of vectorizing it.
    let count = if active >> (HALF / 2) == 0 {
        HALF / 2
    } else {
        HALF
    };
    let (mut low, mut high, mut bits) = ([0; HALF], [0; HALF], [0; HALF]);
    for at in 0..count {
        // SAFETY: the caller's promise.
        let (words, bit) = unsafe { F::call(context, &lanes, at) }.parts();
        [low[at], high[at]] = words;
        bits[at] = u8::from(bit).wrapping_neg();
    }
    for (row, words) in [low, high].iter().enumerate().take(rows_of::<F>()) {
        // SAFETY: the caller's promise: the half of a row is valid, and aligned as a word is.
        let to = unsafe {
            &mut *operands
                .dst
                .cast::<u32>()
                .add(row * LANES + first)
                .cast::<[u32; HALF]>()
        };
        if active == u32::MAX {
            *to = *words;
        } else {
            // SAFETY: the caller's promise about the machine.
            unsafe { M::store(to, words, active) };
        }
    }
    if <F::Result as Outcome>::HAS_MASK {
        mask_of(&bits) & active
    } else {
        0
    }
}

/// Instructions that a machine has.
pub(super) trait Machine {
    /// Whether lanes are computed together.
    const HAS_VECTORS: bool;

    /// Writes the words of active lanes.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn store(to: &mut [u32; HALF], words: &[u32; HALF], active: u32);
}

/// Any machine.
pub(super) struct Portable;

impl Machine for Portable {
    /// Almost all x86-64 machines have AVX2, and the vector code for the others would be longer than theirs.
    const HAS_VECTORS: bool = !cfg!(target_arch = "x86_64");

    #[inline(always)]
    unsafe fn store(to: &mut [u32; HALF], words: &[u32; HALF], active: u32) {
        for (at, (to, &word)) in to.iter_mut().zip(words).enumerate() {
            *to = if active >> at & 1 == 0 { *to } else { word };
        }
    }
}

/// A machine with AVX2.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Machine for Avx2 {
    const HAS_VECTORS: bool = true;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(to: &mut [u32; HALF], words: &[u32; HALF], active: u32) {
        use std::arch::x86_64::{
            _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_maskstore_epi32,
            _mm256_set1_epi32, _mm256_setr_epi32,
        };
        const LANES: usize = 8;
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let (to, _) = to.as_chunks_mut::<LANES>();
        let (words, _) = words.as_chunks::<LANES>();
        for (piece, (to, words)) in to.iter_mut().zip(words).enumerate() {
            let active = _mm256_set1_epi32((active >> (LANES * piece)).cast_signed());
            let active = _mm256_cmpeq_epi32(_mm256_and_si256(active, bits), bits);
            // SAFETY: each has as many words as the instruction accesses.
            unsafe {
                let words = _mm256_loadu_si256(words.as_ptr().cast());
                _mm256_maskstore_epi32(to.as_mut_ptr().cast(), active, words);
            }
        }
    }
}

/// The rows that a function writes.
const fn rows_of<F: LaneFunction>() -> usize {
    match <F::Result as Outcome>::TYPE {
        Some(ty) => ty.rows(),
        None => 0,
    }
}

/// The bits of bytes that are 0 or 255.
#[inline(always)]
fn mask_of(bytes: &[u8; HALF]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
        let [low, high] = [0, HALF / 2].map(|first| {
            // SAFETY: the 16 bytes are within `bytes`, and any machine of this kind has SSE2.
            let bits =
                unsafe { _mm_movemask_epi8(_mm_loadu_si128(bytes[first..].as_ptr().cast())) };
            bits.cast_unsigned()
        });
        low | high << (HALF / 2)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bit = |at: usize| u32::from(bytes[at] & 1) << at;
        (0..HALF).fold(0, |mask, at| mask | bit(at))
    }
}

/// Whether this machine has the vector instructions that tables have code for.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// The [`Functions`](super::Functions) with the code of a block, in which `$M` is the machine. They
/// have a further parameter if one is named.
macro_rules! code {
    (($($context:ident: $Context:ty)?), |$operands:ident, $M:ident| $block:block) => {{
        unsafe fn portable($operands: &$crate::alu::Operands $(, $context: &$Context)?) -> u64 {
            type $M = $crate::alu::table::Portable;
            $block
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn avx2($operands: &$crate::alu::Operands $(, $context: &$Context)?) -> u64 {
            type $M = $crate::alu::table::Avx2;
            $block
        }

        $crate::alu::Functions {
            portable,
            #[cfg(target_arch = "x86_64")]
            avx2,
        }
    }};
}
pub(super) use code;

/// The [`Function`](super::Function) that performs `$body` for each active lane.
macro_rules! function {
    (($($arg:ident: $T:ty),* $(; $old:ident: $O:ty)?) -> $R:ty $body:block) => {{
        struct One;
        impl $crate::alu::table::LaneFunction for One {
            type Context = ();
            type Result = $R;

            #[inline(always)]
            unsafe fn call((): &(), lanes: &$crate::alu::table::Lanes, at: usize) -> $R {
                let mut next = 0;
                $(
                    // SAFETY: the caller's promise.
                    let $arg = unsafe {
                        <$T as $crate::alu::table::Parameter>::of(lanes, &mut next, at)
                    };
                )*
                $(
                    // SAFETY: the caller's promise.
                    let $old = unsafe {
                        <$O as $crate::alu::table::Parameter>::of(lanes, &mut next, at)
                    };
                )?
                let _ = next;
                $body
            }
        }
        $crate::alu::table::code!((), |operands, M| {
            // SAFETY: the caller's promise.
            unsafe { $crate::alu::table::each::<One, M>(operands, &()) }
        })
    }};
}
pub(super) use function;

/// Declares the arithmetic of a table's operations, see [the module](super).
macro_rules! arithmetic {
    ($Table:ident; $($($name:ident)|+: $params:tt -> $R:ty $body:block $(clamp $clamped:block)?;)*) => {
        /// The arithmetic of an operation.
        pub(super) fn find(op: $Table) -> Option<&'static $crate::alu::Operation> {
            use $crate::alu::table::{Outcome, function, old, types};
            match op {
                $($($Table::$name)|+ => {
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
                #[allow(unreachable_patterns, reason = "a table may have all operations")]
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
