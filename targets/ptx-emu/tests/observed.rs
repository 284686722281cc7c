//! Observed kernels do what others do. The emulator executes instructions that nobody observes by
//! quicker code; random programs must give the same memory, counts and faults either way.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bus_cost::CountCosts;
use ptx_emu::{Grid, Machine, Options, Part};

/// Programs, each run by three sizes of blocks on two devices; another number from
/// `REVOFF_TEST_ROUNDS`.
const PROGRAMS: u64 = 150;

/// Bytes of the output of one thread.
const OUTPUT: u32 = 256;

/// SplitMix64. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"
/// (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A random program.
struct Program {
    random: Random,
    text: String,
    labels: u32,
    /// Whether an access may be anywhere.
    is_wild: bool,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let is_wild = random.below(4) == 0;
        let mut program = Self {
            random,
            text: String::new(),
            labels: 0,
            is_wild,
        };
        program.text.push_str(
            ".version 8.0\n.target sm_60\n.address_size 64\n\
             .func (.param .b32 z) mix(.param .b32 a, .param .b64 b) {\n\
             .reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<9>;\n.reg .pred %p<9>;\n\
             .local .b8 stack[256];\n.reg .b32 %c;\n.reg .b64 %o, %s;\n\
             mov.u64 %s, stack;\ncvta.local.u64 %o, %s;\nmov.u64 %s, %o;\n\
             ld.param.u32 %r0, [a];\nld.param.u64 %d0, [b];\n",
        );
        program.statements(6, 1);
        program.text.push_str(
            "st.param.b32 [z], %r1;\nret;\n}\n.entry test(.param .u64 out) {\n\
             .reg .b32 %r<9>, %c;\n.reg .b64 %d<9>, %o, %s;\n.reg .f32 %f<9>;\n\
             .reg .pred %p<9>;\n.shared .b8 common[65536];\n\
             ld.param.u64 %o, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d0, %r0, 256;\n\
             add.u64 %o, %o, %d0;\nmov.u64 %s, common;\ncvta.shared.u64 %s, %s;\n\
             and.b64 %d0, %d0, 0xffff;\nadd.u64 %s, %s, %d0;\n",
        );
        for register in 1..8 {
            let factor = program.random.next() as u32 | 1;
            let text = &mut program.text;
            writeln!(text, "mul.lo.u32 %r{register}, %r0, {factor};").expect("memory");
            writeln!(text, "setp.lt.s32 %p{}, %r{register}, 0;", register % 4).expect("memory");
        }
        program.statements(12, 3);
        for register in 0..8 {
            let at = 128 + 4 * register;
            writeln!(program.text, "st.u32 [%o+{at}], %r{register};").expect("memory");
        }
        program
            .text
            .push_str("st.u64 [%o+160], %d1;\nst.f32 [%o+168], %f1;\nret;\n}\n");
        program
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.random.below(5) == 0 {
            let not = self.random.one_of(&["", "!"]);
            let predicate = self.random.below(4);
            write!(self.text, "@{not}%p{predicate} ").expect("memory");
        }
        writeln!(self.text, "{line};").expect("memory");
    }

    fn statements(&mut self, count: u64, depth: u32) {
        for _ in 0..=self.random.below(count) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let [a, b, c, d] = [0; 4].map(|_: u32| self.random.below(8));
        let random = &mut self.random;
        let op = random.below(if depth == 0 { 14 } else { 18 });
        let number = random.next() as i32;
        match op {
            0 | 1 => {
                let names = [
                    "add.u32",
                    "sub.s32",
                    "mul.lo.u32",
                    "mul.hi.s32",
                    "and.b32",
                    "xor.b32",
                    "shl.b32",
                    "shr.s32",
                    "min.s32",
                    "max.u32",
                    "div.u32",
                    "rem.s32",
                ];
                let name = random.one_of(&names);
                self.line(format_args!("{name} %r{a}, %r{b}, %r{c}"));
            }
            2 => self.line(format_args!("add.u32 %r{a}, %r{b}, {number}")),
            3 => self.line(format_args!("mad.lo.u32 %r{a}, %r{b}, %r{c}, %r{d}")),
            4 => self.line(format_args!("mul.wide.u32 %d{a}, %r{b}, %r{c}")),
            5 => {
                let name = random.one_of(&["add.u64", "sub.u64", "mul.lo.u64", "xor.b64"]);
                self.line(format_args!("{name} %d{a}, %d{b}, %d{c}"));
            }
            6 => self.line(format_args!("cvt.u32.u64 %r{a}, %d{b}")),
            7 => {
                let name = random.one_of(&["add.f32", "mul.f32", "sub.rz.f32", "max.f32"]);
                self.line(format_args!("{name} %f{a}, %f{b}, %f{c}"));
            }
            8 => self.line(format_args!("cvt.rn.f32.s32 %f{a}, %r{b}")),
            9 => {
                let name = random.one_of(&["lt.u32", "eq.s32", "ge.s32", "ne.b32"]);
                let predicate = a % 4;
                self.line(format_args!("setp.{name} %p{predicate}, %r{b}, %r{c}"));
            }
            10 => self.line(format_args!("selp.b32 %r{a}, %r{b}, %r{c}, %p{}", d % 4)),
            11 => {
                self.line(format_args!("add.cc.u32 %r{a}, %r{b}, %r{c}"));
                self.line(format_args!("addc.u32 %r{d}, %r{b}, 0"));
            }
            12 | 13 => self.access(a, b),
            14 => self.branch(depth, b, c),
            15 => self.round(depth),
            16 => {
                let name = self
                    .random
                    .one_of(&["bar.warp.sync 0xffffffff", "membar.gl"]);
                let is_whole = depth == 3 && name.starts_with("bar");
                if is_whole || name.starts_with("membar") {
                    writeln!(self.text, "{name};").expect("memory");
                }
            }
            _ if depth > 1 => {
                writeln!(
                    self.text,
                    "{{ .param .b32 x;\n.param .b64 y;\n.param .b32 z;\n\
                     st.param.b32 [x], %r{b};\nst.param.b64 [y], %d{c};\n\
                     call (z), mix, (x, y);\nld.param.b32 %r{a}, [z]; }}"
                )
                .expect("memory");
            }
            _ => self.line(format_args!("not.b32 %r{a}, %r{b}")),
        }
    }

    /// A load or store, in the thread's part of global, shared or local memory.
    fn access(&mut self, a: u64, b: u64) {
        let base = if self.is_wild && self.random.below(8) == 0 {
            format!("%d{b}")
        } else {
            self.random.one_of(&["%o", "%s"]).to_owned()
        };
        let at = 16 * self.random.below(8);
        let access = match self.random.below(6) {
            0 => format!("ld.u32 %r{a}, [{base}+{at}]"),
            1 => format!("ld.v2.u32 {{%r{a}, %r{b}}}, [{base}+{at}]"),
            2 => format!("ld.s8 %r{a}, [{base}+{at}]"),
            3 => format!("st.u64 [{base}+{at}], %d{a}"),
            4 => format!("st.v4.f32 [{base}+{at}], {{%f{a}, %f{b}, %f1, %f2}}"),
            _ => format!("ld.volatile.u64 %d{a}, [{base}+{at}]"),
        };
        self.line(format_args!("{access}"));
    }

    /// Lanes of an odd number of a register, or not, skip statements.
    fn branch(&mut self, depth: u32, b: u64, c: u64) {
        let label = self.labels;
        self.labels += 1;
        writeln!(
            self.text,
            "setp.lt.u32 %p5, %r{b}, %r{c};\n@%p5 bra L{label};"
        )
        .expect("memory");
        self.statements(4, depth - 1);
        writeln!(self.text, "L{label}:").expect("memory");
    }

    /// A loop, perhaps of another length in each lane.
    fn round(&mut self, depth: u32) {
        let label = self.labels;
        self.labels += 1;
        let register = self.random.below(8);
        let mask = self.random.one_of(&["0", "7", "15"]);
        // The counter survives loops inside, in a register of its own depth.
        writeln!(
            self.text,
            "{{ .reg .b32 %n;\n.reg .pred %q;\nand.b32 %n, %r{register}, {mask};\nL{label}:"
        )
        .expect("memory");
        self.statements(4, depth - 1);
        writeln!(
            self.text,
            "sub.s32 %n, %n, 1;\nsetp.gt.s32 %q, %n, 0;\n@%q bra L{label}; }}"
        )
        .expect("memory");
    }
}

