//! Operations on floats of 32 and of 64 bits.
//!
//! A NaN as an operand makes the result that NaN, the first one of several, and quiet. Operands that
//! are none have a positive NaN as a result. Functions follow these rules on any machine.

/// A float of the machine.
pub(crate) trait Float: Copy + PartialOrd {
    /// The NaN that operations make of operands that are none.
    const NAN: Self;

    /// The same value, or the quiet NaN of a signalling one.
    fn quiet(self) -> Self;
    /// The NaN of operations instead of another one.
    fn or_nan(self) -> Self;
    /// Whether it is a signalling NaN.
    fn is_signalling(self) -> bool;
    /// Whether it is a NaN.
    fn is_nan(self) -> bool;
    /// Whether its sign is negative.
    fn is_negative(self) -> bool;
    /// The exponent as its bits have it.
    fn biased(self) -> i32;
    /// Zero with its sign if it is subnormal.
    fn flushed(self) -> Self;
    /// The difference from the next lower integer, less than 1.
    fn fraction(self) -> Self;
    /// The significand in [0.5, 1), with its sign.
    fn significand(self) -> Self;
    /// The exponent that belongs to this significand; 0 for zeros and what is not finite.
    fn exponent(self) -> i32;
}

macro_rules! float {
    ($($F:ident $Bits:ident $digits:literal $bias:literal $scale:literal;)*) => {$(
        impl Float for $F {
            const NAN: Self = Self::from_bits(Self::INFINITY.to_bits() | 1 << ($digits - 1));

            #[inline(always)]
            fn quiet(self) -> Self {
                let quiet: $Bits = if Float::is_nan(self) { 1 << ($digits - 1) } else { 0 };
                Self::from_bits(self.to_bits() | quiet)
            }

            #[inline(always)]
            fn or_nan(self) -> Self {
                // By its bits, since a compiler may keep any NaN that an operation made.
                let bits = self.to_bits();
                let is_nan = bits << 1 >> 1 > Self::INFINITY.to_bits();
                let bits = if is_nan { <Self as Float>::NAN.to_bits() } else { bits };
                Self::from_bits(bits)
            }

            #[inline(always)]
            fn is_signalling(self) -> bool {
                Float::is_nan(self) & (self.to_bits() >> ($digits - 1) & 1 == 0)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn biased(self) -> i32 {
                (self.to_bits() >> $digits) as i32 & (2 * $bias + 1)
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                if self.abs() < Self::MIN_POSITIVE {
                    return Self::from_bits(self.to_bits() & (-0.0 as Self).to_bits());
                }
                self
            }

            #[inline(always)]
            fn fraction(self) -> Self {
                let fraction = self - self.floor();
                let limit = 1.0 - Self::EPSILON / 2.0;
                result_of([self], if fraction > limit { limit } else { fraction })
            }

            #[inline(always)]
            fn significand(self) -> Self {
                let normal = if self.abs() < Self::MIN_POSITIVE { self * $scale } else { self };
                let rest = normal.to_bits() & !Self::INFINITY.to_bits();
                let significand = Self::from_bits(rest | (0.5 as Self).to_bits());
                if self == 0.0 || !self.is_finite() { self.quiet() } else { significand }
            }

            #[inline(always)]
            fn exponent(self) -> i32 {
                let normal = self.abs() >= Self::MIN_POSITIVE;
                let (scaled, offset) = match normal {
                    true => (self, 0),
                    false => (self * $scale, ($scale as Self).biased() - $bias),
                };
                let exponent = scaled.biased() - ($bias - 1) - offset;
                if self == 0.0 || !self.is_finite() { 0 } else { exponent }
            }
        }
    )*};
}

float! {
    f32 u32 23 127 4_294_967_296.0;
    f64 u64 52 1023 18_446_744_073_709_551_616.0;
}

/// The result of an operation, or the NaN that it is for these operands.
#[inline(always)]
pub(crate) fn result_of<F: Float, const N: usize>(operands: [F; N], result: F) -> F {
    let mut settled = result.or_nan();
    for operand in operands.into_iter().rev() {
        settled = if operand.is_nan() {
            operand.quiet()
        } else {
            settled
        };
    }
    settled
}

/// Whether the first is less, also as a negative zero.
#[inline(always)]
fn is_less<F: Float>(a: F, b: F) -> bool {
    a < b || a == b && a.is_negative()
}

/// The second if the first is a NaN.
#[inline(always)]
fn number_of<F: Float>(a: F, b: F, result: F) -> F {
    let result = if b.is_nan() { a } else { result };
    if a.is_nan() && !b.is_nan() { b } else { result }
}

/// A NaN if one is signalling.
#[inline(always)]
fn unless_signalling<F: Float>(a: F, b: F, result: F) -> F {
    let result = if b.is_signalling() { b.quiet() } else { result };
    if a.is_signalling() { a.quiet() } else { result }
}

/// The smaller one, or the one that is a number, unless one is a signalling NaN.
#[inline(always)]
pub(crate) fn min<F: Float>(a: F, b: F) -> F {
    unless_signalling(a, b, min_num(a, b))
}

/// The larger one, or the one that is a number, unless one is a signalling NaN.
#[inline(always)]
pub(crate) fn max<F: Float>(a: F, b: F) -> F {
    unless_signalling(a, b, max_num(a, b))
}

/// The smaller one, or the one that is a number.
#[inline(always)]
pub(crate) fn min_num<F: Float>(a: F, b: F) -> F {
    number_of(a, b, if is_less(a, b) { a } else { b }).quiet()
}

/// The larger one, or the one that is a number.
#[inline(always)]
pub(crate) fn max_num<F: Float>(a: F, b: F) -> F {
    number_of(a, b, if is_less(b, a) { a } else { b }).quiet()
}

/// The smaller one, or a NaN if one is.
#[inline(always)]
pub(crate) fn minimum<F: Float>(a: F, b: F) -> F {
    let result = if is_less(a, b) { a } else { b };
    unless_signalling(a, b, result_of([a, b], result))
}

/// The larger one, or a NaN if one is.
#[inline(always)]
pub(crate) fn maximum<F: Float>(a: F, b: F) -> F {
    let result = if is_less(b, a) { a } else { b };
    unless_signalling(a, b, result_of([a, b], result))
}

/// The one between the others; the smallest number if one is a NaN. It is made of the minimum and
/// the maximum of two.
#[inline(always)]
pub(crate) fn median<F: Float>(
    [a, b, c]: [F; 3],
    min: impl Fn(F, F) -> F,
    max: impl Fn(F, F) -> F,
) -> F {
    let largest = max(max(a, b), c);
    let without = |is_a: bool, is_b: bool| {
        let (x, y) = (if is_a { b } else { a }, if is_a || is_b { c } else { b });
        max(x, y)
    };
    let median = without(largest == a, largest == b);
    if a.is_nan() || b.is_nan() || c.is_nan() {
        min(min(a, b), c)
    } else {
        median
    }
}
