//! A code object with kernels for gfx90a.

use std::sync::LazyLock;

use test_elf::{File, Symbol};

/// The names of its descriptors, and one that is missing.
pub(super) const NAMES: [&std::ffi::CStr; 5] = [
    c"store.kd",
    c"spin.kd",
    c"bad.kd",
    c"empty.kd",
    c"missing.kd",
];

/// The flags of a file for gfx90a.
const GFX90A: u32 = 0x3f;

/// Where its memory begins, and the distances of descriptors and of functions.
const START: u64 = 0x1000;
const DESCRIPTOR: usize = 64;
const FUNCTION: usize = 64;

/// As LLVM 22 assembles them.
#[rustfmt::skip] // An instruction on a line.
const FUNCTIONS: [&[u32]; 4] = [
    // Stores each lane's number to where the first argument points.
    &[
        0xc006_0100, 0x0000_0000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
        0x2404_0082, // v_lshlrev_b32_e32 v2, 2, v0
        0xbf8c_c07f, // s_waitcnt lgkmcnt(0)
        0xdc70_8000, 0x0004_0002, // global_store_dword v2, v0, s[4:5]
        0xbf8c_0f70, // s_waitcnt vmcnt(0)
        0xbf81_0000, // s_endpgm
    ],
    // Loops for ever.
    &[0xbf82_ffff], // s_branch -1
    // No instruction.
    &[0xffff_ffff],
    // Ends.
    &[0xbf81_0000], // s_endpgm
];

/// The code object.
pub(super) static CODE_OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let code = FUNCTIONS.len() * DESCRIPTOR;
    let mut data = vec![0; code + FUNCTIONS.len() * FUNCTION];
    let mut put = |at: usize, word: u32| data[at..at + 4].copy_from_slice(&word.to_le_bytes());
    for (number, words) in FUNCTIONS.iter().enumerate() {
        let (descriptor, function) = (number * DESCRIPTOR, code + number * FUNCTION);
        // Bytes of arguments, the distance of the code, 128 registers, 2 scalar registers of user data, which are the
        // address of the arguments, and the number of the workgroup.
        for (at, word) in [
            (8, 16),
            (16, (function - descriptor) as u32),
            (44, 0x0f),
            (48, 0x000f_030f),
            (52, 2 << 1 | 1 << 7),
            (56, 1 << 3),
        ] {
            put(descriptor + at, word);
        }
        for (at, &word) in words.iter().enumerate() {
            put(function + 4 * at, word);
        }
    }
    let symbols: Vec<_> = NAMES[..FUNCTIONS.len()]
        .iter()
        .zip((START..).step_by(DESCRIPTOR))
        .map(|(name, value)| Symbol {
            name: name.to_str().expect("ASCII"),
            info: 0x11,
            other: 3,
            value,
            size: DESCRIPTOR as u64,
        })
        .collect();
    let file = File {
        flags: GFX90A,
        address: START,
        data: &data,
        symbols: &symbols,
        ..File::code_object(4)
    };
    let mut file = file.write();
    // The flags of the first segment: executable, too.
    file[FIRST_SEGMENT + 4] = 7;
    file
});

/// The header of the first segment.
const FIRST_SEGMENT: usize = 64;
