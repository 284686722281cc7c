//! Code objects of AMD GPUs, and their instructions.

use gcn_emu::{Arch, Generation, Target as GcnTarget, WaveSize, decode};
use revoff_host::targets::code_object;
use revoff_host::targets::code_object::program::Program;
use test_elf::{File, Symbol, metadata_note};

use crate::target::Target;

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
    cost: 1,
    tally: None,
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
    cost: 1,
    tally: None,
};

/// Instructions of an architecture that the first byte chooses.
pub(super) const INSTRUCTIONS: Target = Target {
    name: "gcn-instructions",
    run: |bytes| {
        count_instructions(bytes);
    },
    seeds: instructions,
    is_valid: |bytes| count_instructions(bytes) >= 19,
    cost: 1,
    tally: None,
};

/// The target that the first byte chooses, and its code.
pub(super) fn choose(bytes: &[u8]) -> Option<(GcnTarget, &[u8])> {
    let (&choice, code) = bytes.split_first()?;
    let arch = Arch::ALL[usize::from(choice >> 1) % Arch::ALL.len()];
    let wave = [WaveSize::Wave32, WaveSize::Wave64][usize::from(choice & 1)];
    Some((GcnTarget { arch, wave }, code))
}

/// The number of instructions that are decoded; of the words of others, the next one is tried.
fn count_instructions(bytes: &[u8]) -> usize {
    let Some((target, code)) = choose(bytes) else {
        return 0;
    };
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

/// Instructions of several encodings and the end of a kernel, for each architecture.
pub(super) fn instructions() -> Vec<Vec<u8>> {
    let choices = 0..2 * Arch::ALL.len() as u8;
    let seed = |choice: u8| {
        let (target, _) = choose(&[choice])?;
        let is_wide = target.wave == WaveSize::Wave64;
        let words: &[u32] = match target.arch.generation() {
            // It has no narrow waves.
            Generation::Gfx9 if !is_wide => return None,
            Generation::Gfx9 => &GFX9,
            Generation::Gfx11 => &GFX11,
            Generation::Gfx12 => &GFX12,
        };
        let code = words.iter().flat_map(|word| word.to_le_bytes());
        Some([choice].into_iter().chain(code).collect())
    };
    choices.filter_map(seed).collect()
}

/// As LLVM 22 assembles them for gfx906.
#[rustfmt::skip] // An instruction on a line.
const GFX9: [u32; 27] = [
    0xbe94_00ff, 0x0000_1234, // s_mov_b32 s20, 0x1234
    0x8014_8414, // s_add_u32 s20, s20, 4
    0xbf07_8014, // s_cmp_lg_u32 s20, 0
    0xb015_0010, // s_movk_i32 s21, 0x10
    0x7e02_0280, // v_mov_b32_e32 v1, 0
    0x6804_0300, // v_add_u32_e32 v2, v0, v1
    0x2404_0482, // v_lshlrev_b32_e32 v2, 2, v2
    0x7d92_0500, // v_cmp_lt_u32_e32 vcc, v0, v2
    0xd285_0003, 0x0002_0500, // v_mul_lo_u32 v3, v0, v2
    0xd1cb_0004, 0x040e_0500, // v_fma_f32 v4, v0, v2, v3
    0xd38f_4005, 0x1802_0704, // v_pk_add_f16 v5, v4, v3
    0xd81a_0000, 0x0000_0501, // ds_write_b32 v1, v5
    0xbf8c_c07f, // s_waitcnt lgkmcnt(0)
    0xd86c_0000, 0x0600_0001, // ds_read_b32 v6, v1
    0xbf8c_c07f, // s_waitcnt lgkmcnt(0)
    0xbf8a_0000, // s_barrier
    0xd289_0016, 0x0001_0706, // v_readlane_b32 s22, v6, 3
    0x7e0e_02fa, 0xff01_1106, // v_mov_b32_dpp v7, v6 row_shr:1 row_mask:0xf bank_mask:0xf
    0xbf81_0000, // s_endpgm
];

/// For gfx1100.
#[rustfmt::skip] // An instruction on a line.
const GFX11: [u32; 27] = [
    0xbe94_00ff, 0x0000_1234, // s_mov_b32 s20, 0x1234
    0x8014_8414, // s_add_u32 s20, s20, 4
    0xbf07_8014, // s_cmp_lg_u32 s20, 0
    0xb015_0010, // s_movk_i32 s21, 0x10
    0x7e02_0280, // v_mov_b32_e32 v1, 0
    0x4a04_0300, // v_add_nc_u32_e32 v2, v0, v1
    0x3004_0482, // v_lshlrev_b32_e32 v2, 2, v2
    0x7c92_0500, // v_cmp_lt_u32_e32 vcc_lo, v0, v2
    0xd72c_0003, 0x0002_0500, // v_mul_lo_u32 v3, v0, v2
    0xd613_0004, 0x040e_0500, // v_fma_f32 v4, v0, v2, v3
    0xcc0f_4005, 0x1802_0704, // v_pk_add_f16 v5, v4, v3
    0xd834_0000, 0x0000_0501, // ds_store_b32 v1, v5
    0xbf89_fc07, // s_waitcnt lgkmcnt(0)
    0xd8d8_0000, 0x0600_0001, // ds_load_b32 v6, v1
    0xbf89_fc07, // s_waitcnt lgkmcnt(0)
    0xbfbd_0000, // s_barrier
    0xd760_0016, 0x0001_0706, // v_readlane_b32 s22, v6, 3
    0x7e0e_02fa, 0xff01_1106, // v_mov_b32_dpp v7, v6 row_shr:1 row_mask:0xf bank_mask:0xf
    0xbfb0_0000, // s_endpgm
];

/// For gfx1201.
#[rustfmt::skip] // An instruction on a line.
const GFX12: [u32; 28] = [
    0xbe94_00ff, 0x0000_1234, // s_mov_b32 s20, 0x1234
    0x8014_8414, // s_add_co_u32 s20, s20, 4
    0xbf07_8014, // s_cmp_lg_u32 s20, 0
    0xb015_0010, // s_movk_i32 s21, 0x10
    0x7e02_0280, // v_mov_b32_e32 v1, 0
    0x4a04_0300, // v_add_nc_u32_e32 v2, v0, v1
    0x3004_0482, // v_lshlrev_b32_e32 v2, 2, v2
    0x7c92_0500, // v_cmp_lt_u32_e32 vcc_lo, v0, v2
    0xd72c_0003, 0x0002_0500, // v_mul_lo_u32 v3, v0, v2
    0xd613_0004, 0x040e_0500, // v_fma_f32 v4, v0, v2, v3
    0xcc0f_4005, 0x1802_0704, // v_pk_add_f16 v5, v4, v3
    0xd834_0000, 0x0000_0501, // ds_store_b32 v1, v5
    0xbfc6_0000, // s_wait_dscnt 0x0
    0xd8d8_0000, 0x0600_0001, // ds_load_b32 v6, v1
    0xbfc6_0000, // s_wait_dscnt 0x0
    0xbe80_4ec1, // s_barrier_signal -1
    0xbf94_ffff, // s_barrier_wait 0xffff
    0xd760_0016, 0x0001_0706, // v_readlane_b32 s22, v6, 3
    0x7e0e_02fa, 0xff01_1106, // v_mov_b32_dpp v7, v6 row_shr:1 row_mask:0xf bank_mask:0xf
    0xbfb0_0000, // s_endpgm
];
