//! Arithmetic of instructions, without side effects: of one lane, and of all 32 at a time.
//!
//! A register holds the bits of its type, zero-extended, whatever the type.

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod fp8;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod matrix;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One register of a warp.
pub(crate) type Lanes = [u64; LANES];

/// Active lanes, lane 0 in bit 0.
pub(crate) type Mask = u32;

/// A register or constant of a frame, as the distance of its [`Lanes`] from those of the first
/// register. Constants come before it.
pub(crate) type Row = i32;

/// A function of one operand.
///
/// # Safety
/// `one` takes a pointer to a lane of the first register, the row of the result, and that of the
/// operand; `all` takes pointers to the result and the operand, and writes all lanes of the result.
/// All of them are valid, and no other thread accesses these lanes. The result may be the operand;
/// otherwise it does not overlap it, and may be uninitialised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Un {
    /// Of one lane.
    pub(crate) one: unsafe fn(*mut u64, Row, Row),
    /// Of all lanes, unless it is slow or this machine has no instructions for it.
    pub(crate) all: Option<unsafe fn(*mut Lanes, *const Lanes)>,
}

/// A function of two operands, see [`Un`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bin {
    pub(crate) one: unsafe fn(*mut u64, Row, Row, Row),
    pub(crate) all: Option<unsafe fn(*mut Lanes, *const Lanes, *const Lanes)>,
}

/// A function of three operands, see [`Un`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tri {
    pub(crate) one: unsafe fn(*mut u64, Row, Row, Row, Row),
    pub(crate) all: Option<unsafe fn(*mut Lanes, *const Lanes, *const Lanes, *const Lanes)>,
}

/// A function of four operands, of one lane.
pub(crate) type Quad = fn(u64, u64, u64, u64) -> u64;

/// A comparison: of one lane, see [`Un`], and the lanes of all for which it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compare {
    pub(crate) one: unsafe fn(*const u64, Row, Row) -> bool,
    pub(crate) all: fn(&Lanes, &Lanes) -> Mask,
}

/// A test of the operand of one lane.
pub(crate) type Test = fn(u64) -> bool;

/// A function of one lane with the carry flag, in and out.
pub(crate) type Carry = fn(bool, u64, u64, u64) -> (u64, bool);

/// Lanes of a vector register of this machine, or of several.
const PIECE: usize = 8;

/// Whether this machine has the vector instructions that [`each`] has code for.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// The numbers of set bits.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    bus_cost::record::lanes_of(mask.into())
}

/// A value as a register holds it.
pub(crate) trait Value: Copy {
    fn get(bits: u64) -> Self;
    fn put(self) -> u64;
}

macro_rules! value_of_int {
    ($($int:ty => $bits:ty),*) => {$(
        impl Value for $int {
            fn get(bits: u64) -> Self {
                bits as Self
            }
            fn put(self) -> u64 {
                self as $bits as u64
            }
        }
    )*};
}
value_of_int!(u8 => u8, i8 => u8, u16 => u16, i16 => u16, u32 => u32, i32 => u32, u64 => u64, i64 => u64);

