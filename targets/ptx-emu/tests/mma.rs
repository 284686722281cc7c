//! Products by `mma`, for each of its shapes and formats. The elements of each lane's registers are
//! those that the PTX ISA's "Matrix Fragments for mma" name, section by section.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use ptx_emu::{Grid, Machine, Options, Part};

/// Longer than any of these takes.
const LONG: Duration = Duration::from_secs(60);

const LANES: usize = 32;

/// The format of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

use Format::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};

impl Format {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn bits(self) -> usize {
        match self {
            B1 => 1,
            S4 | U4 => 4,
            S8 | U8 | E4m3 | E5m2 => 8,
            F16 | Bf16 => 16,
            Tf32 | F32 | S32 => 32,
            F64 => 64,
        }
    }

    /// The bits of a small number.
    fn encode(self, value: f64) -> u64 {
        let single = (value as f32).to_bits();
        match self {
            B1 => value as i32 as u64 & 1,
            S4 | U4 => value as i32 as u64 & 0xf,
            S8 | U8 => u64::from(value as i32 as u8),
            E4m3 | E5m2 if value == 0.0 => 0,
            // The exponents have 4 and 5 bits, and the mantissas the others.
            E4m3 => {
                let exponent = (single >> 23 & 0xff) + 7 - 127;
                u64::from(single >> 24 & 0x80 | exponent << 3 | single >> 20 & 7)
            }
            E5m2 => {
                let exponent = (single >> 23 & 0xff) + 15 - 127;
                u64::from(single >> 24 & 0x80 | exponent << 2 | single >> 21 & 3)
            }
            S32 => u64::from(value as i32 as u32),
            F16 if value == 0.0 => 0,
            F16 => {
                let exponent = (single >> 23 & 0xff) + 15 - 127;
                u64::from(single >> 16 & 0x8000 | exponent << 10 | single >> 13 & 0x3ff)
            }
            Bf16 => u64::from(single >> 16),
            Tf32 | F32 => u64::from(single),
            F64 => value.to_bits(),
        }
    }
}

/// Row and column of an element of a lane.
type Place = fn(lane: usize, element: usize) -> (usize, usize);

/// A shape with its fragments: elements of a lane, and their places.
struct Shape {
    sizes: (usize, usize, usize),
    a: (usize, Place),
    b: (usize, Place),
    c: (usize, Place),
}

/// The third matrix of shapes with 16 and 8 rows.
const SUM16: (usize, Place) = (4, |lane, i| {
    (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + i % 2)
});
const SUM8: (usize, Place) = (2, |lane, i| (lane / 4, lane % 4 * 2 + i));

