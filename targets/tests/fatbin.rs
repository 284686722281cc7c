//! Fatbins: reading, broken bytes, and NVIDIA's tool.

use std::borrow::Cow;
use std::io::Write;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use targets::DeviceArch;
use targets::choose::{Candidate, choose};
use targets::fatbin::{
    Compression, Entry, Flags, HEADER, Kind, MAGIC, MAX_SIZE, Wrapper, is_fatbin, read, whole_size,
};
use targets::offload_binary::ImageKind;
use test_fatbin::{Image, Stored, concatenated, write as fatbin};

/// A text that compresses well.
const TEXT: &[u8] = b".version 8.0\n.target sm_70\n\
    .visible .entry one() { ret; }\n.visible .entry two() { ret; }\n.visible .entry six() { ret; }\n\0";

const PTX: Image<'_> = Image {
    kind: 1,
    arch: 70,
    version: (8, 0),
    flags: 0x11,
    identifier: b"hello.cu",
    options: Some(b"-O3"),
    bytes: TEXT,
    stored: Stored::Plain,
};

const CUBIN: Image<'_> = Image {
    kind: 2,
    arch: 90,
    version: (1, 7),
    flags: 0x10_0011,
    identifier: b"",
    options: None,
    bytes: b"\x7fELF with machine code, machine code, machine code and machine code",
    stored: Stored::Plain,
};

/// The files of most tests: images in each form.
fn files() -> Vec<Vec<u8>> {
    let in_form = |stored| {
        let images = [PTX, CUBIN].map(|image| Image { stored, ..image });
        fatbin(&images.map(|image| image.entry()))
    };
    let together = |stored| {
        let newer = Image { arch: 80, ..PTX };
        fatbin(&[CUBIN.entry(), concatenated(&[PTX, newer], stored)])
    };
    let all = Stored::ALL.into_iter();
    all.flat_map(|stored| [in_form(stored), together(stored)])
        .collect()
}

fn with(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Kind, architecture, and the image or the reason why it cannot be decompressed.
type Contents<'a> = (Kind, String, Result<Cow<'a, [u8]>, String>);

fn contents<'a>(entry: &Entry<'a>) -> Contents<'a> {
    let image = entry.decompress().map_err(|error| error.to_string());
    (entry.kind, entry.sm.to_string(), image)
}