impl Value for f32 {
    fn get(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    /// NVIDIA's arithmetic makes one NaN only. Source: the PTX ISA, "Floating Point
    /// Instructions", on NaN payloads of single precision.
    fn put(self) -> u64 {
        if self.is_nan() {
            return float::NAN32;
        }
        u64::from(self.to_bits())
    }
}

impl Value for f64 {
    fn get(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn put(self) -> u64 {
        self.to_bits()
    }
}

/// The word of a lane in a row, from a pointer to the lane of the first register.
#[inline(always)]
pub(crate) const fn word(lane: *const u64, row: Row) -> *const u64 {
    lane.wrapping_offset(row as isize * LANES as isize)
}

/// The function of one lane that applies `$one` to rows.
macro_rules! scalar {
    ($one:expr, $($operand:ident),+) => {{
        unsafe fn by_row(lane: *mut u64, d: $crate::alu::Row, $($operand: $crate::alu::Row),+) {
            // SAFETY: the caller's rows are valid.
            $(let $operand = unsafe { $crate::alu::word(lane, $operand).read() };)+
            // SAFETY: as above.
            unsafe { $crate::alu::word(lane, d).cast_mut().write($one($($operand),+)) };
        }
        by_row
    }};
}
pub(crate) use scalar;

/// A function, of type `$Kind`, with code for all lanes that applies `$one` to each.
macro_rules! vectorized {
    ($Kind:ident, $one:expr, $($operand:ident),+) => {{
        #[inline(always)]
        unsafe fn portable(d: *mut $crate::alu::Lanes, $($operand: *const $crate::alu::Lanes),+) {
            for at in 0..$crate::alu::LANES / $crate::alu::PIECE {
                // A piece of all operands is read before its result is written, since `d` may be
                // one of them.
                // SAFETY: the caller's pointers are valid for `LANES` words, of which this is a
                // part.
                $(let $operand = unsafe {
                    $operand.cast::<[u64; $crate::alu::PIECE]>().add(at).read()
                };)+
                let piece = std::array::from_fn(|i| $one($($operand[i]),+));
                // SAFETY: as above.
                unsafe { d.cast::<[u64; $crate::alu::PIECE]>().add(at).write(piece) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(d: *mut $crate::alu::Lanes, $($operand: *const $crate::alu::Lanes),+) {
            // SAFETY: the caller's promise.
            unsafe { portable(d, $($operand),+) }
        }
        // Code for older machines would be as long again.
        #[cfg(target_arch = "x86_64")]
        let all = $crate::alu::has_avx2().then_some(avx2 as _);
        #[cfg(not(target_arch = "x86_64"))]
        let all = Some(portable as _);
        $crate::alu::$Kind {
            one: $crate::alu::scalar!($one, $($operand),+),
            all,
        }
    }};
}
pub(crate) use vectorized;

/// A quick function from one of values.
macro_rules! each {
    (|$a:ident: $A:ty| $result:expr) => {{
        fn one($a: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            $crate::alu::Value::put($result)
        }
        $crate::alu::vectorized!(Un, one, a)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {{
        fn one($a: u64, $b: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            let $b = <$B as $crate::alu::Value>::get($b);
            $crate::alu::Value::put($result)
        }
        $crate::alu::vectorized!(Bin, one, a, b)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $result:expr) => {{
        fn one($a: u64, $b: u64, $c: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            let $b = <$B as $crate::alu::Value>::get($b);
            let $c = <$C as $crate::alu::Value>::get($c);
            $crate::alu::Value::put($result)
        }
        $crate::alu::vectorized!(Tri, one, a, b, c)
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| $result:expr) => {{
        fn one($a: u64, $b: u64, $c: u64, $e: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            let $b = <$B as $crate::alu::Value>::get($b);
            let $c = <$C as $crate::alu::Value>::get($c);
            let $e = <$E as $crate::alu::Value>::get($e);
            $crate::alu::Value::put($result)
        }
        one as $crate::alu::Quad
    }};
}
pub(crate) use each;

/// A slow function from one of values.
macro_rules! each_slow {
    (|$a:ident: $A:ty| $result:expr) => {{
        fn one($a: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            $crate::alu::Value::put($result)
        }
        $crate::alu::Un {
            one: $crate::alu::scalar!(one, a),
            all: None,
        }
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {{
        fn one($a: u64, $b: u64) -> u64 {
            let $a = <$A as $crate::alu::Value>::get($a);
            let $b = <$B as $crate::alu::Value>::get($b);
            $crate::alu::Value::put($result)
        }
        $crate::alu::Bin {
            one: $crate::alu::scalar!(one, a, b),
            all: None,
        }
    }};
}
pub(crate) use each_slow;