fn shape(name: &str, of: Format) -> Shape {
    let found: (_, (usize, Place), (usize, Place)) = match (name, of.bits()) {
        ("m16n8k8", 16) => (
            (16, 8, 8),
            (4, |lane, i| {
                (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + i % 2)
            }),
            (2, |lane, i| (lane % 4 * 2 + i, lane / 4)),
        ),
        ("m16n8k16", 16) => (
            (16, 8, 16),
            (8, |lane, i| {
                let row = if i < 2 || (4..6).contains(&i) { 0 } else { 8 };
                (
                    lane / 4 + row,
                    lane % 4 * 2 + i % 2 + if i < 4 { 0 } else { 8 },
                )
            }),
            (4, |lane, i| {
                (lane % 4 * 2 + i % 2 + if i < 2 { 0 } else { 8 }, lane / 4)
            }),
        ),
        ("m16n8k4", 32) => (
            (16, 8, 4),
            (2, |lane, i| (lane / 4 + i * 8, lane % 4)),
            (1, |lane, _| (lane % 4, lane / 4)),
        ),
        ("m16n8k8", 32) => (
            (16, 8, 8),
            (4, |lane, i| {
                let row = if i == 0 || i == 2 { 0 } else { 8 };
                (lane / 4 + row, lane % 4 + if i < 2 { 0 } else { 4 })
            }),
            (2, |lane, i| (lane % 4 + i * 4, lane / 4)),
        ),
        ("m8n8k4", 64) => (
            (8, 8, 4),
            (1, |lane, _| (lane / 4, lane % 4)),
            (1, |lane, _| (lane % 4, lane / 4)),
        ),
        ("m16n8k4", 64) => (
            (16, 8, 4),
            (2, |lane, i| (lane / 4 + i * 8, lane % 4)),
            (1, |lane, _| (lane % 4, lane / 4)),
        ),
        ("m16n8k8", 64) => (
            (16, 8, 8),
            (4, |lane, i| (lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4)),
            (2, |lane, i| (lane % 4 + i * 4, lane / 4)),
        ),
        ("m16n8k16", 64) => (
            (16, 8, 16),
            (8, |lane, i| {
                let column = if i % 2 == 0 { i * 2 } else { i * 2 - 2 };
                (lane / 4 + i % 2 * 8, column + lane % 4)
            }),
            (4, |lane, i| (lane % 4 + i * 4, lane / 4)),
        ),
        ("m8n8k16", 8) => (
            (8, 8, 16),
            (4, |lane, i| (lane / 4, lane % 4 * 4 + i)),
            (4, |lane, i| (lane % 4 * 4 + i, lane / 4)),
        ),
        ("m16n8k16", 8) => (
            (16, 8, 16),
            (8, |lane, i| {
                (lane / 4 + if i < 4 { 0 } else { 8 }, lane % 4 * 4 + i % 4)
            }),
            (4, |lane, i| (lane % 4 * 4 + i, lane / 4)),
        ),
        ("m16n8k32", 8) => (
            (16, 8, 32),
            (16, |lane, i| {
                let row = if i < 4 || (8..12).contains(&i) { 0 } else { 8 };
                (
                    lane / 4 + row,
                    lane % 4 * 4 + i % 4 + if i < 8 { 0 } else { 16 },
                )
            }),
            (8, |lane, i| {
                (lane % 4 * 4 + i % 4 + if i < 4 { 0 } else { 16 }, lane / 4)
            }),
        ),
        ("m8n8k32", 4) => (
            (8, 8, 32),
            (8, |lane, i| (lane / 4, lane % 4 * 8 + i)),
            (8, |lane, i| (lane % 4 * 8 + i, lane / 4)),
        ),
        ("m16n8k32", 4) => (
            (16, 8, 32),
            (16, |lane, i| {
                (lane / 4 + if i < 8 { 0 } else { 8 }, lane % 4 * 8 + i % 8)
            }),
            (8, |lane, i| (lane % 4 * 8 + i, lane / 4)),
        ),
        ("m16n8k64", 4) => (
            (16, 8, 64),
            (32, |lane, i| {
                let row = if i < 8 || (16..24).contains(&i) { 0 } else { 8 };
                (
                    lane / 4 + row,
                    lane % 4 * 8 + i % 8 + if i < 16 { 0 } else { 32 },
                )
            }),
            (16, |lane, i| {
                (lane % 4 * 8 + i % 8 + if i < 8 { 0 } else { 32 }, lane / 4)
            }),
        ),
        ("m8n8k128", 1) => (
            (8, 8, 128),
            (32, |lane, i| (lane / 4, lane % 4 * 32 + i)),
            (32, |lane, i| (lane % 4 * 32 + i, lane / 4)),
        ),
        ("m16n8k128", 1) => (
            (16, 8, 128),
            (64, |lane, i| {
                (
                    lane / 4 + if i < 32 { 0 } else { 8 },
                    lane % 4 * 32 + i % 32,
                )
            }),
            (32, |lane, i| (lane % 4 * 32 + i, lane / 4)),
        ),
        ("m16n8k256", 1) => (
            (16, 8, 256),
            (128, |lane, i| {
                let row = if i < 32 || (64..96).contains(&i) {
                    0
                } else {
                    8
                };
                (
                    lane / 4 + row,
                    lane % 4 * 32 + i % 32 + if i < 64 { 0 } else { 128 },
                )
            }),
            (64, |lane, i| {
                (
                    lane % 4 * 32 + i % 32 + if i < 32 { 0 } else { 128 },
                    lane / 4,
                )
            }),
        ),
        _ => panic!("no shape {name} of {of:?}"),
    };
    let (sizes, a, b) = found;
    let c = if sizes.0 == 16 { SUM16 } else { SUM8 };
    Shape { sizes, a, b, c }
}

