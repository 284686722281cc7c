//! Programs from bytes: each record is an instruction, or a part of a branch or of a loop.

use std::fmt::Write;

use crate::input::{Operands, calls, record};

/// The lanes of a warp.
pub(super) const LANES: u32 = 32;

/// Bytes of results of a lane, and of all together.
pub(super) const SLOT: u64 = 128;
pub(super) const ALL_LANES: u64 = 64;

/// The most records, and the most branches and loops inside of each other.
const MAX_RECORDS: usize = 64;
const MAX_DEPTH: usize = 3;

/// The operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    Integer,
    Unary,
    Ternary,
    Wide,
    Convert,
    Float,
    Double,
    Compare,
    Select,
    Move,
    Global,
    Local,
    Shared,
    Atomic,
    Call,
    /// Begins a branch or a loop, ends it, or goes on with its other side.
    If,
    Loop,
    Else,
    End,
    /// Exchanges values with other lanes, outside of branches.
    Shuffle,
    Vote,
    Neighbour,
}

impl Op {
    const ALL: [Self; 22] = [
        Self::Integer,
        Self::Unary,
        Self::Ternary,
        Self::Wide,
        Self::Convert,
        Self::Float,
        Self::Double,
        Self::Compare,
        Self::Select,
        Self::Move,
        Self::Global,
        Self::Local,
        Self::Shared,
        Self::Atomic,
        Self::Call,
        Self::If,
        Self::Loop,
        Self::Else,
        Self::End,
        Self::Shuffle,
        Self::Vote,
        Self::Neighbour,
    ];
}

/// The begin: registers with values that depend on the lane.
const BEGIN: &str = r"
.version 6.3
.target sm_60
.address_size 64
.shared .align 16 .b8 words[512];
.visible .func (.param .b32 out) twice (.param .b32 in)
{
    .reg .b32 %a;
    ld.param.u32 %a, [in];
    shl.b32 %a, %a, 1;
    xor.b32 %a, %a, 5;
    st.param.b32 [out], %a;
    ret;
}
.visible .entry run(.param .u64 results)
{
    .reg .pred %p<5>;
    .reg .b32 %r<8>, %l<4>, %me, %own, %next, %t;
    .reg .b64 %d<4>, %at, %all, %w;
    .reg .f32 %f<4>;
    .reg .f64 %g<2>;
    .local .align 16 .b8 frame[32];
    mov.u32 %me, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.u32 %me, %me, %t;
    mov.u32 %t, %tid.x;
    add.u32 %me, %me, %t;
    ld.param.u64 %at, [results];
    add.u64 %all, %at, 4096;
    mul.wide.u32 %w, %me, 128;
    add.u64 %at, %at, %w;
    shl.b32 %own, %t, 4;
    xor.b32 %next, %own, 16;
    mov.u32 %t, words;
    add.u32 %own, %own, %t;
    add.u32 %next, %next, %t;
    mov.u64 %w, 0;
    st.shared.v2.u64 [%own], {%w, %w};
    st.local.v2.u64 [frame], {%w, %w};
    st.local.v2.u64 [frame+16], {%w, %w};
    mov.u32 %r0, %me;
    mad.lo.u32 %r1, %me, -1640531527, 12345;
    not.b32 %r2, %me;
    shl.b32 %r3, %me, 27;
    mov.u32 %r4, -1;
    mov.u32 %r5, 0x7fffffff;
    sub.u32 %r6, 16, %me;
    mov.u32 %r7, 3;
    cvt.u64.u32 %d0, %me;
    mul.wide.s32 %d1, %r1, %r2;
    mov.u64 %d2, -2;
    mov.u64 %d3, 0x8000000000000001;
    cvt.rn.f32.s32 %f0, %r6;
    mov.b32 %f1, %r1;
    mov.f32 %f2, 0f3FC00000;
    mov.f32 %f3, 0f7F800000;
    cvt.rn.f64.s32 %g0, %r6;
    mov.b64 %g1, %d1;
    setp.lt.u32 %p0, %me, 16;
    and.b32 %t, %me, 1;
    setp.eq.u32 %p1, %t, 1;
    setp.eq.u32 %p2, %me, 7;
    setp.ne.u32 %p3, %me, %me;
    bar.warp.sync -1;
";

/// The end: all registers are results. Of several operands that are NaN, PTX does not say whose payload a result in
/// double precision has, and `ptx-emu` leaves it to the processor.
const END: &str = r"
    setp.nan.f64 %p4, %g0, %g0;
    @%p4 mov.f64 %g0, 0d7FF8000000000000;
    setp.nan.f64 %p4, %g1, %g1;
    @%p4 mov.f64 %g1, 0d7FF8000000000000;
    st.global.v4.u32 [%at], {%r0, %r1, %r2, %r3};
    st.global.v4.u32 [%at+16], {%r4, %r5, %r6, %r7};
    st.global.v2.u64 [%at+32], {%d0, %d1};
    st.global.v2.u64 [%at+48], {%d2, %d3};
    st.global.v4.f32 [%at+64], {%f0, %f1, %f2, %f3};
    st.global.v2.f64 [%at+80], {%g0, %g1};
    ld.local.u64 %d0, [frame+8];
    ld.shared.u64 %d1, [%own+8];
    xor.b64 %d0, %d0, %d1;
    selp.b32 %r0, 1, 0, %p0;
    selp.b32 %r1, 2, 0, %p1;
    selp.b32 %r2, 4, 0, %p2;
    selp.b32 %r3, 8, 0, %p3;
    or.b32 %r0, %r0, %r1;
    or.b32 %r2, %r2, %r3;
    or.b32 %r0, %r0, %r2;
    cvt.u64.u32 %d1, %r0;
    add.u64 %d0, %d0, %d1;
    st.global.u64 [%at+96], %d0;
    ret;
}
";

