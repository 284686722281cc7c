//! Step functions of scalar instructions, made from the functions of a table.

use crate::alu::Type;
use crate::alu::value::F16;

use super::operand::{Destination, Source, Special};
use super::step::Run;
use super::wave::Wave;
use crate::memory::{GROUP_APERTURE, PRIVATE_APERTURE};

/// The arithmetic of a scalar operation.
pub(super) struct ScalarOperation {
    pub(super) run: Run,
    /// The types of the sources.
    pub(super) src: &'static [Type],
}

impl Wave {
    /// The value of a scalar source of 32 bits.
    #[inline]
    pub(super) fn read32(&self, source: &Source) -> u32 {
        match source {
            Source::Scalar(number) => self.scalars[usize::from(number & 127)],
            Source::Constant(value, _) => *value as u32,
            source => self.read_special(source) as u32,
        }
    }

    /// The value of a scalar source of 64 bits.
    #[inline]
    pub(super) fn read64(&self, source: &Source) -> u64 {
        match source {
            Source::Scalar(number) => self.pair(*number),
            Source::Constant(value, _) => *value,
            source => self.read_special(source),
        }
    }

    fn read_special(&self, source: &Source) -> u64 {
        let Source::Special(special) = source else {
            return 0;
        };
        // Limits are the last addresses with the lower half of ones.
        match special {
            Special::SharedBase => GROUP_APERTURE,
            Special::SharedLimit => GROUP_APERTURE | u64::from(u32::MAX),
            Special::PrivateBase => PRIVATE_APERTURE,
            Special::PrivateLimit => PRIVATE_APERTURE | u64::from(u32::MAX),
            Special::Vccz => u64::from(self.mask(super::wave::VCC) == 0),
            Special::Execz => u64::from(self.exec() == 0),
            Special::Scc => u64::from(self.scc),
        }
    }
}

/// A scalar operand.
pub(super) trait ScalarValue: Copy {
    const TYPE: Type;
    /// Whether arithmetic depends on the mode of floats.
    const IS_FLOAT: bool = matches!(Self::TYPE, Type::F32 | Type::F16);

    fn read(wave: &Wave, source: &Source) -> Self;
}

macro_rules! scalar_value {
    ($($T:ty: $Type:ident, |$wave:ident, $source:ident| $read:expr;)*) => {$(
        impl ScalarValue for $T {
            const TYPE: Type = Type::$Type;

            #[inline(always)]
            fn read($wave: &Wave, $source: &Source) -> Self {
                $read
            }
        }
    )*};
}

scalar_value! {
    u32: U32, |wave, source| wave.read32(source);
    i32: I32, |wave, source| wave.read32(source).cast_signed();
    f32: F32, |wave, source| f32::from_bits(wave.read32(source));
    F16: F16, |wave, source| F16(wave.read32(source) as u16);
    u64: U64, |wave, source| wave.read64(source);
    i64: I64, |wave, source| wave.read64(source).cast_signed();
}

/// A scalar result.
pub(super) trait ScalarOutcome {
    /// Whether arithmetic depends on the mode of floats.
    const IS_FLOAT: bool = false;

    fn write(self, wave: &mut Wave, dst: Destination);
}

impl ScalarOutcome for u32 {
    #[inline(always)]
    fn write(self, wave: &mut Wave, dst: Destination) {
        if let Destination::Scalar(number) = dst {
            wave.set_scalar(number, self);
        }
    }
}

impl ScalarOutcome for f32 {
    const IS_FLOAT: bool = true;

    #[inline(always)]
    fn write(self, wave: &mut Wave, dst: Destination) {
        self.to_bits().write(wave, dst);
    }
}

impl ScalarOutcome for F16 {
    const IS_FLOAT: bool = true;

    #[inline(always)]
    fn write(self, wave: &mut Wave, dst: Destination) {
        u32::from(self.0).write(wave, dst);
    }
}

impl ScalarOutcome for u64 {
    #[inline(always)]
    fn write(self, wave: &mut Wave, dst: Destination) {
        if let Destination::Scalar(number) = dst {
            wave.set_pair(number, self);
        }
    }
}

impl ScalarOutcome for bool {
    #[inline(always)]
    fn write(self, wave: &mut Wave, _: Destination) {
        wave.scc = self;
    }
}

impl<T: ScalarOutcome> ScalarOutcome for (T, bool) {
    #[inline(always)]
    fn write(self, wave: &mut Wave, dst: Destination) {
        self.0.write(wave, dst);
        wave.scc = self.1;
    }
}

/// Declares `find` of a table: the step function of each operation.
macro_rules! scalar_arithmetic {
    ($find:ident, $Table:ident; $($name:ident:
        |$($arg:ident: $T:ty),* $(; $scc:ident)?| -> $R:ty $body:block;
    )*) => {
        /// The arithmetic of an operation.
        pub(super) fn $find(op: $Table) -> Option<&'static super::scalar::ScalarOperation> {
            use super::scalar::{ScalarOperation, ScalarOutcome, ScalarValue};
            match op {
                $($Table::$name => {
                    fn run(
                        wave: &mut super::wave::Wave,
                        step: &super::step::Step,
                        _: &mut super::group::Group,
                    ) -> super::flow::Flow {
                        const HAS_FLOATS: bool = <$R as ScalarOutcome>::IS_FLOAT
                            $(|| <$T as ScalarValue>::IS_FLOAT)*;
                        if HAS_FLOATS && wave.mode & 0xff != super::mode::KEEPS_DENORMALS {
                            return wave.fail_all(super::mode::unsupported(wave.mode));
                        }
                        let [$($arg,)* ..] = &step.src;
                        $(let $arg = <$T as ScalarValue>::read(wave, $arg);)*
                        $(let $scc = wave.scc;)?
                        let result: $R = $body;
                        result.write(wave, step.dst);
                        super::flow::Flow::Next
                    }
                    static OPERATION: ScalarOperation = ScalarOperation {
                        run,
                        src: &[$(<$T as ScalarValue>::TYPE),*],
                    };
                    Some(&OPERATION)
                })*
                _ => None,
            }
        }
    };
}
pub(super) use scalar_arithmetic;
