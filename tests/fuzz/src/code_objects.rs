//! Code objects of AMD GPUs, and their instructions.

use gcn_emu::{Arch, Target as GcnTarget, WaveSize, decode};
use revoff_host::targets::code_object;
use revoff_host::targets::code_object::program::Program;
use test_elf::{File, Symbol, metadata_note};

use super::Target;

/// Metadata: targets and kernels.
pub(super) const METADATA: Target = Target {
    name: "code-object-metadata",
    run: |bytes| {
        for kernel in code_object::read(bytes).map_or(vec![], |object| object.kernels) {
            let _ = kernel.parameters().count();
        }
    },
    seeds: || seeds()[..1].to_vec(),
    is_valid: |bytes| code_object::read(bytes).is_ok_and(|object| object.kernels.len() == 1),
};

/// Segments, symbols and relocations, as the loader takes them.
pub(super) const PROGRAM: Target = Target {
    name: "code-object-program",
    run: |bytes| {
        let Ok(program) = Program::read(bytes) else {
            return;
        };
        let (start, size) = program.span();
        assert!(start.checked_add(size).is_some());
        for segment in &program.segments {
            assert!(start <= segment.address && segment.address + segment.size <= start + size);
            assert!(segment.bytes.len() as u64 <= segment.size);
            let _ = program.descriptor(segment.address);
        }
        for relocation in &program.relocations {
            let place = program.segment(relocation.address, relocation.kind.size());
            assert!(place.is_some(), "a relocation outside of the segments");
        }
    },
    seeds: || seeds()[..1].to_vec(),
    is_valid: |bytes| Program::read(bytes).is_ok(),
};

/// Instructions of an architecture that the first byte chooses.
pub(super) const INSTRUCTIONS: Target = Target {
    name: "gcn-instructions",
    run: |bytes| {
        count_instructions(bytes);
    },
    seeds: instructions,
    is_valid: |bytes| count_instructions(bytes) >= 6,
};

/// The number of instructions that are decoded; of the words of others, the next one is tried.
fn count_instructions(bytes: &[u8]) -> usize {
    let Some((&choice, code)) = bytes.split_first() else {
        return 0;
    };
    let arch = Arch::ALL[usize::from(choice >> 1) % Arch::ALL.len()];
    let wave = [WaveSize::Wave32, WaveSize::Wave64][usize::from(choice & 1)];
    let target = GcnTarget { arch, wave };
    let words = code.chunks_exact(4);
    let words: Vec<_> = words
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    let (mut at, mut count) = (0, 0);
    while at < words.len() {
        match decode(target, at as u64 * 4, &words[at..]) {
            Ok(inst) => {
                let end = at + inst.words as usize;
                let alone = decode(target, at as u64 * 4, &words[at..end]);
                let text = inst.to_string();
                let alone = alone.map(|inst| inst.to_string());
                assert_eq!(alone.as_deref(), Ok(&*text), "later words count");
                (at, count) = (end, count + 1);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                at += 1;
            }
        }
    }
    count
}

/// Code objects: one with metadata, data, and a kernel's symbols, and one with nothing.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    // {"amdhsa.version": [1, 2], "amdhsa.target": "..", "amdhsa.kernels": [{".name": "k", ".symbol": "k.kd",
    // ".kernarg_segment_size": 8, ".args": [{".size": 8, ".offset": 0, ".value_kind": "by_value"}]}]}
    let text = |text: &str| [&[0xa0 | text.len() as u8], text.as_bytes()].concat();
    let target = "amdgcn-amd-amdhsa--gfx90a";
    let metadata = [
        vec![0x83],
        text("amdhsa.version"),
        vec![0x92, 1, 2],
        text("amdhsa.target"),
        text(target),
        text("amdhsa.kernels"),
        vec![0x91, 0x84],
        text(".name"),
        text("k"),
        text(".symbol"),
        text("k.kd"),
        text(".kernarg_segment_size"),
        vec![8],
        text(".args"),
        vec![0x91, 0x83],
        text(".size"),
        vec![8],
        text(".offset"),
        vec![0],
        text(".value_kind"),
        text("by_value"),
    ]
    .concat();
    let notes = metadata_note(&metadata);
    let symbols = [
        Symbol {
            name: "k.kd",
            info: 0x11,
            other: 3,
            value: 0x1000,
            size: 64,
        },
        Symbol {
            name: "k",
            info: 0x12,
            other: 3,
            value: 0x1040,
            size: 4,
        },
    ];
    let mut data = [0; 128];
    data[64..68].copy_from_slice(&S_ENDPGM.to_le_bytes());
    let file = File {
        flags: GFX90A,
        address: 0x1000,
        data: &data,
        zeros: 64,
        notes: &notes,
        symbols: &symbols,
        ..File::code_object(4)
    };
    let plain = File::code_object(3);
    vec![file.write(), plain.write()]
}

/// The flags of a file for gfx90a.
const GFX90A: u32 = 0x3f;

/// The end of a kernel, on every architecture before gfx1100.
const S_ENDPGM: u32 = 0xbf81_0000;

/// One instruction each of several encodings, for each architecture.
fn instructions() -> Vec<Vec<u8>> {
    let words: [u32; 16] = [
        S_ENDPGM,    // SOPP
        0x8000_0201, // SOP2
        0xbe80_0001, // SOP1
        0xb000_0001, // SOPK
        0xbf00_0201, // SOPC
        0x7e00_0300, // VOP1
        0x0200_0501, // VOP2
        0x7c00_0501, // VOPC
        0xd100_0000, // VOP3
        0x0000_0501, // its second word
        0xd386_4000, // VOP3P
        0x1c0a_0501, //
        0xd800_0000, // DS
        0x0000_0001, //
        0xdc50_8000, // FLAT
        0x007f_0001, //
    ];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let choices = 0..2 * Arch::ALL.len() as u8;
    choices
        .map(|choice| [&[choice], &code[..]].concat())
        .collect()
}