/// The results of a program: memory, executed instructions, and how it ended.
fn run(text: &str, sm: u32, threads: u32, is_observed: bool) -> (Vec<u8>, u64, String) {
    let options = Options {
        sm,
        memory: 1 << 26,
        processors: 1,
        patience: Duration::from_secs(2),
        costs: is_observed.then(|| CountCosts {
            entry: String::new(),
            sink: Arc::new(|_, _| {}),
        }),
        ..Options::default()
    };
    let machine = Machine::new(options).expect("addresses");
    let part = Part { name: "t", text };
    let module = machine
        .load(&[part])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("test").expect("is there");
    let bytes = u64::from(OUTPUT * threads);
    let out = machine.memory().alloc(bytes).expect("room");
    let grid = Grid {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        shared: 0,
    };
    let params = [out.to_le_bytes().to_vec()];
    let running = machine
        .launch(&module, kernel, grid, &params, Box::new(|_| {}))
        .expect("a good launch");
    let deadline = Instant::now() + Duration::from_secs(60);
    let ended = running.wait(Some(deadline)).expect("it ends");
    let host = machine.memory().host(out, bytes).expect("the block");
    // SAFETY: the block has so many bytes, and the kernel, which has ended, wrote them last.
    let memory = unsafe { std::slice::from_raw_parts(host.as_ptr(), bytes as usize) };
    (
        memory.to_vec(),
        running.instructions(),
        format!("{ended:?}"),
    )
}

#[test]
fn observed_programs_do_the_same() {
    let programs = std::env::var("REVOFF_TEST_ROUNDS").map_or(PROGRAMS, |rounds| {
        rounds.parse().expect("REVOFF_TEST_ROUNDS is a number")
    });
    let mut faults = 0;
    for seed in 0..programs {
        let text = Program::new(seed).text;
        for (sm, threads) in [60, 70]
            .into_iter()
            .flat_map(|sm| [(sm, 1), (sm, 20), (sm, 64)])
        {
            let quick = run(&text, sm, threads, false);
            let observed = run(&text, sm, threads, true);
            assert!(
                quick == observed,
                "program {seed} on sm_{sm} with {threads} threads:\n{} {}\n{} {}\n{text}",
                quick.1,
                quick.2,
                observed.1,
                observed.2
            );
            faults += u32::from(quick.2 != "Ok(())");
        }
    }
    assert!(faults > 0, "some programs fault");
}
