//! Instructions on matrices. Source: the PTX ISA, "Warp Level Matrix Multiply-Accumulate
//! Instructions".

use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Result, exactly};
use crate::alu::matrix::{Combine, Format, Product, Shape};
use crate::code::matrix::{
    Distribution, Fragment, FragmentAccess, GROUP_ROWS, GroupSource, Matrix, Multiply,
    MultiplyGroup, RowAccess, Side,
};
use crate::code::op::{Op, Reg, Src, StateSpace};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

/// `m16n8k16`
fn shape_named(name: &str) -> Option<Shape> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(Shape {
        m: m.parse().ok()?,
        n: n.parse().ok()?,
        k: k.parse().ok()?,
    })
}

/// Takes `.row` or `.col`: whether it is `.row`.
fn take_layout(m: &mut Modifiers<'_>) -> Option<bool> {
    m.next(|part| match part {
        "row" => Some(true),
        "col" => Some(false),
        _ => None,
    })
}

fn take_sync_aligned(m: &mut Modifiers<'_>) -> Result<()> {
    if m.take("sync") && m.take("aligned") {
        Ok(())
    } else {
        Err(TextError::Missing("`.sync.aligned`"))
    }
}

fn format(m: &mut Modifiers<'_>) -> Result<Format> {
    let word = m.word()?;
    Format::named(word).ok_or_else(|| {
        TextError::name(
            format!(".{word}"),
            "is no format of matrices that is known here",
        )
    })
}

/// Whether `mma` has a shape for the format of its first two matrices.
fn is_mma(a: Format, b: Format, Shape { m, n, k }: Shape) -> bool {
    use Format::{B1, Bf16, E4m3, E5m2, F16, F64, S4, S8, Tf32, U4, U8};
    match (a, b) {
        (F16, F16) => matches!((m, n, k), (16, 8, 8 | 16) | (8, 8, 4)),
        (Bf16, Bf16) => matches!((m, n, k), (16, 8, 8 | 16)),
        (Tf32, Tf32) => matches!((m, n, k), (16, 8, 4 | 8)),
        (F64, F64) => matches!((m, n, k), (8, 8, 4) | (16, 8, 4 | 8 | 16)),
        (E4m3 | E5m2, E4m3 | E5m2) => matches!((m, n, k), (16, 8, 16 | 32)),
        (S8 | U8, S8 | U8) => matches!((m, n, k), (8, 8, 16) | (16, 8, 16 | 32)),
        (S4 | U4, S4 | U4) => matches!((m, n, k), (8, 8, 32) | (16, 8, 32 | 64)),
        (B1, B1) => matches!((m, n, k), (8, 8, 128) | (16, 8, 128 | 256)),
        _ => false,
    }
}

/// Whether `wmma` has a shape for the format.
fn is_wmma(format: Format, Shape { m, n, k }: Shape) -> bool {
    use Format::{B1, Bf16, F16, F64, S4, S8, Tf32, U4, U8};
    match format {
        F16 | Bf16 | S8 | U8 => matches!((m, n, k), (16, 16, 16) | (8, 32, 16) | (32, 8, 16)),
        Tf32 => (m, n, k) == (16, 16, 8),
        F64 => (m, n, k) == (8, 8, 4),
        S4 | U4 => (m, n, k) == (8, 8, 32),
        B1 => (m, n, k) == (8, 8, 128),
        _ => false,
    }
}

/// Whether sums of products of a format may have this one.
fn is_sum(of: Format, sum: Format) -> bool {
    match of {
        Format::F16 | Format::E4m3 | Format::E5m2 => matches!(sum, Format::F16 | Format::F32),
        Format::Bf16 | Format::Tf32 => sum == Format::F32,
        Format::F64 => sum == Format::F64,
        _ => sum == Format::S32,
    }
}