const INTEGER: [&str; 20] = [
    "add.s32",
    "sub.s32",
    "mul.lo.u32",
    "mul.hi.u32",
    "mul.hi.s32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "shl.b32",
    "shr.u32",
    "shr.s32",
    "min.s32",
    "max.u32",
    "div.u32",
    "rem.u32",
    "div.s32",
    "rem.s32",
    "add.sat.s32",
    "mul24.lo.u32",
    "min.u32",
];
const UNARY: [&str; 8] = [
    "not.b32",
    "neg.s32",
    "abs.s32",
    "popc.b32",
    "clz.b32",
    "brev.b32",
    "bfind.u32",
    "mov.b32",
];
const TERNARY: [&str; 8] = [
    "mad.lo.u32",
    "bfe.u32",
    "bfe.s32",
    "prmt.b32",
    "shf.l.wrap.b32",
    "shf.r.clamp.b32",
    "sad.u32",
    "mad.hi.s32",
];
const WIDE: [&str; 12] = [
    "add.u64",
    "sub.s64",
    "mul.lo.u64",
    "mul.hi.u64",
    "mul.hi.s64",
    "and.b64",
    "xor.b64",
    "min.s64",
    "max.u64",
    "div.u64",
    "rem.s64",
    "or.b64",
];
const CONVERT: [&str; 16] = [
    "cvt.u64.u32 %d{d}, %r{a}",
    "cvt.s64.s32 %d{d}, %r{a}",
    "cvt.u32.u64 %r{d}, %d{a}",
    "cvt.s32.s8 %r{d}, %r{a}",
    "cvt.u32.u16 %r{d}, %r{a}",
    "cvt.rn.f32.s32 %f{d}, %r{a}",
    "cvt.rz.f32.u64 %f{d}, %d{a}",
    "cvt.rzi.s32.f32 %r{d}, %f{a}",
    "cvt.rmi.u32.f32 %r{d}, %f{a}",
    "cvt.rni.f32.f32 %f{d}, %f{a}",
    "cvt.rn.f32.f64 %f{d}, %g{e}",
    "cvt.f64.f32 %g{e}, %f{a}",
    "cvt.rpi.s64.f64 %d{d}, %g{e}",
    "mul.wide.u32 %d{d}, %r{a}, %r{b}",
    "mul.wide.s32 %d{d}, %r{a}, %r{b}",
    "mov.b32 %f{d}, %r{a}",
];
const FLOAT: [&str; 18] = [
    "add.rn.f32 {2}",
    "sub.rz.f32 {2}",
    "mul.rp.f32 {2}",
    "add.ftz.f32 {2}",
    "div.rn.f32 {2}",
    "min.f32 {2}",
    "max.ftz.f32 {2}",
    "fma.rn.f32 {3}",
    "fma.rm.ftz.f32 {3}",
    "sqrt.rn.f32 {1}",
    "rcp.rn.f32 {1}",
    "ex2.approx.f32 {1}",
    "lg2.approx.ftz.f32 {1}",
    "sin.approx.f32 {1}",
    "neg.f32 {1}",
    "abs.ftz.f32 {1}",
    "mul.rn.sat.f32 {2}",
    "rsqrt.approx.f32 {1}",
];
const DOUBLE: [&str; 8] = [
    "add.rn.f64",
    "sub.rm.f64",
    "mul.rz.f64",
    "div.rn.f64",
    "min.f64",
    "max.f64",
    "fma.rn.f64",
    "sqrt.rn.f64",
];
const COMPARE: [&str; 14] = [
    "setp.eq.s32 %p{p}, %r{a}, %r{b}",
    "setp.lt.s32 %p{p}, %r{a}, %r{b}",
    "setp.hi.u32 %p{p}, %r{a}, %r{b}",
    "setp.ne.u32 %p{p}, %r{a}, %r{b}",
    "setp.le.u64 %p{p}, %d{a}, %d{b}",
    "setp.gt.s64 %p{p}, %d{a}, %d{b}",
    "setp.lt.f32 %p{p}, %f{a}, %f{b}",
    "setp.geu.f32 %p{p}, %f{a}, %f{b}",
    "setp.nan.f32 %p{p}, %f{a}, %f{b}",
    "setp.eq.f64 %p{p}, %g0, %g1",
    "setp.lt.and.s32 %p{p}, %r{a}, %r{b}, %p{q}",
    "and.pred %p{p}, %p{q}, %p{s}",
    "not.pred %p{p}, %p{q}",
    "xor.pred %p{p}, %p{q}, %p{s}",
];
/// Memory of a lane: `A` is its address, `O` a multiple of 8.
const MEMORY: [&str; 12] = [
    "st.S.u32 [A+O], %r{a}",
    "ld.S.u32 %r{d}, [A+O]",
    "st.S.u64 [A+O], %d{a}",
    "ld.S.u64 %d{d}, [A+O]",
    "st.S.u8 [A+O+1], %r{a}",
    "ld.S.s8 %r{d}, [A+O+1]",
    "st.S.u16 [A+O+2], %r{a}",
    "ld.S.u16 %r{d}, [A+O+2]",
    "st.S.v2.u32 [A+O], {%r{a}, %r{b}}",
    "ld.S.v2.u32 {%r0, %r1}, [A+O]",
    "st.S.f32 [A+O+4], %f{a}",
    "ld.S.f32 %f{d}, [A+O+4]",
];
const ATOMIC: [&str; 10] = [
    "atom.global.add.u32 %r{d}, [%at+104], %r{a}",
    "atom.global.cas.b32 %r{d}, [%at+104], %r{a}, %r{b}",
    "atom.shared.exch.b32 %r{d}, [%own], %r{a}",
    "atom.shared.min.s32 %r{d}, [%own], %r{a}",
    "atom.global.max.u64 %d{d}, [%at+112], %d{a}",
    "red.global.add.u32 [%all], %r{a}",
    "red.global.xor.b32 [%all+4], %r{a}",
    "atom.shared.or.b32 %r{d}, [%own+4], %r{a}",
    "atom.global.inc.u32 %r{d}, [%at+120], %r{a}",
    "red.global.add.u64 [%all+8], %d{a}",
];