/// The registers of each lane, which each take 8 bytes here.
fn registers(
    format: Format,
    elements: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Vec<Vec<u64>> {
    let bits = format.bits();
    let packed = bits.max(32) / bits;
    let of_lane = |lane| {
        let word = |register: usize| {
            let part =
                |part: usize| format.encode(value(lane, register * packed + part)) << (part * bits);
            (0..packed).map(part).fold(0, |word, part| word | part)
        };
        (0..elements / packed).map(word).collect()
    };
    (0..LANES).map(of_lane).collect()
}

/// Multiplies registers by `opcode`. Returns those of the result.
fn multiply(opcode: &str, sources: [(Format, &[Vec<u64>]); 3], d: Format) -> Vec<Vec<u64>> {
    let counts = sources.map(|(_, registers)| registers[0].len());
    let results = counts[2] * sources[2].0.bits().max(32) * d.bits()
        / (sources[2].0.bits() * d.bits().max(32));
    let total: usize = counts.iter().sum();
    let width = |format: Format| format.bits().max(32);
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry test(.param .u64 in, .param .u64 out) {\n\
         .reg .b64 %in, %out, %rd<32>;\n.reg .b32 %lane, %r<32>;\n\
         ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %lane, %laneid;\n",
    );
    let _ = writeln!(text, "mad.wide.u32 %in, %lane, {}, %in;", total * 8);
    let _ = writeln!(text, "mad.wide.u32 %out, %lane, {}, %out;", results * 8);
    let register = |format: Format, at: usize| match width(format) {
        64 => format!("%rd{at}"),
        _ => format!("%r{at}"),
    };
    let list = |format: Format, from: usize, count: usize| {
        let names: Vec<_> = (from..from + count)
            .map(|at| register(format, at))
            .collect();
        format!("{{{}}}", names.join(", "))
    };
    let (mut lists, mut from) = (Vec::new(), 0);
    for ((format, _), count) in sources.iter().zip(counts) {
        for at in from..from + count {
            let _ = writeln!(
                text,
                "ld.global.b{} {}, [%in+{}];",
                width(*format),
                register(*format, at),
                at * 8
            );
        }
        lists.push(list(*format, from, count));
        from += count;
    }
    let _ = writeln!(
        text,
        "{opcode} {}, {};",
        list(d, 24, results),
        lists.join(", ")
    );
    for at in 0..results {
        let _ = writeln!(
            text,
            "st.global.b{} [%out+{}], {};",
            width(d),
            at * 8,
            register(d, 24 + at)
        );
    }
    text.push('}');
    let input: Vec<u8> = (0..LANES)
        .flat_map(|lane| {
            sources
                .iter()
                .flat_map(move |(_, registers)| registers[lane].clone())
        })
        .flat_map(u64::to_le_bytes)
        .collect();
    let output = run(&text, &input, LANES * results * 8);
    let (words, _) = output.as_chunks();
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    words.chunks(results).map(<[u64]>::to_vec).collect()
}

fn run(text: &str, input: &[u8], bytes: usize) -> Vec<u8> {
    let machine = Machine::new(Options {
        memory: 1 << 26,
        processors: 1,
        ..Options::default()
    })
    .expect("a device");
    let module = machine.load(&[Part { name: "t", text }]);
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memory = machine.memory();
    let from = memory.alloc(input.len() as u64).expect("room");
    let to = memory.alloc(bytes as u64).expect("room");
    let host = |address, bytes: usize| {
        memory
            .host(address, bytes as u64)
            .expect("allocated")
            .as_ptr()
    };
    // SAFETY: the blocks have room for the bytes, and no kernel knows of them yet.
    unsafe {
        host(from, input.len()).copy_from_nonoverlapping(input.as_ptr(), input.len());
        host(to, bytes).write_bytes(0, bytes);
    }
    let grid = Grid {
        grid: [1; 3],
        block: [32, 1, 1],
        shared: 0,
    };
    let kernel = module.kernel("test").expect("it is there");
    let params = [from, to].map(|address| address.to_le_bytes().to_vec());
    let running = machine.launch(&module, kernel, grid, &params, Box::new(|_| {}));
    let running = running.expect("a launch");
    let ended = running.wait(Some(Instant::now() + LONG)).expect("an end");
    ended.unwrap_or_else(|fault| panic!("{fault}"));
    // SAFETY: the block has so many bytes, and its kernel has ended.
    unsafe { std::slice::from_raw_parts(host(to, bytes), bytes) }.to_vec()
}

/// Whole numbers without a pattern, small enough for every format.
fn number(format: Format, seed: usize) -> f64 {
    let seed = seed.wrapping_mul(2_654_435_761) >> 7;
    match format {
        B1 => return (seed % 2) as f64,
        S4 => return (seed % 16) as f64 - 8.0,
        U4 => return (seed % 16) as f64,
        E5m2 => return (seed % 9) as f64 - 4.0,
        _ => {}
    }
    let value = seed % 17;
    if format == U8 {
        value as f64 + 200.0
    } else {
        value as f64 - 8.0
    }
}

#[track_caller]
fn check(name: &str, formats: (Format, Format, Format, Format)) {
    check_combined(name, formats, "", |x, y| x * y);
}

#[track_caller]
fn check_combined(
    name: &str,
    (d, a, b, c): (Format, Format, Format, Format),
    bits: &str,
    combine: impl Fn(f64, f64) -> f64,
) {
    let shape = shape(name, a);
    let (m, n, k) = shape.sizes;
    let of_a = |row: usize, column: usize| number(a, row * k + column);
    let of_b = |row: usize, column: usize| number(b, 1000 + row * n + column);
    let of_c = |row: usize, column: usize| number(c, 2000 + row * n + column);
    let opcode = format!(
        "mma.sync.aligned.{name}.row.col.{}.{}.{}.{}{bits}",
        d.name(),
        a.name(),
        b.name(),
        c.name()
    );
    let fragment = |format, (elements, place): (usize, Place), of: &dyn Fn(usize, usize) -> f64| {
        registers(format, elements, |lane, element| {
            let (row, column) = place(lane, element);
            of(row, column)
        })
    };
    let found = multiply(
        &opcode,
        [
            (a, &fragment(a, shape.a, &of_a)),
            (b, &fragment(b, shape.b, &of_b)),
            (c, &fragment(c, shape.c, &of_c)),
        ],
        d,
    );
    let of_d = |row: usize, column: usize| {
        let products = (0..k).map(|at| combine(of_a(row, at), of_b(at, column)));
        of_c(row, column) + products.sum::<f64>()
    };
    assert!(m * n <= LANES * shape.c.0, "each element is somewhere");
    assert_eq!(found, fragment(d, shape.c, &of_d), "{opcode}");
}

#[test]
fn halves() {
    for shape in ["m16n8k8", "m16n8k16"] {
        for (d, c) in [(F32, F32), (F16, F16), (F32, F16), (F16, F32)] {
            check(shape, (d, F16, F16, c));
        }
        check(shape, (F32, Bf16, Bf16, F32));
    }
}

#[test]
fn singles_of_nineteen_bits() {
    for shape in ["m16n8k4", "m16n8k8"] {
        check(shape, (F32, Tf32, Tf32, F32));
    }
}

#[test]
fn doubles() {
    for shape in ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"] {
        check(shape, (F64, F64, F64, F64));
    }
}

