//! Words that cover all encodings and operations: each number of an operation with several random
//! fillings of the other fields. `GCN_SWEEP` multiplies their number.

use std::path::Path;

use gcn_emu::isa::{
    BufferOp, DualOp, Flag, FlatOp, InterpOp, LdsOp, PackedOp, Row, ScalarMemoryOp, Sop1Op, Sop2Op,
    SopcOp, SopkOp, SoppOp, TypedBufferOp, ValuOp,
};
use gcn_emu::{Arch, Generation, Target, WaveSize};

use crate::compare::Comparison;
use crate::llvm;

/// An encoding: its fixed bits, where the number of the operation is, and its size in words.
struct Encoding {
    generations: &'static [Generation],
    fixed: u32,
    /// The first bit of the number and its size.
    number: (u32, u32),
    words: usize,
    /// The bits that are neither fixed nor of the number.
    free: u32,
}

const ALL: &[Generation] = &[Generation::Gfx9, Generation::Gfx11, Generation::Gfx12];
const GFX9: &[Generation] = &[Generation::Gfx9];
const GFX11: &[Generation] = &[Generation::Gfx11];
const GFX12: &[Generation] = &[Generation::Gfx12];
const RDNA: &[Generation] = &[Generation::Gfx11, Generation::Gfx12];

const fn encoding(
    generations: &'static [Generation],
    fixed: u32,
    prefix: u32,
    number: (u32, u32),
    words: usize,
) -> Encoding {
    let fixed_bits = !(u32::MAX >> prefix);
    let number_bits = ((1 << number.1) - 1) << number.0;
    Encoding {
        generations,
        fixed,
        number,
        words,
        free: !(fixed_bits | number_bits),
    }
}

const ENCODINGS: &[Encoding] = &[
    encoding(ALL, 0x8000_0000, 2, (23, 7), 1),
    encoding(ALL, 0xb000_0000, 4, (23, 5), 1),
    encoding(ALL, 0xbe80_0000, 9, (8, 8), 1),
    encoding(ALL, 0xbf00_0000, 9, (16, 7), 1),
    encoding(ALL, 0xbf80_0000, 9, (16, 7), 1),
    encoding(ALL, 0x0000_0000, 1, (25, 6), 1),
    encoding(ALL, 0x7e00_0000, 7, (9, 8), 1),
    encoding(ALL, 0x7c00_0000, 7, (17, 8), 1),
    encoding(GFX9, 0xd000_0000, 6, (16, 10), 2),
    encoding(RDNA, 0xd400_0000, 6, (16, 10), 2),
    encoding(GFX9, 0xd380_0000, 9, (16, 7), 2),
    encoding(RDNA, 0xcc00_0000, 8, (16, 7), 2),
    encoding(RDNA, 0xcd00_0000, 8, (16, 7), 2),
    encoding(RDNA, 0xc800_0000, 6, (17, 9), 2),
    encoding(GFX9, 0xc000_0000, 6, (18, 8), 2),
    encoding(GFX11, 0xf400_0000, 6, (18, 8), 2),
    encoding(GFX12, 0xf400_0000, 6, (13, 6), 2),
    encoding(GFX9, 0xd800_0000, 6, (17, 8), 2),
    encoding(RDNA, 0xd800_0000, 6, (18, 8), 2),
    encoding(GFX9, 0xdc00_0000, 6, (14, 11), 2),
    encoding(GFX11, 0xdc00_0000, 6, (16, 9), 2),
    encoding(GFX12, 0xec00_0000, 6, (14, 12), 3),
    encoding(GFX9, 0xe000_0000, 6, (18, 7), 2),
    encoding(GFX11, 0xe000_0000, 6, (18, 8), 2),
    encoding(
        &[Generation::Gfx9, Generation::Gfx11],
        0xe800_0000,
        6,
        (15, 4),
        2,
    ),
    encoding(GFX12, 0xc400_0000, 6, (14, 8), 3),
];

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32 ^ mixed as u32
    }

    /// A word with few bits set, with half of them set, or with few clear.
    fn word(&mut self) -> u32 {
        match self.next() % 8 {
            0 | 1 => self.next() & self.next(),
            2 | 3 => self.next() & self.next() & self.next(),
            4 => self.next() | self.next(),
            5 => self.next() & 0x1f1f_1f1f,
            _ => self.next(),
        }
    }
}

const NOP: u32 = 0xbf80_0000;

