//! Damaged files: each is loaded, or rejected with a documented code, soon.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cudarc::driver::sys::{CUjitInputType, CUresult::*};
use test_fatbin::{Image, Stored, concatenated, write};

use crate::gpu::{Gpu, KERNELS, cu, is, works};
use crate::random::{Random, rounds};

/// Files, unless the environment asks for more.
const ROUNDS: u64 = 20_000;

/// No file takes as long.
const SLOW: Duration = Duration::from_secs(30);

/// The codes that NVIDIA documents for images that do not load.
const DOCUMENTED: [u32; 7] = [
    CUDA_SUCCESS as u32,
    CUDA_ERROR_INVALID_VALUE as u32,
    CUDA_ERROR_OUT_OF_MEMORY as u32,
    CUDA_ERROR_INVALID_IMAGE as u32,
    CUDA_ERROR_NO_BINARY_FOR_GPU as u32,
    CUDA_ERROR_INVALID_PTX as u32,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION as u32,
];

/// A text with directives and operands that the tests' kernels lack.
const MORE: &str = "
.version 8.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 list);
.global .align 1 .b8 text[4] = {37, 100, 10, 0};
.const .align 4 .f32 table[3] = {0f3F800000, 0f40000000, 0f40400000};
.global .align 8 .u64 address[2] = {generic(text), table};
.func (.param .align 8 .b8 out[16]) pair(.param .b32 in) { .reg .b32 %r;
  ld.param.u32 %r, [in]; st.param.v2.b32 [out+8], {%r, %r}; ret; }
.visible .entry more(.param .align 8 .b8 all[24]) .maxntid 64, 1, 1 {
  .local .align 8 .b8 depot[16]; .shared .align 4 .b8 part[256];
  .reg .pred %p<3>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<5>; .reg .f64 %e<3>;
  .loc 1 7 3
  mov.b64 %d0, depot; cvta.local.u64 %d1, %d0; ld.param.u64 %d2, [all+8];
  mov.u32 %r0, %tid.x; setp.lt.s32 %p0, %r0, 31; @!%p0 bra $end;
  { .reg .b32 t; mov.u32 t, 0x7F; add.s32 %r1, t, %r0; }
  call.uni (_), pair, (%r1);
  shfl.sync.down.b32 %r2|%p1, %r1, 16, 31, -1; vote.sync.ballot.b32 %r3, %p1, -1;
  cvt.rn.f32.s32 %f0, %r2; fma.rn.f32 %f1, %f0, 0f3F000000, %f0; sqrt.approx.f32 %f2, %f1; cvt.f64.f32 %e0, %f2;
  atom.global.cas.b32 %r4, [%d2], 0, %r3; bfe.u32 %r5, %r4, 3, 5; prmt.b32 %r6, %r5, %r4, 0x3210;
  lop3.b32 %r7, %r6, %r5, %r4, 0x96; mad.wide.u32 %d3, %r7, 4, %d2; st.volatile.global.v2.f32 [%d1], {%f1, %f2};
$list: .branchtargets $one, $end; brx.idx %r5, $list;
$one: bar.sync 0; red.shared.add.u32 [part], 1;
$end: ret; }
\0";

/// Files that load, or would if they were for this machine.
fn corpus() -> Vec<Vec<u8>> {
    let kernels = [KERNELS.as_bytes(), b"\0"].concat();
    let image = |bytes, kind, stored| Image {
        kind,
        arch: 60,
        version: (7, 0),
        flags: 1,
        identifier: b"a.cu",
        options: Some(b"-O3"),
        bytes,
        stored,
    };
    let mut files = vec![kernels.clone(), MORE.as_bytes().to_vec()];
    for stored in Stored::ALL {
        let text = image(&kernels, 1, stored);
        let code = image(
            b"\x7fELF\x02\x01\x01\x33\x07\0\0\0\0\0\0\0\x02\0\xbe\0",
            2,
            Stored::Plain,
        );
        files.push(write(&[code.entry(), text.entry()]));
        let members = [kernels.as_slice(), MORE.as_bytes()];
        let members = members.map(|bytes| image(bytes, 1, Stored::Plain));
        files.push(write(&[concatenated(&members, stored)]));
    }
    // ELF files of other machines: an x86-64 one, a big-endian one, and a cubin without sections.
    for (class, machine) in [
        (b"\x02\x01", b"\x3e\0"),
        (b"\x02\x02", b"\0\x15"),
        (b"\x02\x01", b"\xbe\0"),
    ] {
        let start = [
            b"\x7fELF",
            &class[..],
            b"\x01\0\0\0\0\0\0\0\0\0\x02\0",
            machine,
        ]
        .concat();
        files.push([start, vec![0; 64]].concat());
    }
    files
}