#[test]
fn bytes() {
    for shape in ["m8n8k16", "m16n8k16", "m16n8k32"] {
        for (a, b) in [(S8, S8), (S8, U8), (U8, S8), (U8, U8)] {
            check(shape, (S32, a, b, S32));
        }
    }
}

#[test]
fn floats_of_eight_bits() {
    for shape in ["m16n8k16", "m16n8k32"] {
        for (a, b) in [(E4m3, E4m3), (E4m3, E5m2), (E5m2, E4m3), (E5m2, E5m2)] {
            for sum in [F16, F32] {
                check(shape, (sum, a, b, sum));
            }
        }
    }
}

#[test]
fn parts_of_bytes() {
    for shape in ["m8n8k32", "m16n8k32", "m16n8k64"] {
        for (a, b) in [(S4, S4), (S4, U4), (U4, S4), (U4, U4)] {
            check(shape, (S32, a, b, S32));
        }
    }
    for shape in ["m8n8k128", "m16n8k128", "m16n8k256"] {
        let formats = (S32, B1, B1, S32);
        check_combined(shape, formats, ".xor.popc", |x, y| {
            f64::from(u8::from(x != y))
        });
        check_combined(shape, formats, ".and.popc", |x, y| x * y);
    }
}

/// Four products, of the lanes of a quad and those that are 16 further.
#[test]
fn four_products_of_halves() {
    for (layout_a, layout_b) in [
        ("row", "row"),
        ("row", "col"),
        ("col", "row"),
        ("col", "col"),
    ] {
        for sum in [F16, F32] {
            let of = |matrix: usize| {
                move |lane: usize, row: usize, column: usize| {
                    number(F16, matrix * 1000 + lane / 4 % 4 * 100 + row * 8 + column)
                }
            };
            let half = |lane: usize| if lane < 16 { 0 } else { 4 };
            let place_a = |lane: usize, i: usize| match layout_a {
                "row" => (lane % 4 + half(lane), i),
                _ => (i + half(lane), lane % 4),
            };
            let place_b = |lane: usize, i: usize| match layout_b {
                "row" => (lane % 4, i + half(lane)),
                _ => (i, lane % 4 + half(lane)),
            };
            let place_c = |lane: usize, i: usize| match sum {
                F16 => (lane % 4 + half(lane), i),
                _ => (
                    (lane & 1) + (i & 2) + half(lane),
                    (i & 4) + (lane & 2) + (i & 1),
                ),
            };
            let a = registers(F16, 4, |lane, i| {
                let (row, column) = place_a(lane, i);
                of(0)(lane, row, column)
            });
            let b = registers(F16, 4, |lane, i| {
                let (row, column) = place_b(lane, i);
                of(1)(lane, row, column)
            });
            let c = registers(sum, 8, |lane, i| {
                let (row, column) = place_c(lane, i);
                of(2)(lane, row, column)
            });
            let name = sum.name();
            let opcode =
                format!("mma.sync.aligned.m8n8k4.{layout_a}.{layout_b}.{name}.f16.f16.{name}");
            let found = multiply(&opcode, [(F16, &a), (F16, &b), (sum, &c)], sum);
            let wanted = registers(sum, 8, |lane, i| {
                let (row, column) = place_c(lane, i);
                let products = (0..4).map(|at| of(0)(lane, row, at) * of(1)(lane, at, column));
                of(2)(lane, row, column) + products.sum::<f64>()
            });
            assert_eq!(found, wanted, "{opcode}");
        }
    }
}