/// Fillings with which each operation is valid at least once: scalar or vector registers, no
/// address in a scalar register, and with and without accesses to global data share or LDS.
fn plain(generation: Generation, encoding: &Encoding) -> [[u32; 3]; 6] {
    const VECTORS: u32 = 256 << 18 | 256 << 9 | 256;
    const NULL: u32 = 0x7c;
    let lds = match generation {
        Generation::Gfx9 => 1 << 16,
        Generation::Gfx11 | Generation::Gfx12 => 1 << 17,
    };
    // In VOP3P: high halves for high results.
    const ALL: u32 = 3 << 27;
    let all = 1 << 14;
    match encoding.words {
        3 => [
            [NULL, 0, 0],
            [0; 3],
            [NULL, 1 << 17, 0],
            [0; 3],
            [0; 3],
            [0; 3],
        ],
        1 => [[0; 3], [256, 0, 0], [0x7f00, 0, 0], [0; 3], [0; 3], [0; 3]],
        _ => [
            [all, ALL | VECTORS, 0],
            [0, VECTORS, 0],
            [0, 256, 0],
            [0; 3],
            [lds, 0, 0],
            [0, NULL << 16, 0],
        ],
    }
}

/// Whether LLVM's disassembler crashes: it does for a literal behind 64-bit vector instructions of
/// gfx9 or as their destination, for unknown parts of registers in SDWA, and for literals behind
/// accesses to buffers of gfx9 and gfx11 and behind barriers of gfx12.
fn crashes(generation: Generation, words: &[u32]) -> bool {
    let [first, second, ..] = *words else {
        return false;
    };
    match generation {
        Generation::Gfx9 => {
            let vector = first >> 26 == 0b11_0100;
            let buffer = matches!(first >> 26, 0b11_1000 | 0b11_1010);
            let compares = vector && (first >> 16) & 0x3ff < 0x100 && first & 255 == 255;
            let parts = first >> 31 == 0 && first & 0x1ff == 249;
            let unknown_part = [8, 16, 24].iter().any(|at| (second >> at) & 7 == 7);
            compares
                || (parts && unknown_part)
                || (vector && (0..3).any(|at| (second >> (9 * at)) & 0x1ff == 255))
                || (buffer && second >> 24 == 255)
        }
        Generation::Gfx11 => matches!(first >> 26, 0b11_1000 | 0b11_1010) && second >> 24 == 255,
        Generation::Gfx12 => {
            first >> 23 == 0b1_0111_1101
                && (0x4e..0x56).contains(&((first >> 8) & 255))
                && first & 255 == 255
        }
    }
}

/// The words to decode: instructions with one `s_nop` between them.
fn words(arch: Arch, fillings: usize) -> Vec<u32> {
    let generation = arch.generation();
    let mut random = Random(arch as u64);
    let mut words = Vec::new();
    let encodings = ENCODINGS.iter();
    for encoding in encodings.filter(|encoding| encoding.generations.contains(&generation)) {
        for number in 0..1 << encoding.number.1 {
            // Whatever came before ends within these.
            words.extend([NOP; 3]);
            for fields in plain(generation, encoding) {
                let [first, rest @ ..] = fields;
                words.push(encoding.fixed | number << encoding.number.0 | first & encoding.free);
                words.extend(&rest[..encoding.words - 1]);
                // Some have a constant.
                words.extend([0x1234_5678, NOP]);
            }
            for _ in 0..fillings {
                let start = words.len();
                let first = encoding.fixed | number << encoding.number.0;
                words.push(first | random.word() & encoding.free);
                for _ in 1..encoding.words {
                    words.push(random.word());
                }
                if random.next().is_multiple_of(2) {
                    words.push(random.word());
                }
                words.push(NOP);
                if crashes(generation, &words[start..]) {
                    words.truncate(start);
                }
            }
        }
    }
    // Where the end of the words cuts an instruction is up to the disassembler.
    words.extend([NOP; 4]);
    // After an invalid word, any word may begin such an instruction.
    for at in 0..words.len() - 1 {
        if crashes(generation, &words[at..]) {
            words[at] = NOP;
        }
    }
    words
}