#[track_caller]
fn refused(file: &[u8], offset: usize, words: &[&str]) {
    let error = read(file).expect_err("a broken file");
    assert_eq!(error.offset, offset, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

/// The file is readable, but not its first payload.
#[track_caller]
fn does_not_decompress(file: &[u8], offset: usize, words: &[&str]) {
    let entries = read(file).expect("a readable file");
    let error = entries[0].decompress().expect_err("a broken payload");
    assert_eq!(error.offset, offset, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn entries_are_read() {
    let text = &TEXT[..TEXT.len() - 1];
    for (stored, compression) in [
        (Stored::Plain, None),
        (Stored::Lz4, Some(Compression::Lz4)),
        (Stored::Zstd, Some(Compression::Zstd)),
    ] {
        let images = [PTX, CUBIN].map(|image| Image { stored, ..image });
        let file = fatbin(&images.map(|image| image.entry()));
        assert!(is_fatbin(&file));
        let entries = read(&file).expect("a good file");
        let [ptx, cubin] = &entries[..] else {
            panic!("{entries:?}")
        };

        assert_eq!((ptx.kind, ptx.sm.to_string()), (Kind::PTX, "sm_70".into()));
        assert_eq!((ptx.code_version, ptx.offset), ((8, 0), HEADER));
        assert_eq!(
            (ptx.identifier, ptx.options),
            (&b"hello.cu"[..], &b"-O3"[..])
        );
        assert_eq!(ptx.compression, compression);
        assert!(ptx.flags.has(Flags::BITS_64) && !ptx.flags.has(Flags::DEBUG));
        assert_eq!(ptx.triple(), "nvptx64-nvidia-cuda");
        assert_eq!(ptx.decompress().as_deref(), Ok(text));

        assert_eq!(
            (cubin.kind, cubin.sm.to_string()),
            (Kind::CUBIN, "sm_90a".into())
        );
        assert_eq!((cubin.code_version, cubin.options), ((1, 7), &b""[..]));
        assert!(cubin.identifier.is_empty());
        let image = cubin.decompress().expect("the image");
        if stored == Stored::Plain {
            assert!(image.len().is_multiple_of(8) && image.starts_with(CUBIN.bytes));
            assert!(matches!(image, Cow::Borrowed(_)));
        } else {
            assert_eq!(image, CUBIN.bytes);
            assert_eq!(cubin.size, CUBIN.bytes.len() as u64);
            assert!(ptx.payload.len() < text.len());
        }
    }
}

#[test]
fn entries_compressed_together_are_read() {
    let other = Image {
        arch: 100,
        flags: 0x20_0011,
        identifier: b"a longer name.cu",
        bytes: b".version 8.8\n.target sm_100f\n\0",
        ..PTX
    };
    let bare = Image {
        identifier: b"",
        options: None,
        ..PTX
    };
    for (stored, compression) in [
        (Stored::Plain, None),
        (Stored::Lz4, Some(Compression::Lz4)),
        (Stored::Zstd, Some(Compression::Zstd)),
    ] {
        let file = fatbin(&[
            concatenated(&[PTX, other, bare], stored),
            CUBIN.entry(),
            concatenated(&[], stored),
        ]);
        let entries = read(&file).expect("a good file");
        let kinds: Vec<_> = entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [Kind::PTX, Kind::PTX, Kind::PTX, Kind::CUBIN]);
        for (entry, image) in entries.iter().zip([PTX, other, bare]) {
            assert_eq!(entry.compression, compression);
            assert_eq!(entry.sm.number, image.arch);
            assert_eq!(entry.identifier, image.identifier);
            assert_eq!(entry.options, image.options.unwrap_or_default());
            let text = image.bytes.strip_suffix(b"\0");
            assert_eq!(entry.decompress().ok().as_deref(), text);
        }
        assert_eq!(entries[1].sm.to_string(), "sm_100f");
    }
    // A thread-safe type, although members share their decompressed bytes.
    fn sendable<T: Send + Sync>(_: &T) {}
    sendable(&read(&files()[5]));
}

#[test]
fn a_file_may_contain_several_fatbins() {
    let [first, second] = [fatbin(&[PTX.entry()]), fatbin(&[CUBIN.entry()])];
    for padding in [0, 8, 24] {
        let file = [&first[..], &vec![0; padding], &second, &vec![0; padding]].concat();
        let entries = read(&file).expect("a good file");
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].offset, first.len() + padding + HEADER);
        let at = first.len() + padding;
        refused(&with(file, at + 4, &[9]), at + 4, &["version 9"]);
    }
    let file = [&first[..], b"junk that is longer than a header"].concat();
    refused(&file, first.len(), &["magic", "[6a, 75, 6e, 6b]"]);
    assert!(read(&fatbin(&[])).is_ok_and(|entries| entries.is_empty()));
}

#[test]
fn the_header_tells_the_size() {
    let file = fatbin(&[PTX.entry()]);
    let header = |file: &[u8]| file[..HEADER].try_into().expect("a header");
    assert_eq!(whole_size(&header(&file)), Ok(file.len()));
    for size in [u64::MAX, u64::MAX - 15, i64::MAX as u64 - 15] {
        let error = whole_size(&header(&with(file.clone(), 8, &size.to_le_bytes())));
        let error = error.expect_err("too large");
        assert_eq!(error.offset, 8);
        assert!(error.reason.contains(&format!("{size:#x}")), "{error}");
    }
    assert!(whole_size(&[0; HEADER]).is_err());
}

#[test]
fn the_wrapper_has_the_layout_of_the_header_file() {
    assert_eq!(offset_of!(Wrapper, magic), 0);
    assert_eq!(offset_of!(Wrapper, version), 4);
    assert_eq!(offset_of!(Wrapper, data), 8);
    assert_eq!(
        offset_of!(Wrapper, filename_or_fatbins),
        8 + size_of::<usize>()
    );
}

#[test]
fn the_best_entry_is_chosen() {
    let file = fatbin(&[
        PTX.entry(),
        Image { arch: 80, ..PTX }.entry(),
        CUBIN.entry(),
        Image { kind: 8, ..CUBIN }.entry(),
    ]);
    let entries = read(&file).expect("a good file");
    let names: Vec<_> = entries.iter().map(|entry| entry.sm.to_string()).collect();
    let candidates: Vec<_> = entries
        .iter()
        .zip(&names)
        .map(|(entry, arch)| Candidate {
            triple: entry.triple(),
            arch,
            kind: entry.image_kind(),
        })
        .collect();
    assert_eq!(candidates[3].kind, ImageKind::NONE);
    for (device, best) in [("sm_75", 0), ("sm_86", 1), ("sm_90", 2), ("sm_100", 1)] {
        let device: DeviceArch = device.parse().expect("an architecture");
        assert_eq!(choose(&device, &candidates), Ok(best));
    }
}

#[test]
fn broken_files_are_refused_with_the_place() {
    refused(b"", 0, &["empty"]);
    refused(
        b"\x7fELF",
        0,
        &["the header: 16 bytes, but only 4 are left"],
    );
    refused(&[0; HEADER], 0, &["[00, 00, 00, 00]", "magic"]);
    refused(&MAGIC, 0, &["the header"]);
    let good = || fatbin(&[CUBIN.entry(), PTX.entry()]);
    let second = read(&good()).expect("good")[1].offset;
    let at = |offset: usize| second + offset;
    let len = good().len();
    refused(&with(good(), 4, &[2]), 4, &["version 2", "1, the only"]);
    refused(&with(good(), 6, &[15]), 6, &["15 bytes", "16 bytes"]);
    refused(
        &with(good(), 10, &[1]),
        0,
        &["the fatbin", &len.to_string()],
    );
    refused(&with(good(), 8, &[63, 0]), 16, &["an entry's header: 64"]);
    refused(
        &with(good(), at(4), &[63]),
        at(4),
        &["63 bytes", "64 bytes"],
    );
    refused(
        &with(good(), at(6), &[1]),
        at(0),
        &["an entry's header: 656"],
    );
    refused(&with(good(), at(10), &[1]), at(96), &["a payload: 65"]);
    refused(&with(good(), at(8), &[255; 8]), at(96), &["a payload: 184"]);
    refused(
        &with(good(), at(32), &[90]),
        at(90),
        &["the identifier: 8 b"],
    );
    refused(
        &with(good(), at(37), &[1]),
        at(64),
        &["the identifier: 264"],
    );
    refused(
        &with(good(), at(20), &[89]),
        at(89),
        &["the options' offset"],
    );
    refused(&with(good(), at(80), &[94]), at(94), &["the options: 3"]);

    let compressed = || {
        fatbin(&[Image {
            stored: Stored::Lz4,
            ..PTX
        }
        .entry()])
    };
    let stored = with(compressed(), 16 + 19, &[1]);
    refused(&stored, 16 + 16, &["1677", "exceeds the payload's"]);
}

#[test]
fn broken_members_are_refused_with_the_place() {
    let good = || fatbin(&[concatenated(&[PTX, PTX], Stored::Lz4)]);
    let member = 16 + 64 + 8;
    let other = member + 96;
    refused(
        &with(good(), 16 + 20, &[6, 1]),
        16 + 262,
        &["the number of"],
    );
    refused(&with(good(), 16 + 64, &[3]), other + 96, &["64 bytes"]);
    refused(
        &with(good(), 16 + 68, &[201]),
        16 + 64,
        &["the members: 201"],
    );
    refused(
        &with(good(), member + 41, &[0x20]),
        member,
        &["flags 0x2011"],
    );
    let together = with(with(good(), member, &[0]), member + 1, &[1]);
    refused(&together, member, &["kind 256"]);
    refused(&with(good(), other + 4, &[1, 0]), other + 4, &["at 1 "]);
    refused(
        &with(good(), other + 15, &[1]),
        other + 4,
        &["a member of 72"],
    );
    refused(
        &with(good(), other + 8, &[255; 8]),
        other + 4,
        &["a member"],
    );
}

#[test]
fn broken_payloads_are_refused() {
    let unknown = |flag: u64| {
        fatbin(&[Image {
            flags: 0x11 | flag,
            ..PTX
        }
        .entry()])
    };
    for flag in [0x1000_u64, 0x4000, 0x3000, 0xa000, 0x6000] {
        let words = [&format!("flags {flag:#x}"), "pack it again"];
        does_not_decompress(&unknown(flag), 16 + 40, &words);
    }
    for (stored, name) in [(Stored::Lz4, "LZ4"), (Stored::Zstd, "zstd")] {
        let good = || fatbin(&[Image { stored, ..PTX }.entry()]);
        let payload = 16 + 96;
        let size = |size: u64| with(good(), 16 + 56, &size.to_le_bytes());
        let len = TEXT.len() as u64;
        for huge in [MAX_SIZE + 1, u64::MAX] {
            let words = [&*huge.to_string(), "supported up to", name];
            does_not_decompress(&size(huge), 16 + 56, &words);
        }
        does_not_decompress(&size(len + 1), 16 + 56, &["has fewer bytes"]);
        does_not_decompress(&size(len - 1), 16 + 56, &["has more bytes"]);
        does_not_decompress(
            &with(good(), payload, &[255; 8]),
            16,
            &["invalid", name, "payload"],
        );
        let stored = read(&good()).expect("good")[0].payload.len() as u32;
        for stored in [0, 1, stored - 1, stored + 1] {
            let file = with(good(), 16 + 16, &stored.to_le_bytes());
            assert!(
                read(&file).is_err() || read(&file).is_ok_and(|e| e[0].decompress().is_err()),
                "{name}, {stored} bytes"
            );
        }
    }
}

/// A small file that states a large size must not cost memory. The largest that it may state is in
/// proportion to the payload.
#[test]
fn the_stated_size_is_limited_by_the_payload() {
    // Repeats a zero byte: Stored::Lz4's length bytes of 255, zstd's block of one repeated byte.
    let lz4: Vec<u8> = [&b"\x1f\0\x01\0"[..], &[255; 1000], b"\0\x50\0\0\0\0\0"].concat();
    let lz4_size = 1 + 19 + 255 * 1000 + 5;
    let block = |last: u32| (((128 << 10) << 3) | (1 << 1) | last).to_le_bytes();
    let zstd = [
        &b"\x28\xb5\x2f\xfd\0\x38"[..],
        &block(0)[..3],
        b"a",
        &block(1)[..3],
        b"a",
    ]
    .concat();
    for (flag, payload, size) in [(0x2000_u64, lz4, lz4_size), (0x8000, zstd, 2 << 17)] {
        let image = |size: u64| {
            let file = fatbin(&[Image {
                kind: 2,
                flags: 0x11 | flag,
                bytes: &payload,
                ..PTX
            }
            .entry()]);
            let file = with(file, 16 + 16, &(payload.len() as u32).to_le_bytes());
            with(file, 16 + 56, &size.to_le_bytes())
        };
        let file = image(size);
        let entries = read(&file).expect("readable");
        let decompressed = entries[0].decompress().expect("a valid payload");
        assert_eq!(decompressed.len() as u64, size);
        does_not_decompress(&image(size * 8), 16 + 56, &["supported up to"]);
        does_not_decompress(&image(size - 1), 16 + 56, &["more bytes"]);
        does_not_decompress(&image(size + 1), 16 + 56, &["fewer bytes"]);
    }
    // A frame that asks for a window of 1 GiB.
    let file = fatbin(&[Image {
        stored: Stored::Zstd,
        ..PTX
    }
    .entry()]);
    let window = with(file, 16 + 96, b"\x28\xb5\x2f\xfd\0\xa0");
    does_not_decompress(&window, 16, &["zstd"]);
}

#[test]
fn cut_off_files() {
    for file in files() {
        let good = read(&file).expect("a good file").len();
        assert!(good > 1);
        for len in 0..file.len() {
            assert!(read(&file[..len]).is_err(), "{len} of {}", file.len());
            // The same with a header that states the shorter size.
            if let Some(size) = len.checked_sub(HEADER) {
                let short = with(file[..len].to_vec(), 8, &(size as u64).to_le_bytes());
                let entries = read(&short).map_or(0, |entries| entries.len());
                assert!(entries < good, "{len} of {}", file.len());
            }
        }
    }
}

/// The outcomes of reading changed files.
#[derive(Debug, Default)]
struct Outcomes {
    same: u32,
    errors: u32,
    broken_payloads: u32,
    others: u32,
}

impl Outcomes {
    fn total(&self) -> u32 {
        self.same + self.errors + self.broken_payloads + self.others
    }

    /// Reads `file` and decompresses its entries. Work and memory are bounded.
    fn count(&mut self, file: &[u8], good: &[Contents<'_>]) {
        let Ok(entries) = read(file) else {
            self.errors += 1;
            return;
        };
        assert!(entries.len() <= file.len() / 64);
        let found: Vec<_> = entries.iter().map(contents).collect();
        for (_, _, image) in &found {
            assert!(image.as_ref().map_or(0, |image| image.len()) as u64 <= MAX_SIZE);
        }
        if found == good {
            self.same += 1;
        } else if found.iter().any(|(_, _, image)| image.is_err()) {
            self.broken_payloads += 1;
        } else {
            self.others += 1;
        }
    }
}

/// A wrong byte causes at worst an error or other entries.
#[test]
fn wrong_bytes() {
    for file in files() {
        let entries = read(&file).expect("a good file");
        let good: Vec<_> = entries.iter().map(contents).collect();
        assert!(good.iter().all(|(_, _, image)| image.is_ok()));
        let mut outcomes = Outcomes::default();
        for (at, &byte) in file.iter().enumerate() {
            let bits = (0..8).map(|bit| byte ^ 1 << bit);
            let values = [0, 127, 128, 255, byte.wrapping_add(1), byte.wrapping_sub(1)];
            for value in bits.chain(values) {
                outcomes.count(&with(file.clone(), at, &[value]), &good);
            }
        }
        assert_eq!(outcomes.total(), file.len() as u32 * 14);
        let Outcomes {
            errors,
            broken_payloads,
            others,
            ..
        } = outcomes;
        assert!(errors > 500 && others > 200, "{outcomes:?}");
        let is_compressed = entries[1].compression.is_some();
        assert_eq!(broken_payloads > 200, is_compressed, "{outcomes:?}");
    }
}

/// The same for several changes at once: random bytes, extreme words, copied and removed parts.
#[test]
fn random_changes() {
    const ROUNDS: u32 = 10_000;
    let mut state = 0x5eed_u64;
    let mut random = |below: usize| {
        // Numerical Recipes' generator; its upper bits are the better ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    const WORDS: [u32; 6] = [0, 1, 64, 0xffff, 0x7fff_ffff, 0xffff_ffff];
    for file in files() {
        let entries = read(&file).expect("a good file");
        let good: Vec<_> = entries.iter().map(contents).collect();
        let mut outcomes = Outcomes::default();
        for _ in 0..ROUNDS {
            let mut changed = file.clone();
            for _ in 0..=random(4) {
                let at = random(changed.len() - 8);
                match random(8) {
                    0 => {
                        let word = WORDS[random(WORDS.len())].to_le_bytes();
                        changed[at / 4 * 4..][..4].copy_from_slice(&word);
                    }
                    1 => {
                        let from = random(changed.len() - 8);
                        changed.copy_within(from..from + 8, at);
                    }
                    2 => drop(changed.drain(at..at + random(8))),
                    _ => changed[at] = random(256) as u8,
                }
            }
            outcomes.count(&changed, &good);
        }
        assert_eq!(outcomes.total(), ROUNDS);
        let Outcomes {
            same,
            errors,
            others,
            ..
        } = outcomes;
        assert!(errors > 1000 && others > 100, "{outcomes:?}");
        assert!(same < ROUNDS / 2, "{outcomes:?}");
    }
}

/// NVIDIA's tool, if `REVOFF_FATBINARY` names it.
fn tool() -> Option<PathBuf> {
    let tool = std::env::var_os("REVOFF_FATBINARY").map(PathBuf::from);
    if tool.is_none() {
        // Written directly, since the harness captures the macro's output.
        let _ = std::io::stderr().write_all(
            b"SKIPPED: REVOFF_FATBINARY does not name a fatbinary (PyPI: nvidia-cuda-nvcc)\n",
        );
    }
    tool
}

#[test]
fn the_tools_files_are_read() {
    let Some(tool) = tool() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fatbin");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("k.ptx"), &TEXT[..TEXT.len() - 1]).expect("written");
    for (mode, compression) in [
        ("none", None),
        ("speed", Some(Compression::Lz4)),
        ("balance", Some(Compression::Zstd)),
        ("size", Some(Compression::Zstd)),
    ] {
        let output = folder.join(format!("{mode}.fatbin"));
        let status = Command::new(&tool)
            .current_dir(&folder)
            .args(["--64", "--compress-all", "--cmdline=-O1", "--ident=k.cu"])
            .arg(format!("--compress-mode={mode}"))
            .arg("--image3=kind=ptx,sm=70,file=k.ptx")
            .arg("--create")
            .arg(&output)
            .status();
        assert!(status.expect("the tool runs").success());
        let file = std::fs::read(output).expect("the tool's file");
        let entries = read(&file).expect("a good file");
        let [entry] = &entries[..] else {
            panic!("{entries:?}")
        };
        assert_eq!((entry.kind, entry.sm.number), (Kind::PTX, 70));
        assert_eq!(
            (entry.code_version, entry.compression),
            ((8, 0), compression)
        );
        assert_eq!(
            (entry.identifier, entry.options),
            (&b"k.cu"[..], &b"-O1"[..])
        );
        assert_eq!(entry.decompress().as_deref(), Ok(&TEXT[..TEXT.len() - 1]));
    }
}