/// The same number in all elements.
fn all(format: Format, registers: usize, bits: u64) -> Vec<Vec<u64>> {
    let word = match format.bits() {
        8 => bits * 0x0101_0101,
        16 => bits * 0x0001_0001,
        _ => bits,
    };
    vec![vec![word; registers]; LANES]
}

/// The one number of a result, all of whose elements are equal.
#[track_caller]
fn only(result: &[Vec<u64>]) -> u64 {
    let first = result[0][0];
    assert!(
        result.iter().flatten().all(|&word| word == first),
        "{result:x?}"
    );
    first
}

#[test]
fn large_integers_wrap_or_saturate() {
    let (a, b) = (all(S8, 4, 0x7f), all(S8, 2, 0x7f));
    for (c, wraps, saturates) in [
        (0x7fff_ffff, 0x7fff_ffff + 32 * 127 * 127, 0x7fff_ffff),
        (
            0x7000_0000,
            0x7000_0000 + 32 * 127 * 127,
            0x7000_0000 + 32 * 127 * 127,
        ),
    ] {
        let c = all(S32, 4, c);
        for (modifier, wanted) in [("", wraps), (".satfinite", saturates)] {
            let opcode = format!("mma.sync.aligned.m16n8k32.row.col{modifier}.s32.s8.s8.s32");
            let found = multiply(&opcode, [(S8, &a), (S8, &b), (S32, &c)], S32);
            assert_eq!(only(&found), wanted, "{opcode}");
        }
    }
}

#[test]
fn sums_are_rounded_once() {
    // 16 products of 2^-12, a quarter of the last bit of 1 in f16: 4 such bits in all.
    let opcode = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16";
    let (a, b) = (all(F16, 4, 0x2400), all(F16, 2, 0x2400));
    let found = multiply(
        opcode,
        [(F16, &a), (F16, &b), (F16, &all(F16, 2, 0x3c00))],
        F16,
    );
    assert_eq!(only(&found), 0x3c04_3c04);
    // 16 products of 2^-26, an eighth of the last bit of 1 in f32: 2 such bits.
    let opcode = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    let (a, b) = (all(F16, 4, 0x0800), all(F16, 2, 0x0800));
    let one = u64::from(1f32.to_bits());
    let found = multiply(
        opcode,
        [(F16, &a), (F16, &b), (F32, &all(F32, 4, one))],
        F32,
    );
    assert_eq!(only(&found), one + 2);
}

#[test]
fn low_bits_of_nineteen_bit_singles_are_ignored() {
    let opcode = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32";
    let one = u64::from(1f32.to_bits());
    let (a, b) = (all(Tf32, 2, one + 0x1fff), all(Tf32, 1, one + 0x1fff));
    let found = multiply(
        opcode,
        [(Tf32, &a), (Tf32, &b), (F32, &all(F32, 4, 0))],
        F32,
    );
    assert_eq!(only(&found), u64::from(4f32.to_bits()));
}

#[test]
fn numbers_beyond_a_format_are_infinite() {
    let opcode = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16";
    let (a, b) = (all(F16, 2, 0x7bff), all(F16, 1, 0x7bff));
    let found = multiply(opcode, [(F16, &a), (F16, &b), (F16, &all(F16, 2, 0))], F16);
    assert_eq!(only(&found), 0x7c00_7c00);
    let b = all(F16, 1, 0x7c00);
    let zero = all(F16, 2, 0);
    let found = multiply(opcode, [(F16, &zero), (F16, &b), (F16, &zero)], F16);
    assert_eq!(only(&found), 0x7fff_7fff);
}