fn compare(objdump: &Path, target: Target, fillings: usize, comparison: &mut Comparison) {
    let words = words(target.arch, fillings);
    let bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let file = test_elf::File {
        data: &bytes,
        ..test_elf::File::code_object(4)
    };
    let folder = std::env::temp_dir();
    let name = format!(
        "gcn-sweep-{}-{}-{:?}",
        std::process::id(),
        target.arch,
        target.wave
    );
    let path = folder.join(name);
    std::fs::write(&path, file.write()).expect("a folder for temporary files");
    let (lines, finished) = llvm::list(objdump, &path, Some(target));
    std::fs::remove_file(&path).expect("it was written");
    let last = lines.last().map_or(0, |line| line.address);
    let rest = &words[last as usize / 4..];
    assert!(
        finished,
        "the disassembler crashed behind {last:#x} of {}: {:08x?}",
        target.arch,
        &rest[..rest.len().min(6)]
    );
    for line in &lines {
        comparison.line(target, line, &words[line.address as usize / 4..]);
    }
}

/// The names of all operations that the target has.
fn names(arch: Arch, wave: WaveSize) -> impl Iterator<Item = String> {
    fn rows<T: Copy>(ops: &'static [T], row: fn(T) -> &'static Row) -> Vec<&'static Row> {
        ops.iter().map(|op| row(*op)).collect()
    }
    let mut all = vec![
        rows(Sop1Op::ALL, Sop1Op::row),
        rows(Sop2Op::ALL, Sop2Op::row),
        rows(SopcOp::ALL, SopcOp::row),
        rows(SopkOp::ALL, SopkOp::row),
        rows(SoppOp::ALL, SoppOp::row),
        rows(ScalarMemoryOp::ALL, ScalarMemoryOp::row),
        rows(ValuOp::ALL, ValuOp::row),
        rows(PackedOp::ALL, PackedOp::row),
        rows(InterpOp::ALL, InterpOp::row),
        rows(LdsOp::ALL, LdsOp::row),
        rows(FlatOp::ALL, FlatOp::row),
        rows(BufferOp::ALL, BufferOp::row),
        rows(TypedBufferOp::ALL, TypedBufferOp::row),
    ];
    if wave == WaveSize::Wave32 {
        all.push(rows(DualOp::ALL, DualOp::row));
    }
    let rows = all.into_iter().flatten();
    let rows = rows.filter(move |row| row.number(arch).is_some());
    rows.flat_map(move |row| {
        let name = row.name_on(arch.generation());
        let segments = [Flag::flat, Flag::global, Flag::scratch];
        let segments = segments.into_iter().filter(|flag| row.has(*flag));
        let mut names: Vec<_> = segments
            .map(|segment| name.replacen("flat", &format!("{segment:?}"), 1))
            .collect();
        // The first atomic operations on floats are for global memory only.
        let global = ["flat_atomic_add_f32", "flat_atomic_pk_add_f16"];
        let old = matches!(arch, Arch::Gfx908 | Arch::Gfx90a);
        names.retain(|name| !old || !global.contains(&name.as_str()));
        if !row.name.starts_with("flat_") {
            names.push(name.to_owned());
        }
        names
    })
}

fn run(arch: Arch, wave: WaveSize) {
    let Some(objdump) = llvm::objdump() else {
        return;
    };
    let factor = std::env::var("GCN_SWEEP").map_or(1, |factor| factor.parse().expect("a number"));
    let mut comparison = Comparison::default();
    compare(&objdump, Target { arch, wave }, 3 * factor, &mut comparison);
    comparison.check(&format!("{arch} {wave:?}"));
    let missing: Vec<_> = names(arch, wave)
        .filter(|name| !comparison.names.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "{arch}: not compared: {missing:?}");
}

#[test]
fn gfx906() {
    run(Arch::Gfx906, WaveSize::Wave64);
}

#[test]
fn gfx908() {
    run(Arch::Gfx908, WaveSize::Wave64);
}

#[test]
fn gfx90a() {
    run(Arch::Gfx90a, WaveSize::Wave64);
}

#[test]
fn gfx942() {
    run(Arch::Gfx942, WaveSize::Wave64);
}

#[test]
fn gfx1100() {
    run(Arch::Gfx1100, WaveSize::Wave32);
}

#[test]
fn gfx1100_wave64() {
    run(Arch::Gfx1100, WaveSize::Wave64);
}

#[test]
fn gfx1201() {
    run(Arch::Gfx1201, WaveSize::Wave32);
}

#[test]
fn gfx1201_wave64() {
    run(Arch::Gfx1201, WaveSize::Wave64);
}