/// A program.
pub(super) struct Program {
    pub(super) text: String,
    /// Instructions that the bytes have chosen.
    pub(super) instructions: usize,
    /// Whether no lane sees another one, so that each may run alone.
    pub(super) is_of_lanes_alone: bool,
}

/// A branch or a loop that has not ended.
enum Open {
    If { number: usize, has_else: bool },
    Loop { number: usize, counter: usize },
}

/// Writes a program.
struct Writer {
    text: String,
    open: Vec<Open>,
    labels: usize,
    instructions: usize,
    is_of_lanes_alone: bool,
}

impl Program {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut writer = Writer {
            text: BEGIN.to_owned(),
            open: Vec::new(),
            labels: 0,
            instructions: 0,
            is_of_lanes_alone: true,
        };
        for (number, mut operands) in calls(bytes, MAX_RECORDS) {
            writer.add(Op::ALL[usize::from(number) % Op::ALL.len()], &mut operands);
        }
        while !writer.open.is_empty() {
            writer.end();
        }
        writer.text.push_str(END);
        Self {
            text: writer.text,
            instructions: writer.instructions,
            is_of_lanes_alone: writer.is_of_lanes_alone,
        }
    }
}

impl Writer {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line};").expect("memory");
        self.instructions += 1;
    }

    fn label(&mut self, name: &str, number: usize) {
        writeln!(self.text, "${name}{number}:").expect("memory");
    }

    fn add(&mut self, op: Op, operands: &mut Operands<'_>) {
        let [which, d, a, b, c] = [0; 5].map(|_| usize::from(operands.byte()));
        let guard = match operands.byte() {
            choice @ 192.. => format!("@%p{} ", choice & 3),
            choice @ 128..192 => format!("@!%p{} ", choice & 3),
            _ => String::new(),
        };
        let of = |all: &[&str]| all[which % all.len()].to_owned();
        // Registers: as many as there are of each kind.
        let (r, few) = (|at: usize| format!("%r{}", at % 8), |at: usize| at % 4);
        let fill = |form: String| {
            let is_few = !form.contains("%r{d}") || form.contains("%d{") || form.contains("%f{");
            let number = |at: usize| if is_few { few(at) } else { at % 8 };
            form.replace("{d}", &number(d).to_string())
                .replace("{a}", &number(a).to_string())
                .replace("{b}", &number(b).to_string())
                .replace("{e}", &(c % 2).to_string())
                .replace("{p}", &few(d).to_string())
                .replace("{q}", &few(b).to_string())
                .replace("{s}", &few(c).to_string())
        };
        match op {
            Op::Integer => self.line(&format!(
                "{guard}{} {}, {}, {}",
                of(&INTEGER),
                r(d),
                r(a),
                r(b)
            )),
            Op::Unary => self.line(&format!("{guard}{} {}, {}", of(&UNARY), r(d), r(a))),
            Op::Ternary => {
                self.line(&format!(
                    "{guard}{} {}, {}, {}, {}",
                    of(&TERNARY),
                    r(d),
                    r(a),
                    r(b),
                    r(c)
                ));
            }
            Op::Wide => {
                let [d, a, b] = [d, a, b].map(few);
                self.line(&format!("{guard}{} %d{d}, %d{a}, %d{b}", of(&WIDE)));
            }
            Op::Float => {
                let [d, a, b, c] = [d, a, b, c].map(few);
                let form = of(&FLOAT).replace("{1}", &format!("%f{d}, %f{a}"));
                let form = form.replace("{2}", &format!("%f{d}, %f{a}, %f{b}"));
                let form = form.replace("{3}", &format!("%f{d}, %f{a}, %f{b}, %f{c}"));
                self.line(&format!("{guard}{form}"));
            }
            Op::Double => {
                let (form, [d, a, b, c]) = (of(&DOUBLE), [d, a, b, c].map(|at| at % 2));
                let sources = match &form[..4] {
                    "fma." => format!("%g{a}, %g{b}, %g{c}"),
                    "sqrt" => format!("%g{a}"),
                    _ => format!("%g{a}, %g{b}"),
                };
                self.line(&format!("{guard}{form} %g{d}, {sources}"));
            }
            Op::Convert => self.line(&format!("{guard}{}", fill(of(&CONVERT)))),
            Op::Compare => self.line(&format!("{guard}{}", fill(of(&COMPARE)))),
            Op::Select => self.line(&format!(
                "{guard}selp.b32 {}, {}, {}, %p{}",
                r(d),
                r(a),
                r(b),
                few(c)
            )),
            Op::Move => {
                let number = (a | b << 8 | c << 24) as u32;
                self.line(&format!("{guard}mov.u32 {}, {number:#x}", r(d)));
            }
            Op::Global | Op::Local | Op::Shared => {
                let (space, address, offset) = match op {
                    Op::Global => ("global", "%at", 96 + 8 * (c % 4)),
                    Op::Local => ("local", "frame", 8 * (c % 4)),
                    _ => ("shared", "%own", 8 * (c % 2)),
                };
                let form = fill(of(&MEMORY)).replace(".S.", &format!(".{space}."));
                // An address has one offset.
                let sum = |form: String, plus: usize| {
                    form.replace(
                        &format!("[A+O+{plus}]"),
                        &format!("[{address}+{}]", offset + plus),
                    )
                };
                let form =
                    sum(sum(sum(form, 1), 2), 4).replace("[A+O]", &format!("[{address}+{offset}]"));
                self.line(&format!("{guard}{form}"));
            }
            Op::Atomic => self.line(&format!("{guard}{}", fill(of(&ATOMIC)))),
            Op::Call => {
                let (d, a) = (r(d), r(a));
                self.line(&format!(
                    "{{ .param .b32 q; .param .b32 s; st.param.b32 [q], {a}; call (s), twice, (q); \
                     ld.param.b32 {d}, [s]; }}"
                ));
            }
            Op::If if self.open.len() < MAX_DEPTH => {
                self.labels += 1;
                let number = self.labels;
                let not = if a % 2 == 1 { "" } else { "!" };
                self.line(&format!("@{not}%p{} bra $else{number}", few(d)));
                self.open.push(Open::If {
                    number,
                    has_else: false,
                });
            }
            Op::Loop if self.open.len() < MAX_DEPTH => {
                self.labels += 1;
                let (number, counter) = (self.labels, self.open.len());
                self.line(&format!("and.b32 %l{counter}, {}, 3", r(a)));
                self.label("loop", number);
                self.open.push(Open::Loop { number, counter });
            }
            Op::Else => {
                if let Some(Open::If { number, has_else }) = self.open.last_mut()
                    && !*has_else
                {
                    *has_else = true;
                    let number = *number;
                    self.line(&format!("bra $end{number}"));
                    self.label("else", number);
                }
            }
            Op::End => self.end(),
            Op::Shuffle | Op::Vote | Op::Neighbour if self.open.is_empty() => {
                self.is_of_lanes_alone = false;
                self.exchange(op, which, [r(d), r(a), r(b)], few(c));
            }
            Op::If | Op::Loop | Op::Shuffle | Op::Vote | Op::Neighbour => {}
        }
    }

    /// An instruction of all lanes together.
    fn exchange(&mut self, op: Op, which: usize, [d, a, b]: [String; 3], p: usize) {
        match op {
            Op::Shuffle => {
                let mode = ["idx", "up", "down", "bfly"][which % 4];
                let clamp = if mode == "up" { 0 } else { 31 };
                let to = if which & 4 == 0 {
                    d
                } else {
                    format!("{d}|%p{p}")
                };
                self.line(&format!("and.b32 %t, {b}, 31"));
                self.line(&format!("shfl.sync.{mode}.b32 {to}, {a}, %t, {clamp}, -1"));
            }
            Op::Vote => match which % 4 {
                0 => self.line(&format!("vote.sync.ballot.b32 {d}, %p{p}, -1")),
                1 => self.line(&format!("vote.sync.any.pred %p{p}, %p{p}, -1")),
                2 => self.line(&format!("vote.sync.all.pred %p{p}, !%p{p}, -1")),
                _ => self.line(&format!("vote.sync.uni.pred %p{p}, %p{p}, -1")),
            },
            _ => {
                self.line("bar.warp.sync -1");
                self.line(&format!("ld.shared.u32 {d}, [%next+{}]", 4 * (which % 4)));
                self.line("bar.warp.sync -1");
            }
        }
    }

    /// Ends the last branch or loop.
    fn end(&mut self) {
        match self.open.pop() {
            Some(Open::If { number, has_else }) => {
                if !has_else {
                    self.label("else", number);
                }
                self.label("end", number);
            }
            Some(Open::Loop { number, counter }) => {
                self.line(&format!("setp.ne.u32 %p3, %l{counter}, 0"));
                self.line(&format!("sub.u32 %l{counter}, %l{counter}, 1"));
                self.line(&format!("@%p3 bra $loop{number}"));
            }
            None => {}
        }
    }
}

