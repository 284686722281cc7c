//! Arithmetic, logic, comparisons.

use super::modifiers::Modifiers;
use super::{Decoder, Result, exactly};
use crate::alu::convert::{Convert, Integral};
use crate::alu::float::{Extremum, Rounding, Style};
use crate::alu::{
    Bin, Carry, Quad, Tri, Un, bits, compare, convert, float, fp8, half, integer, matrix,
};
use crate::code::op::{Logic, Op, Reg, Src};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

type Operands<'a> = &'a [Operand<'a>];

/// Types of conversions that are not known: floats of 4 and 6 bits, scales, sets of four.
const NARROW: [&str; 8] = [
    "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e2m1x4", "e2m3x4", "e3m2x4", "e4m3x4",
];

/// The requested part of a product of integers.
#[derive(Clone, Copy)]
enum Product {
    Low,
    High,
    Wide,
}

/// The types of words, which most instructions on bits are for.
fn is_word(ty: Type) -> bool {
    matches!(ty, Type::B32 | Type::U32 | Type::S32)
}

fn wrong_type() -> TextError {
    TextError::Rule("there is no such instruction for this type")
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn arithmetic(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: Operands<'a>,
    ) -> Result<bool> {
        match name {
            "add" | "sub" | "addc" | "subc" => self.add(name, m, operands),
            "mul" | "mul24" => self.mul(name, m, operands),
            "mad" | "madc" | "mad24" | "fma" => self.mad(name, m, operands),
            "div" => self.div(m, operands),
            "rem" | "and" | "or" | "xor" | "shl" | "shr" | "copysign" | "bmsk" | "szext" => {
                self.two(name, m, operands)
            }
            "min" | "max" => self.extremum(name, m, operands),
            "abs" | "neg" | "not" | "cnot" | "popc" | "clz" | "brev" | "bfind" | "rcp" | "sqrt"
            | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => self.one(name, m, operands),
            "sad" | "shf" | "prmt" | "bfe" | "dp4a" | "dp2a" => self.three(name, m, operands),
            "lop3" | "bfi" => self.four(name, m, operands),
            "vadd" | "vsub" | "vmin" | "vmax" | "vabsdiff" => self.video(name, m, operands),
            "setp" => self.setp(m, operands),
            "set" => self.set(m, operands),
            "testp" => self.testp(m, operands),
            "cvt" => self.cvt(m, operands),
            _ => return Ok(false),
        }
        .map(|()| true)
    }

    fn emit1(&mut self, f: Un, ty: Type, bits: u32, operands: Operands<'a>) -> Result<()> {
        let [d, a] = exactly(operands)?;
        let (d, a) = (self.dst(d, bits)?, self.src(a, ty)?);
        self.push(Op::Un { f, d, a });
        Ok(())
    }

    fn emit2(&mut self, f: Bin, tys: [Type; 2], bits: u32, operands: Operands<'a>) -> Result<()> {
        let [d, a, b] = exactly(operands)?;
        let d = self.dst(d, bits)?;
        let (a, b) = (self.src(a, tys[0])?, self.src(b, tys[1])?);
        self.push(Op::Bin { f, d, a, b });
        Ok(())
    }

    fn emit3(&mut self, f: Tri, tys: [Type; 3], bits: u32, operands: Operands<'a>) -> Result<()> {
        let [d, a, b, c] = exactly(operands)?;
        let d = self.dst(d, bits)?;
        let (a, b, c) = (
            self.src(a, tys[0])?,
            self.src(b, tys[1])?,
            self.src(c, tys[2])?,
        );
        self.push(Op::Tri { f, d, a, b, c });
        Ok(())
    }

    fn emit4(&mut self, f: Quad, tys: [Type; 4], bits: u32, operands: Operands<'a>) -> Result<()> {
        let [d, a, b, c, e] = exactly(operands)?;
        let d = self.dst(d, bits)?;
        let (a, b) = (self.src(a, tys[0])?, self.src(b, tys[1])?);
        let (c, e) = (self.src(c, tys[2])?, self.src(e, tys[3])?);
        self.push(Op::Quad { f, d, a, b, c, e });
        Ok(())
    }

    fn emit_carry(
        &mut self,
        f: Carry,
        ty: Type,
        flags: [bool; 2],
        operands: Operands<'a>,
    ) -> Result<()> {
        let (d, a, b, c) = match operands {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return Err(TextError::Expected("3 or 4 operands")),
        };
        let d = self.dst(d, ty.bits())?;
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let c = match c {
            Some(c) => self.src(c, ty)?,
            None => self.constant(0),
        };
        let [reads, writes] = flags;
        self.push(Op::Carry {
            f,
            d,
            a,
            b,
            c,
            reads,
            writes,
        });
        Ok(())
    }

    /// Rounds to nearest by default; `.ftz` and `.sat` are for `.f32`.
    fn style(ty: Type, m: &mut Modifiers<'a>) -> Style {
        let is_single = ty == Type::F32;
        Style {
            rounding: m.rounding().unwrap_or(Rounding::Nearest),
            ftz: is_single && m.take("ftz"),
            sat: is_single && m.take("sat"),
        }
    }

    /// The same with a mandatory rounding.
    fn rounded_style(ty: Type, m: &mut Modifiers<'a>) -> Result<Style> {
        let rounding = m.rounding().ok_or(TextError::Missing("the rounding"))?;
        let style = Self::style(ty, m);
        Ok(Style { rounding, ..style })
    }

    /// Arithmetic of 16-bit floats always rounds to nearest.
    fn half_style(m: &mut Modifiers<'a>) -> half::Style {
        m.take("rn");
        half::Style {
            ftz: m.take("ftz"),
            sat: m.take("sat"),
            relu: m.take("relu"),
        }
    }

    fn add(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let is_add = name.starts_with("add");
        let ty = m.ty()?;
        let writes = m.take("cc");
        let reads = name.ends_with('c');
        if reads || writes {
            let f = if is_add {
                integer::add_carry(ty)
            } else {
                integer::sub_carry(ty)
            };
            let f = f.ok_or_else(wrong_type)?;
            return self.emit_carry(f, ty, [reads, writes], operands);
        }
        let f = match ty {
            Type::S32 if m.take("sat") => Some(if is_add {
                integer::add_sat()
            } else {
                integer::sub_sat()
            }),
            Type::F32 | Type::F64 => {
                let style = Self::style(ty, m);
                if is_add {
                    float::add(ty, style)
                } else {
                    float::sub(ty, style)
                }
            }
            _ if ty.is_float() => {
                let style = Self::half_style(m);
                if is_add {
                    half::add(ty, style)
                } else {
                    half::sub(ty, style)
                }
            }
            _ if is_add => integer::add(ty),
            _ => integer::sub(ty),
        };
        self.emit2(f.ok_or_else(wrong_type)?, [ty; 2], ty.bits(), operands)
    }

    fn half_of_product(m: &mut Modifiers<'a>) -> Result<Product> {
        m.find(|part| {
            Some(match part {
                "lo" => Product::Low,
                "hi" => Product::High,
                "wide" => Product::Wide,
                _ => return None,
            })
        })
        .ok_or(TextError::Missing("`.lo`, `.hi` or `.wide`"))
    }

    fn mul(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        let mut bits = ty.bits();
        let f = match ty {
            Type::F32 | Type::F64 => float::mul(ty, Self::style(ty, m)),
            _ if ty.is_float() => half::mul(ty, Self::half_style(m)),
            _ => match (name, Self::half_of_product(m)?) {
                ("mul24", Product::Low) => integer::mul24(ty, false),
                ("mul24", Product::High) => integer::mul24(ty, true),
                ("mul", Product::Low) => integer::mul_lo(ty),
                ("mul", Product::High) => integer::mul_hi(ty),
                ("mul", Product::Wide) => {
                    bits *= 2;
                    integer::mul_wide(ty)
                }
                _ => None,
            },
        };
        self.emit2(f.ok_or_else(wrong_type)?, [ty; 2], bits, operands)
    }

    fn mad(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        let mut wide = ty;
        let f = match ty {
            Type::F32 | Type::F64 => float::fma(ty, Self::rounded_style(ty, m)?),
            _ if ty.is_float() => half::fma(ty, Self::half_style(m)),
            _ => {
                let product = Self::half_of_product(m)?;
                let (writes, reads) = (m.take("cc"), name == "madc");
                if reads || writes {
                    let f = match product {
                        Product::Low => integer::mad_carry(ty, false),
                        Product::High => integer::mad_carry(ty, true),
                        Product::Wide => None,
                    };
                    let f = f.ok_or_else(wrong_type)?;
                    return self.emit_carry(f, ty, [reads, writes], operands);
                }
                match (name, product) {
                    ("mad24", Product::Low) => integer::mad24(ty, false),
                    ("mad24", Product::High) => integer::mad24(ty, true),
                    ("mad", Product::High) if ty == Type::S32 && m.take("sat") => {
                        Some(integer::mad_hi_sat())
                    }
                    ("mad", Product::High) => integer::mad_hi(ty),
                    ("mad", Product::Low) => integer::mad_lo(ty),
                    ("mad", Product::Wide) => {
                        wide = match ty.bits() {
                            16 => Type::B32,
                            _ => Type::B64,
                        };
                        integer::mad_wide(ty)
                    }
                    _ => None,
                }
            }
        };
        self.emit3(
            f.ok_or_else(wrong_type)?,
            [ty, ty, wide],
            wide.bits(),
            operands,
        )
    }

    fn div(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        let f = match ty {
            Type::F32 if m.take("approx") || m.take("full") => {
                Some(float::approximate_div(m.take("ftz")))
            }
            Type::F32 | Type::F64 => float::div(ty, Self::rounded_style(ty, m)?),
            _ => integer::div(ty),
        };
        self.emit2(f.ok_or_else(wrong_type)?, [ty; 2], ty.bits(), operands)
    }

    fn two(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        if ty == Type::Pred {
            let op = match name {
                "and" => Logic::And,
                "or" => Logic::Or,
                "xor" => Logic::Xor,
                _ => return Err(wrong_type()),
            };
            let [d, a, b] = exactly(operands)?;
            let (a, b) = (self.pred_src(a)?, self.pred_src(b)?);
            if let Some(d) = self.dst_pred(d)? {
                self.push(Op::PredLogic { op, d, a, b });
            }
            return Ok(());
        }
        let mut second = ty;
        let logic = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        let f = match name {
            "rem" => integer::rem(ty),
            "and" => Some(bits::and()).filter(|_| logic),
            "or" => Some(bits::or()).filter(|_| logic),
            "xor" => Some(bits::xor()).filter(|_| logic),
            "shl" | "shr" => {
                second = Type::B32;
                if name == "shl" {
                    bits::shl(ty).filter(|_| logic)
                } else {
                    bits::shr(ty)
                }
            }
            "copysign" => float::copysign(ty),
            "bmsk" | "szext" => {
                let wrap = m.take("wrap");
                if !wrap && !m.take("clamp") {
                    return Err(TextError::Missing("`.clamp` or `.wrap`"));
                }
                second = Type::B32;
                if name == "bmsk" {
                    Some(bits::bmsk(wrap)).filter(|_| ty == Type::B32)
                } else {
                    bits::szext(ty, wrap)
                }
            }
            _ => None,
        };
        self.emit2(f.ok_or_else(wrong_type)?, [ty, second], ty.bits(), operands)
    }

    fn extremum(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: Operands<'a>,
    ) -> Result<()> {
        let ty = m.ty()?;
        let f = if ty.is_float() {
            let xorsign = m.take("xorsign");
            if xorsign && !m.take("abs") {
                return Err(TextError::Missing("`.abs`"));
            }
            let how = Extremum {
                max: name == "max",
                ftz: m.take("ftz"),
                nan: m.take("NaN"),
                xorsign,
            };
            match ty {
                Type::F32 | Type::F64 => float::extremum(ty, how),
                _ => half::extremum(ty, how),
            }
        } else {
            match (name, m.take("relu")) {
                ("max", false) => integer::max(ty),
                ("max", true) => integer::max_relu(ty),
                (_, false) => integer::min(ty),
                (_, true) => integer::min_relu(ty),
            }
        };
        self.emit2(f.ok_or_else(wrong_type)?, [ty; 2], ty.bits(), operands)
    }

    fn one(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        if ty == Type::Pred {
            let [d, a] = exactly(operands)?;
            let a = self.pred_src(a)?;
            if name != "not" {
                return Err(wrong_type());
            }
            if let Some(d) = self.dst_pred(d)? {
                let b = crate::code::op::PredSrc::Const(true);
                self.push(Op::PredLogic {
                    op: Logic::Xor,
                    d,
                    a,
                    b,
                });
            }
            return Ok(());
        }
        let mut bits = ty.bits();
        let logic = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        let f = match name {
            "abs" | "neg" if !ty.is_float() => {
                if name == "abs" {
                    integer::abs(ty)
                } else {
                    integer::neg(ty)
                }
            }
            "abs" | "neg" => {
                let ftz = m.take("ftz");
                match (ty, name) {
                    (Type::F32 | Type::F64, "abs") => float::abs(ty, ftz),
                    (Type::F32 | Type::F64, _) => float::neg(ty, ftz),
                    (_, "abs") => half::abs(ty, ftz),
                    _ => half::neg(ty, ftz),
                }
            }
            "not" => bits::not(ty).filter(|_| logic),
            "cnot" => bits::cnot(ty).filter(|_| logic),
            "popc" | "clz" | "bfind" => {
                bits = 32;
                match name {
                    "popc" => bits::popc(ty),
                    "clz" => bits::clz(ty),
                    _ => bits::bfind(ty, m.take("shiftamt")),
                }
            }
            "brev" => bits::brev(ty),
            _ => self.function(name, ty, m)?,
        };
        self.emit1(f.ok_or_else(wrong_type)?, ty, bits, operands)
    }

    /// Roots, reciprocals and approximations.
    fn function(&mut self, name: &str, ty: Type, m: &mut Modifiers<'a>) -> Result<Option<Un>> {
        if m.take("approx") {
            let ftz = m.take("ftz");
            return Ok(match ty {
                Type::F32 => float::approximate(name, ftz),
                Type::F64 => float::approximate64(name, ftz),
                _ => half::approximate(name, ty, ftz),
            });
        }
        let Some(rounding) = m.rounding() else {
            return Err(TextError::Missing("`.approx` or a rounding"));
        };
        let style = Style {
            rounding,
            ftz: m.take("ftz"),
            sat: false,
        };
        Ok(match name {
            "sqrt" => float::sqrt(ty, style),
            "rcp" => float::rcp(ty, style),
            _ => None,
        })
    }

    fn three(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        if name == "shf" {
            let left = m.take("l");
            if !left && !m.take("r") {
                return Err(TextError::Missing("`.l` or `.r`"));
            }
            let wrap = m.take("wrap");
            if !wrap && !m.take("clamp") {
                return Err(TextError::Missing("`.clamp` or `.wrap`"));
            }
            if m.ty()? != Type::B32 {
                return Err(wrong_type());
            }
            let f = bits::funnel(left, wrap);
            return self.emit3(f, [Type::B32; 3], 32, operands);
        }
        let ty = m.ty()?;
        match name {
            "sad" => {
                let f = integer::sad(ty).ok_or_else(wrong_type)?;
                self.emit3(f, [ty; 3], ty.bits(), operands)
            }
            "prmt" if ty != Type::B32 => Err(wrong_type()),
            "prmt" => {
                let mode = m.find(|part| {
                    Some(match part {
                        "f4e" => bits::Permute::F4e,
                        "b4e" => bits::Permute::B4e,
                        "rc8" => bits::Permute::Rc8,
                        "ecl" => bits::Permute::Ecl,
                        "ecr" => bits::Permute::Ecr,
                        "rc16" => bits::Permute::Rc16,
                        _ => return None,
                    })
                });
                let f = bits::prmt(mode.unwrap_or(bits::Permute::General));
                self.emit3(f, [Type::B32; 3], 32, operands)
            }
            "bfe" => {
                let f = bits::bfe(ty).ok_or_else(wrong_type)?;
                self.emit3(f, [ty, Type::B32, Type::B32], ty.bits(), operands)
            }
            _ => {
                // The types of both operands are named.
                let other = m.ty()?;
                if !is_word(ty) || !is_word(other) {
                    return Err(wrong_type());
                }
                let (a, b) = (ty.is_signed(), other.is_signed());
                let f = if name == "dp4a" {
                    integer::dp4a(a, b)
                } else {
                    let high = m.take("hi");
                    if !high && !m.take("lo") {
                        return Err(TextError::Missing("`.lo` or `.hi`"));
                    }
                    integer::dp2a(a, b, high)
                };
                self.emit3(f, [Type::B32; 3], 32, operands)
            }
        }
    }

    fn four(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let ty = m.ty()?;
        if name == "lop3" && ty == Type::B32 {
            return self.emit4(bits::lop3(), [Type::B32; 4], 32, operands);
        }
        let f = bits::bfi(ty).filter(|_| name == "bfi");
        let f = f.ok_or_else(wrong_type)?;
        self.emit4(f, [ty, ty, Type::B32, Type::B32], ty.bits(), operands)
    }

    /// Video instructions of whole words, with or without a second operation. Those that
    /// choose bytes or saturate are not known.
    fn video(&mut self, name: &str, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let (to, of_a, of_b) = (m.ty()?, m.ty()?, m.ty()?);
        if !is_word(to) || of_a != of_b || !is_word(of_a) {
            return Err(wrong_type());
        }
        let first = match name {
            "vadd" => integer::add(of_a),
            "vsub" => integer::sub(of_a),
            "vmin" => integer::min(of_a),
            "vmax" => integer::max(of_a),
            _ => integer::absdiff(of_a),
        };
        let first = first.ok_or_else(wrong_type)?;
        let second = m.find(|part| match part {
            "add" => integer::add(Type::U32),
            "min" => integer::min(to),
            "max" => integer::max(to),
            _ => None,
        });
        let Some(second) = second else {
            return self.emit2(first, [of_a, of_b], 32, operands);
        };
        let [d, a, b, c] = exactly(operands)?;
        let d = self.dst(d, 32)?;
        let (a, b, c) = (self.src(a, of_a)?, self.src(b, of_b)?, self.src(c, to)?);
        let middle = self.new_reg();
        self.push(Op::Bin {
            f: first,
            d: middle,
            a,
            b,
        });
        self.push(Op::Bin {
            f: second,
            d,
            a: Src(middle),
            b: c,
        });
        Ok(())
    }

    fn comparison(m: &mut Modifiers<'a>) -> Result<(&'a str, Option<Logic>)> {
        let op = m.word()?;
        let logic = m.next(|part| {
            Some(match part {
                "and" => Logic::And,
                "or" => Logic::Or,
                "xor" => Logic::Xor,
                _ => return None,
            })
        });
        Ok((op, logic))
    }

    fn setp(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let (op, logic) = Self::comparison(m)?;
        let ftz = m.take("ftz");
        let ty = m.ty()?;
        let (single, pair) = ty.halves();
        let f = compare::compare(op, single, ftz).ok_or_else(wrong_type)?;
        let (to, a, b, with) = self.compared(logic, ty, operands)?;
        let (p, q) = match to {
            Operand::Pair(p, q) => (self.dst_pred(p)?, self.dst_pred(q)?),
            p => (self.dst_pred(p)?, None),
        };
        self.push(Op::SetPred {
            f,
            pair,
            p,
            q,
            a,
            b,
            with,
        });
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "the operands of an instruction")]
    fn compared(
        &mut self,
        logic: Option<Logic>,
        ty: Type,
        operands: Operands<'a>,
    ) -> Result<(
        &'a Operand<'a>,
        Src,
        Src,
        Option<(Logic, crate::code::op::PredSrc)>,
    )> {
        match (logic, operands) {
            (None, [d, a, b]) => Ok((d, self.src(a, ty)?, self.src(b, ty)?, None)),
            (Some(logic), [d, a, b, c]) => {
                let with = Some((logic, self.pred_src(c)?));
                Ok((d, self.src(a, ty)?, self.src(b, ty)?, with))
            }
            _ => Err(TextError::Expected("another number of operands")),
        }
    }

    fn set(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        // GCC writes the result's type before the comparison.
        let to = m.next(Type::named);
        let (op, logic) = Self::comparison(m)?;
        let ftz = m.take("ftz");
        let to = to.map_or_else(|| m.ty(), Ok)?;
        let ty = m.ty()?;
        let (single, pair) = ty.halves();
        let is_half = matches!(single, Type::F16 | Type::Bf16);
        let one = match to {
            Type::U32 | Type::S32 if pair => 0xffff,
            Type::F16x2 if ty == to => 0x3c00,
            Type::Bf16x2 if ty == to => 0x3f80,
            _ if pair => return Err(wrong_type()),
            Type::U32 | Type::S32 | Type::B32 => 0xffff_ffff,
            Type::U16 | Type::S16 if is_half => 0xffff,
            Type::F32 if !is_half => u64::from(1f32.to_bits()),
            Type::F16 if ty != Type::Bf16 => 0x3c00,
            Type::Bf16 => 0x3f80,
            _ => return Err(wrong_type()),
        };
        let f = compare::compare(op, single, ftz).ok_or_else(wrong_type)?;
        let (d, a, b, with) = self.compared(logic, ty, operands)?;
        let d = self.dst(d, to.bits())?;
        self.push(Op::Set {
            f,
            pair,
            d,
            a,
            b,
            with,
            one,
        });
        Ok(())
    }

    fn testp(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let what = m.word()?;
        let ty = m.ty()?;
        let f = float::test(ty, what).ok_or_else(wrong_type)?;
        let [p, a] = exactly(operands)?;
        let a = self.src(a, ty)?;
        if let Some(p) = self.dst_pred(p)? {
            self.push(Op::Test { f, p, a });
        }
        Ok(())
    }

    fn cvt(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        if m.take("tf32") {
            return self.cvt_to_tf32(m, operands);
        }
        if let Some(ty) = m.find(|part| NARROW.iter().find(|&&ty| ty == part)) {
            return Err(TextError::Conversion((*ty).to_owned()));
        }
        let integral = m.find(Integral::named);
        let rounding = m.rounding();
        let (ftz, sat, relu) = (m.take("ftz"), m.take("sat"), m.take("relu"));
        let (to, from) = (m.ty()?, m.ty()?);
        if to.is_eight() || from.is_eight() {
            let is_plain =
                integral.is_none() && !ftz && !sat && rounding == Some(Rounding::Nearest);
            return self.cvt_eight(to, from, is_plain, relu, m, operands);
        }
        let finite = m.take("satfinite");
        let (single, is_pair) = to.halves();
        let mut how = Convert {
            from,
            to: single,
            width: single.bits(),
            rounding,
            integral,
            ftz,
            sat,
            finite,
            relu,
        };
        if to.is_of_instructions()
            || from.is_of_instructions()
            || matches!(
                from,
                Type::F16x2 | Type::Bf16x2 | Type::B8 | Type::B16 | Type::B32 | Type::B64
            )
            || matches!(
                to,
                Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::Pred
            )
        {
            return Err(wrong_type());
        }
        how.check().map_err(TextError::Rule)?;
        if is_pair {
            let [d, a, b] = exactly(operands)?;
            let (d, a, b) = (self.dst(d, 32)?, self.src(a, from)?, self.src(b, from)?);
            let how = Box::new(how);
            self.push(Op::ConvertPair { how, d, a, b });
            return Ok(());
        }
        let [d, a] = exactly(operands)?;
        let (d, d_ty) = self.reg(d)?;
        // Integers may go to, and come from, wider registers.
        let is_wide = if to.is_float() {
            d_ty.bits() == to.bits()
        } else {
            d_ty.bits() >= to.bits()
        };
        if d != 0 && !is_wide {
            return Err(TextError::ResultWidth {
                bits: to.bits(),
                register: d_ty.bits(),
            });
        }
        how.width = if d == 0 { to.bits() } else { d_ty.bits() };
        let a = if from.is_float() {
            self.src(a, from)?
        } else {
            self.wide_src(a, from)?
        };
        self.convert(how, d, a);
        Ok(())
    }

    /// Conversions to 19 bits, which leave a word whose other bits are zeros.
    fn cvt_to_tf32(&mut self, m: &mut Modifiers<'a>, operands: Operands<'a>) -> Result<()> {
        let is_away = m.take("rna");
        let (rounding, relu) = (m.rounding(), m.take("relu"));
        let f = matrix::to_tf32(is_away, rounding, relu).ok_or_else(wrong_type)?;
        if m.ty()? != Type::F32 {
            return Err(wrong_type());
        }
        self.emit1(f, Type::F32, 32, operands)
    }

    /// Conversions of pairs of floats of 8 bits.
    fn cvt_eight(
        &mut self,
        to: Type,
        from: Type,
        is_plain: bool,
        relu: bool,
        m: &mut Modifiers<'a>,
        operands: Operands<'a>,
    ) -> Result<()> {
        if !is_plain {
            return Err(TextError::Rule(
                "it rounds by .rn, and has neither .ftz nor .sat",
            ));
        }
        if m.take("satfinite") != to.is_eight() {
            return Err(TextError::Rule(
                ".satfinite is for results of 8 bits, and must be there",
            ));
        }
        let bits = to.bits();
        match (to, from) {
            (Type::F16x2, from) => {
                let f = fp8::into_halves(from, relu).ok_or_else(wrong_type)?;
                self.emit1(f, Type::B16, bits, operands)
            }
            (to, Type::F16x2) => {
                let f = fp8::from_halves(to, relu).ok_or_else(wrong_type)?;
                self.emit1(f, Type::B32, bits, operands)
            }
            (to, Type::F32) => {
                let f = fp8::from_singles(to, relu).ok_or_else(wrong_type)?;
                self.emit2(f, [Type::F32; 2], bits, operands)
            }
            _ => Err(wrong_type()),
        }
    }

    fn convert(&mut self, how: convert::Convert, d: Reg, a: Src) {
        match how.quick() {
            Some(f) => self.push(Op::Un { f, d, a }),
            None => self.push(Op::Convert {
                how: Box::new(how),
                d,
                a,
            }),
        }
    }
}