/// How elements are combined: bits by an operation, of which the ones are counted (`.xor.popc`).
fn take_combine(m: &mut Modifiers<'_>, of: Format) -> Result<Combine> {
    if of != Format::B1 {
        return Ok(Combine::Multiply);
    }
    let combine = m.next(|part| match part {
        "xor" => Some(Combine::Xor),
        "and" => Some(Combine::And),
        _ => None,
    });
    combine
        .filter(|_| m.take("popc"))
        .ok_or(TextError::Missing("`.xor.popc` or `.and.popc`"))
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn matrix(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        let op = match name {
            "mma" => self.mma(m, operands)?,
            "wmma" => self.wmma(m, operands)?,
            "wgmma" => match self.wgmma(m, operands)? {
                Some(multiply) => Matrix::MultiplyGroup(multiply),
                None => {
                    self.push(Op::Nop);
                    return Ok(true);
                }
            },
            "ldmatrix" | "stmatrix" => self.rows(name, m, operands)?,
            "movmatrix" => {
                take_sync_aligned(m)?;
                if !m.take("m8n8") || !m.take("trans") || m.ty()? != Type::B16 {
                    return Err(TextError::Rule("there is no such form of it"));
                }
                let [d, a] = exactly(operands)?;
                let (d, a) = (self.dst(d, 32)?, self.src(a, Type::B32)?);
                Matrix::Transpose { d, a }
            }
            _ => return Ok(false),
        };
        self.push(Op::Matrix(Box::new(op)));
        Ok(true)
    }

    fn mma(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<Matrix> {
        take_sync_aligned(m)?;
        let shape = m.next(shape_named).ok_or(TextError::Missing("the shape"))?;
        let layouts = (take_layout(m), take_layout(m));
        let (Some(a_is_row), Some(b_is_row)) = layouts else {
            return Err(TextError::Missing("the layout"));
        };
        let saturates = m.take("satfinite");
        let (d, a, b, c) = (format(m)?, format(m)?, format(m)?, format(m)?);
        let combine = take_combine(m, a)?;
        let is_quads = a == Format::F16 && shape.m == 8;
        if !is_mma(a, b, shape) || !is_sum(a, c) || !is_sum(a, d) {
            return Err(TextError::Rule("there is no such product"));
        }
        if !is_quads && (!a_is_row || b_is_row) {
            return Err(TextError::Rule("the layout of this product is `.row.col`"));
        }
        if saturates && d != Format::S32 {
            return Err(TextError::Rule("`.satfinite` is for integers"));
        }
        let distribution = if is_quads {
            Distribution::Quads { a_is_row, b_is_row }
        } else {
            Distribution::Mma
        };
        let product = Product {
            shape,
            a,
            b,
            c,
            d,
            combine,
            saturates,
        };
        self.multiply(product, distribution, operands)
    }

    fn wmma(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<Matrix> {
        let kind = m.word()?;
        if kind == "mma" {
            return self.wmma_mma(m, operands);
        }
        let side = match (kind, m.word()?) {
            ("load", "a") => Side::A,
            ("load", "b") => Side::B,
            ("load", "c") | ("store", "d") => Side::Sum,
            _ => return Err(TextError::Rule("there is no such form of it")),
        };
        take_sync_aligned(m)?;
        let is_row_major = take_layout(m).ok_or(TextError::Missing("the layout"))?;
        let shape = m.next(shape_named).ok_or(TextError::Missing("the shape"))?;
        let space = m.next(|part| match part {
            "global" | "shared" | "shared::cta" => space_named(part),
            _ => None,
        });
        let format = format(m)?;
        // A sum has a shape if one of its products has it.
        let products: &[Format] = match (side, format) {
            (Side::Sum, Format::F16) => &[Format::F16],
            (Side::Sum, Format::F32) => &[Format::F16, Format::Tf32],
            (Side::Sum, Format::S32) => &[Format::S8, Format::S4, Format::B1],
            (Side::Sum, Format::F64) => &[Format::F64],
            (Side::Sum, _) => &[],
            _ => &[format],
        };
        if !products.iter().any(|&of| is_wmma(of, shape)) {
            return Err(TextError::Rule("there is no such matrix"));
        }
        // Elements smaller than a byte are contiguous.
        if format.bits() < 8 && is_row_major != (side == Side::A) {
            return Err(TextError::Rule(
                "the layout of these matrices is `.row.col`",
            ));
        }
        let fragment = Fragment {
            side,
            format,
            shape,
            distribution: Distribution::Wmma,
        };
        let (first, second, stride) = match operands {
            [first, second] => (first, second, None),
            [first, second, stride] => (first, second, Some(stride)),
            _ => return Err(TextError::Expected("2 or 3 operands")),
        };
        let stride = stride
            .map(|stride| self.src(stride, Type::U32))
            .transpose()?;
        let (registers, at) = if kind == "load" {
            (first, second)
        } else {
            (second, first)
        };
        let at = self.address(at, space)?;
        Ok(if kind == "load" {
            Matrix::Load(FragmentAccess {
                at,
                registers: self.fragment_dst(registers, &fragment)?,
                fragment,
                is_row_major,
                stride,
            })
        } else {
            Matrix::Store(FragmentAccess {
                at,
                registers: self.fragment_src(registers, &fragment)?,
                fragment,
                is_row_major,
                stride,
            })
        })
    }

    fn wmma_mma(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<Matrix> {
        let of = if m.has("b1") { Format::B1 } else { Format::S8 };
        let combine = take_combine(m, of)?;
        take_sync_aligned(m)?;
        // Fragments have their elements wherever they are in memory.
        if take_layout(m).is_none() || take_layout(m).is_none() {
            return Err(TextError::Missing("the layout"));
        }
        let shape = m.next(shape_named).ok_or(TextError::Missing("the shape"))?;
        let saturates = m.take("satfinite");
        let is_rounded = m.take("rn");
        let formats: Vec<_> = std::iter::from_fn(|| m.next(Format::named)).collect();
        let (d, a, b, c) = match formats[..] {
            // Products of halves.
            [d, c] => (d, Format::F16, Format::F16, c),
            [d, a, b, c] if a != Format::F16 => (d, a, b, c),
            _ => return Err(TextError::Missing("the formats")),
        };
        if a != b || !is_wmma(a, shape) || !is_sum(a, c) || !is_sum(a, d) {
            return Err(TextError::Rule("there is no such product"));
        }
        if (saturates && d != Format::S32) || (is_rounded && d != Format::F64) {
            return Err(TextError::Rule(
                "`.satfinite` is for integers, `.rn` for .f64",
            ));
        }
        let product = Product {
            shape,
            a,
            b,
            c,
            d,
            combine,
            saturates,
        };
        self.multiply(product, Distribution::Wmma, operands)
    }

    /// Products by four warps happen at once: orders and waits have nothing to do.
    fn wgmma(
        &mut self,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Option<MultiplyGroup>> {
        let kind = m.word()?;
        take_sync_aligned(m)?;
        match (kind, operands) {
            ("fence" | "commit_group", []) | ("wait_group", [Operand::Int(_)]) => return Ok(None),
            ("mma_async", _) => {}
            _ => return Err(TextError::Rule("there is no such form of it")),
        }
        let shape = m.next(shape_named).ok_or(TextError::Missing("the shape"))?;
        let saturates = m.take("satfinite");
        let (d, a, b) = (format(m)?, format(m)?, format(m)?);
        let is_shape = (8..=256).contains(&shape.n)
            && shape.n.is_multiple_of(8)
            && (shape.m, shape.k * a.bits() as usize) == (4 * GROUP_ROWS, 256);
        let is_pair = match a {
            Format::S8 | Format::U8 => matches!(b, Format::S8 | Format::U8),
            Format::E4m3 | Format::E5m2 => matches!(b, Format::E4m3 | Format::E5m2),
            Format::F16 | Format::Bf16 | Format::Tf32 => a == b,
            _ => false,
        };
        if !is_shape || !is_pair || !is_sum(a, d) {
            return Err(TextError::Rule("there is no such product"));
        }
        if saturates && d != Format::S32 {
            return Err(TextError::Rule("`.satfinite` is for integers"));
        }
        let [d_at, a_at, b_at, accumulates, scales @ ..] = operands else {
            return Err(TextError::Expected("operands"));
        };
        let is_in_registers = matches!(a_at, Operand::Vector(_));
        let (mut is_negated, mut is_transposed) = ([false; 2], [false; 2]);
        let sign = |operand: &Operand<'_>| match operand {
            Operand::Int(1) => Ok(false),
            Operand::Int(u64::MAX) => Ok(true),
            _ => Err(TextError::Expected("1 or -1")),
        };
        let flag = |operand: &Operand<'_>| match operand {
            Operand::Int(flag @ (0 | 1)) => Ok(*flag == 1),
            _ => Err(TextError::Expected("0 or 1")),
        };
        match (scales, d == Format::S32, a.bits() == 16) {
            ([], true, _) => {}
            ([x, y], false, false) => is_negated = [sign(x)?, sign(y)?],
            ([x, y, b], false, true) if is_in_registers => {
                is_negated = [sign(x)?, sign(y)?];
                is_transposed[1] = flag(b)?;
            }
            ([x, y, a, b], false, true) if !is_in_registers => {
                is_negated = [sign(x)?, sign(y)?];
                is_transposed = [flag(a)?, flag(b)?];
            }
            _ => return Err(TextError::Expected("another number of operands")),
        }
        let product = Product {
            shape: Shape {
                m: GROUP_ROWS,
                ..shape
            },
            a,
            b,
            c: d,
            d,
            combine: Combine::Multiply,
            saturates,
        };
        let mut multiply = MultiplyGroup {
            product,
            d: Box::default(),
            a: GroupSource::Registers(Box::default()),
            b: self.src(b_at, Type::B64)?,
            accumulates: self.pred_src(accumulates)?,
            is_negated,
            is_transposed,
        };
        multiply.d = self.fragment_dst(d_at, &multiply.fragment(Side::Sum, d))?;
        multiply.a = if is_in_registers {
            let fragment = multiply.fragment(Side::A, a);
            GroupSource::Registers(self.fragment_src(a_at, &fragment)?)
        } else {
            GroupSource::Shared(self.src(a_at, Type::B64)?)
        };
        Ok(Some(multiply))
    }

    fn multiply(
        &mut self,
        product: Product,
        distribution: Distribution,
        operands: &'a [Operand<'a>],
    ) -> Result<Matrix> {
        let [d, a, b, c] = exactly(operands)?;
        let mut multiply = Multiply {
            product,
            distribution,
            d: Box::default(),
            a: Box::default(),
            b: Box::default(),
            c: Box::default(),
        };
        multiply.d = self.fragment_dst(d, &multiply.fragment(Side::Sum, product.d))?;
        multiply.a = self.fragment_src(a, &multiply.fragment(Side::A, product.a))?;
        multiply.b = self.fragment_src(b, &multiply.fragment(Side::B, product.b))?;
        multiply.c = self.fragment_src(c, &multiply.fragment(Side::Sum, product.c))?;
        Ok(Matrix::Multiply(multiply))
    }

    /// `ldmatrix` and `stmatrix`.
    fn rows(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Matrix> {
        take_sync_aligned(m)?;
        if !m.take("m8n8") {
            return Err(TextError::Unsupported("shapes other than .m8n8"));
        }
        let count = m.next(|part| match part {
            "x1" => Some(1),
            "x2" => Some(2),
            "x4" => Some(4),
            _ => None,
        });
        let count = count.ok_or(TextError::Missing("the number of matrices"))?;
        let is_transposed = m.take("trans");
        let space = m.next(|part| space_named(part).filter(|&space| space == StateSpace::Shared));
        if m.ty()? != Type::B16 {
            return Err(TextError::Rule("its elements have .b16"));
        }
        let [one, two] = exactly(operands)?;
        let words = |operand: &'a Operand<'a>| match operand {
            Operand::Vector(list) if list.len() == count => Ok(list.as_slice()),
            other if count == 1 => Ok(std::slice::from_ref(other)),
            _ => Err(TextError::Expected("a register for each matrix")),
        };
        Ok(if name == "ldmatrix" {
            let registers = words(one)?.iter().map(|d| self.dst(d, 32));
            let registers = registers.collect::<Result<_>>()?;
            let at = self.address(two, space)?;
            Matrix::LoadRows(RowAccess {
                at,
                registers,
                is_transposed,
            })
        } else {
            let registers = words(two)?.iter().map(|a| self.src(a, Type::B32));
            let registers = registers.collect::<Result<_>>()?;
            let at = self.address(one, space)?;
            Matrix::StoreRows(RowAccess {
                at,
                registers,
                is_transposed,
            })
        })
    }

    /// The operands of a fragment, one for each of its registers.
    fn fragment_operands(
        operand: &'a Operand<'a>,
        fragment: &Fragment,
    ) -> Result<&'a [Operand<'a>]> {
        let list = match operand {
            Operand::Vector(list) => list.as_slice(),
            other => std::slice::from_ref(other),
        };
        if list.len() != fragment.registers() {
            return Err(TextError::Found {
                expected: format!("a fragment of {} registers", fragment.registers()),
                found: list.len().to_string(),
            });
        }
        Ok(list)
    }

    fn fragment_dst(&self, operand: &'a Operand<'a>, fragment: &Fragment) -> Result<Box<[Reg]>> {
        let list = Self::fragment_operands(operand, fragment)?;
        let bits = fragment.register_bits();
        list.iter().map(|d| self.dst(d, bits)).collect()
    }

    fn fragment_src(
        &mut self,
        operand: &'a Operand<'a>,
        fragment: &Fragment,
    ) -> Result<Box<[Src]>> {
        let list = Self::fragment_operands(operand, fragment)?;
        let ty = match (fragment.format, fragment.register_bits()) {
            // Constants are floats, too.
            (Format::F32, _) => Type::F32,
            (_, 64) => Type::F64,
            _ => Type::B32,
        };
        list.iter().map(|source| self.src(source, ty)).collect()
    }
}
