//! Arithmetic of instructions: 32 lanes at a time, without side effects.
//!
//! A register holds the bits of its type, zero-extended, whatever the type. Functions
//! compute all lanes where that is quicker than asking which of them are active; those
//! that are slow get the lanes that are asked for.

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod eight;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod matrix;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One register of a warp.
pub(crate) type Lanes = [u64; LANES];

/// Active lanes, lane 0 in bit 0.
pub(crate) type Mask = u32;

pub(crate) type Un = fn(&mut Lanes, Mask, &Lanes);
pub(crate) type Bin = fn(&mut Lanes, Mask, &Lanes, &Lanes);
pub(crate) type Tri = fn(&mut Lanes, Mask, &Lanes, &Lanes, &Lanes);
pub(crate) type Quad = fn(&mut Lanes, Mask, &Lanes, &Lanes, &Lanes, &Lanes);
/// Compares: the lanes for which it holds.
pub(crate) type Compare = fn(&Lanes, &Lanes) -> Mask;
/// Tests one operand.
pub(crate) type Test = fn(&Lanes) -> Mask;
/// With the carry of lanes, in and out.
pub(crate) type Carry = fn(&mut Lanes, Mask, &Lanes, &Lanes, &Lanes) -> Mask;

/// The numbers of set bits.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
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

/// Functions of all lanes from functions of one.
macro_rules! each {
    (|$a:ident: $A:ty| $result:expr) => {{
        fn f(d: &mut $crate::alu::Lanes, _: $crate::alu::Mask, a: &$crate::alu::Lanes) {
            for i in 0..$crate::alu::LANES {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Un
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {{
        fn f(
            d: &mut $crate::alu::Lanes,
            _: $crate::alu::Mask,
            a: &$crate::alu::Lanes,
            b: &$crate::alu::Lanes,
        ) {
            for i in 0..$crate::alu::LANES {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                let $b = <$B as $crate::alu::Value>::get(b[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Bin
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $result:expr) => {{
        fn f(
            d: &mut $crate::alu::Lanes,
            _: $crate::alu::Mask,
            a: &$crate::alu::Lanes,
            b: &$crate::alu::Lanes,
            c: &$crate::alu::Lanes,
        ) {
            for i in 0..$crate::alu::LANES {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                let $b = <$B as $crate::alu::Value>::get(b[i]);
                let $c = <$C as $crate::alu::Value>::get(c[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Tri
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| $result:expr) => {{
        fn f(
            d: &mut $crate::alu::Lanes,
            _: $crate::alu::Mask,
            a: &$crate::alu::Lanes,
            b: &$crate::alu::Lanes,
            c: &$crate::alu::Lanes,
            e: &$crate::alu::Lanes,
        ) {
            for i in 0..$crate::alu::LANES {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                let $b = <$B as $crate::alu::Value>::get(b[i]);
                let $c = <$C as $crate::alu::Value>::get(c[i]);
                let $e = <$E as $crate::alu::Value>::get(e[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Quad
    }};
}
pub(crate) use each;

/// The same for slow functions: active lanes alone.
macro_rules! each_active {
    (|$a:ident: $A:ty| $result:expr) => {{
        fn f(d: &mut $crate::alu::Lanes, mask: $crate::alu::Mask, a: &$crate::alu::Lanes) {
            for i in $crate::alu::lanes_of(mask) {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Un
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $result:expr) => {{
        fn f(
            d: &mut $crate::alu::Lanes,
            mask: $crate::alu::Mask,
            a: &$crate::alu::Lanes,
            b: &$crate::alu::Lanes,
        ) {
            for i in $crate::alu::lanes_of(mask) {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                let $b = <$B as $crate::alu::Value>::get(b[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Bin
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $result:expr) => {{
        fn f(
            d: &mut $crate::alu::Lanes,
            mask: $crate::alu::Mask,
            a: &$crate::alu::Lanes,
            b: &$crate::alu::Lanes,
            c: &$crate::alu::Lanes,
        ) {
            for i in $crate::alu::lanes_of(mask) {
                let $a = <$A as $crate::alu::Value>::get(a[i]);
                let $b = <$B as $crate::alu::Value>::get(b[i]);
                let $c = <$C as $crate::alu::Value>::get(c[i]);
                d[i] = $crate::alu::Value::put($result);
            }
        }
        f as $crate::alu::Tri
    }};
}
pub(crate) use each_active;