/// Programs with arithmetic, branches, memory of each kind, and exchanges.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let seed = |records: Vec<(Op, [u8; 6])>| {
        let records = records
            .into_iter()
            .map(|(op, operands)| record(op as u8, &operands));
        records.flatten().collect()
    };
    // Each form once, on registers that change.
    let all = |op: Op, forms: usize| {
        let form = move |which: usize| {
            let at = which as u8;
            let guard = if which % 5 == 4 { 192 + at % 4 } else { 0 };
            (op, [at, at, at + 1, at + 3, at / 2, guard])
        };
        (0..forms).map(form)
    };
    let integers = all(Op::Integer, INTEGER.len()).chain(all(Op::Unary, UNARY.len()));
    let wide = all(Op::Wide, WIDE.len()).chain(all(Op::Convert, CONVERT.len()));
    let floats = all(Op::Float, FLOAT.len()).chain(all(Op::Double, DOUBLE.len()));
    let memory = [Op::Global, Op::Local, Op::Shared].map(|op| all(op, MEMORY.len()));
    let exchanges = all(Op::Shuffle, 8).chain(all(Op::Vote, 4));
    let branches = vec![
        (Op::If, [0, 0, 0, 0, 0, 0]),
        (Op::Integer, [0, 1, 1, 7, 0, 0]),
        (Op::Loop, [0, 0, 0, 0, 0, 0]),
        (Op::Integer, [7, 2, 2, 1, 0, 0]),
        (Op::If, [0, 1, 1, 0, 0, 0]),
        (Op::Float, [7, 0, 1, 2, 3, 0]),
        (Op::Shared, [0, 0, 2, 0, 0, 0]),
        (Op::End, [0; 6]),
        (Op::End, [0; 6]),
        (Op::Else, [0; 6]),
        (Op::Call, [0, 3, 1, 0, 0, 0]),
        (Op::Atomic, [5, 0, 1, 0, 0, 0]),
        (Op::End, [0; 6]),
        (Op::Neighbour, [0, 4, 0, 0, 0, 0]),
        (Op::Integer, [0, 5, 4, 2, 0, 0]),
    ];
    vec![
        seed(integers.chain(all(Op::Ternary, TERNARY.len())).collect()),
        seed(wide.chain(all(Op::Compare, COMPARE.len())).collect()),
        seed(floats.chain(all(Op::Select, 4)).collect()),
        seed(
            memory
                .into_iter()
                .flatten()
                .chain(all(Op::Atomic, ATOMIC.len()))
                .collect(),
        ),
        seed(branches),
        seed(exchanges.chain(all(Op::Move, 3)).collect()),
    ]
}