/// Changes some bytes, words or lines.
fn damage(random: &mut Random, file: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=random.below(4) * random.below(2) {
        let len = file.len();
        if len < 2 {
            return;
        }
        let (at, other) = (random.below(len), &others[random.below(others.len())]);
        match random.below(9) {
            0 => file.truncate(at),
            1 => file[at] ^= 1 << random.below(8),
            2 => file[at] = random.next() as u8,
            3 => {
                // A number at its place in a header.
                let values = [0, 1, 0x7fff_ffff, 0xffff_ffff, len as u64, random.next()];
                let value = values[random.below(values.len())].to_le_bytes();
                let (at, width) = (at & !3, [2, 4, 8][random.below(3)]);
                let end = (at + width).min(len);
                file[at..end].copy_from_slice(&value[..end - at]);
            }
            4 => {
                let end = (at + random.below(40)).min(len);
                file.drain(at..end);
            }
            5 => {
                let end = (at + random.below(200)).min(len);
                let copy = file[at..end].to_vec();
                file.splice(at..at, copy);
            }
            6 => {
                let from = random.below(other.len());
                let end = (from + random.below(200)).min(other.len());
                file.splice(at..at, other[from..end].iter().copied());
            }
            7 => {
                // A number in a text.
                let digit = file[at..].iter().position(u8::is_ascii_digit);
                let numbers = [
                    "0",
                    "-1",
                    "4294967296",
                    "99999999999999999999",
                    "0x",
                    "0f7FC00000",
                    "1000000",
                ];
                let number = numbers[random.below(numbers.len())];
                if let Some(digit) = digit {
                    file.splice(at + digit..=at + digit, number.bytes());
                }
            }
            _ => {
                // Two lines change places.
                let mut lines: Vec<_> = file
                    .split(|&byte| byte == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect();
                let (one, two) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(one, two);
                *file = lines.join(&b'\n');
            }
        }
    }
}

/// Asks for everything that is in a module, and unloads it.
fn examine(module: u64) {
    let (mut count, mut functions, mut value) = (0u32, [0u64; 8], 0i32);
    works(cu!(cuModuleGetFunctionCount(&raw mut count => *mut u32, module => u64)));
    let room = (count as usize).min(functions.len());
    works(cu!(cuModuleEnumerateFunctions(
        functions.as_mut_ptr() => *mut u64, room as u32 => u32, module => u64
    )));
    for &function in &functions[..room] {
        for attribute in 0..10 {
            works(cu!(cuFuncGetAttribute(
                &raw mut value => *mut i32, attribute => u32, function => u64
            )));
        }
    }
    works(cu!(cuModuleUnload(module => u64)));
}

/// Loads a file in one of the ways; returns the code.
fn load(way: usize, file: &[u8]) -> u32 {
    let (options, values): (*const u32, *mut *mut c_void) = (null(), null_mut());
    let (mut linker, mut module, mut library) = (0u64, 0u64, 0u64);
    match way {
        0 => {
            works(cu!(cuLinkCreate_v2(
                0 => u32, options => *const u32, values => *mut *mut c_void, &raw mut linker => *mut u64
            )));
            let kind = match file.first() {
                Some(0x50) => CUjitInputType::CU_JIT_INPUT_FATBINARY,
                Some(0x7f) => CUjitInputType::CU_JIT_INPUT_CUBIN,
                _ => CUjitInputType::CU_JIT_INPUT_PTX,
            };
            let (mut image, mut size): (*const c_void, usize) = (null(), 0);
            let mut code = cu!(cuLinkAddData_v2(
                linker => u64, kind as u32 => u32, file.as_ptr() => *const u8, file.len() => usize,
                c"a file".as_ptr() => *const i8, 0 => u32, options => *const u32, values => *mut *mut c_void
            ));
            if code == 0 {
                code = cu!(cuLinkComplete(
                    linker => u64, &raw mut image => *mut *const c_void, &raw mut size => *mut usize
                ));
            }
            if code == 0 {
                works(cu!(cuModuleLoadData(&raw mut module => *mut u64, image => *const c_void)));
                examine(module);
            }
            works(cu!(cuLinkDestroy(linker => u64)));
            code
        }
        1 => {
            let code = cu!(cuLibraryLoadData(
                &raw mut library => *mut u64, file.as_ptr() => *const u8, options => *const u32,
                values => *mut *mut c_void, 0 => u32, options => *const u32, values => *mut *mut c_void, 0 => u32
            ));
            if code == 0 {
                works(cu!(cuLibraryUnload(library => u64)));
            }
            code
        }
        _ => {
            let code =
                cu!(cuModuleLoadData(&raw mut module => *mut u64, file.as_ptr() => *const u8));
            if code == 0 {
                examine(module);
            }
            code
        }
    }
}

/// These ways get no size: a file must have its own, in a header that is right or by a zero byte.
fn has_its_size(file: &mut Vec<u8>) {
    const HEADER: usize = 16;
    if file.starts_with(&0xba55_ed50_u32.to_le_bytes()) {
        file.resize(file.len().max(HEADER), 0);
        let rest = (file.len() - HEADER) as u64;
        file[6..8].copy_from_slice(&(HEADER as u16).to_le_bytes());
        file[8..HEADER].copy_from_slice(&rest.to_le_bytes());
    }
    file.extend([0; 64]);
}

#[test]
fn damaged_files_are_loaded_or_rejected() {
    static ROUND: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| {
        let mut last = None;
        loop {
            let round = ROUND.load(Ordering::Relaxed);
            if round == u64::MAX {
                return;
            }
            if last == Some(round) {
                eprintln!("file {round} takes longer than {SLOW:?}");
                std::process::abort();
            }
            last = Some(round);
            std::thread::sleep(SLOW);
        }
    });
    let gpu = Gpu::with(false);
    let files = corpus();
    let mut loaded = 0u64;
    for round in 0..rounds(ROUNDS) {
        ROUND.store(round, Ordering::Relaxed);
        // Each round begins anew, so that one can be tried alone.
        let mut random = Random::new(round + 1);
        let mut file = files[random.below(files.len())].clone();
        if round >= files.len() as u64 {
            damage(&mut random, &mut file, &files);
        } else {
            file.clone_from(&files[round as usize]);
        }
        let way = random.below(3);
        if way > 0 {
            has_its_size(&mut file);
        }
        let code = load(way, &file);
        let text = String::from_utf8_lossy(&file);
        assert!(
            DOCUMENTED.contains(&code),
            "file {round}, way {way}: {code}: {text}"
        );
        loaded += u64::from(code == 0);
        let is_elf = files
            .get(round as usize)
            .map(|file| file.starts_with(b"\x7fELF"));
        match is_elf {
            Some(true) => is(code, CUDA_ERROR_NO_BINARY_FOR_GPU),
            Some(false) => assert_eq!(code, 0, "file {round}, way {way}"),
            None => {}
        }
    }
    ROUND.store(u64::MAX, Ordering::Relaxed);
    assert!(loaded > files.len() as u64, "{loaded} files were loaded");
    let (mut free, mut total) = (0usize, 0usize);
    works(cu!(cuMemGetInfo_v2(&raw mut free => *mut usize, &raw mut total => *mut usize)));
    assert_eq!(free, total, "modules that were unloaded hold memory");
    drop(gpu);
}

/// Files of other kinds, such as text, are no images.
#[test]
fn other_files_are_rejected() {
    let _gpu = Gpu::new();
    for file in [
        &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..],
        b"",
        b"\0\0\0\0",
        b"\x50\xed\x55\xba",
    ] {
        let code = load(0, file);
        assert!(DOCUMENTED[1..].contains(&code), "{file:?}: {code}");
    }
    let mut module = 0u64;
    is(
        cu!(cuModuleLoad(&raw mut module => *mut u64, c"/nonexistent".as_ptr() => *const i8)),
        CUDA_ERROR_FILE_NOT_FOUND,
    );
}
