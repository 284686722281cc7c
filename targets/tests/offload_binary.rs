//! The file format: round trips, broken bytes, and LLVM's tool.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use targets::offload_binary::{Entry, ImageKind, OffloadKind, is_offload_binary, read, write};

/// The output of LLVM 22's `llvm-offload-binary` for the PTX `aaaa` and `sm_70`.
const BY_LLVM: &[u8] = b"\
    \x10\xff\x10\xad\x01\0\0\0\x98\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0\
    \x05\0\x02\0\0\0\0\0\x48\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x90\0\0\0\0\0\0\0\
    \x04\0\0\0\0\0\0\0\x69\0\0\0\0\0\0\0\x89\0\0\0\0\0\0\0\x6e\0\0\0\0\0\0\0\
    \x75\0\0\0\0\0\0\0\0arch\0triple\0nvptx64-nvidia-cuda\0sm_70\0\0aaaa\0\0\0\0";

const PTX: Entry<'_> = Entry {
    image_kind: ImageKind::PTX,
    offload_kind: OffloadKind::CUDA,
    triple: "nvptx64-nvidia-cuda",
    arch: "sm_70",
    image: b"aaaa",
};

const OBJECT: Entry<'_> = Entry {
    image_kind: ImageKind::OBJECT,
    offload_kind: OffloadKind::OPENMP,
    triple: "amdgcn-amd-amdhsa",
    arch: "gfx90a:xnack-",
    image: b"an object",
};

const HOST: Entry<'_> = Entry {
    image_kind: ImageKind(99),
    offload_kind: OffloadKind::NONE,
    triple: "x86_64-unknown-linux-gnu",
    arch: "",
    image: b"",
};

const ALL: [Entry<'_>; 3] = [PTX, OBJECT, HOST];

/// A file of version 2 or 3 in the order of later versions of LLVM: all entries, then all rows of
/// strings, the strings, the images. Values do not end in a zero byte.
fn later(version: u32, entries: &[Entry<'_>], flags: u32) -> Vec<u8> {
    let header = if version == 3 { 40 } else { 32 };
    let rows_at = header + entries.len() * 40;
    let text_at = rows_at + entries.len() * 48;
    let mut text = b"triple\0arch\0".to_vec();
    let (mut rows, mut images, mut places) = (vec![], vec![], vec![]);
    for entry in entries {
        for (key, value) in [(0, entry.triple), (7, entry.arch)] {
            for number in [text_at + key, text_at + text.len(), value.len()] {
                rows.extend((number as u64).to_le_bytes());
            }
            text.extend(value.bytes());
        }
        places.push(images.len());
        images.extend(entry.image);
    }
    let images_at = text_at + text.len();
    let mut file = vec![0x10, 0xff, 0x10, 0xad];
    file.extend(version.to_le_bytes());
    for number in [images_at + images.len(), header, entries.len(), 0] {
        file.extend((number as u64).to_le_bytes());
    }
    file.truncate(header);
    for (index, entry) in entries.iter().enumerate() {
        file.extend(entry.image_kind.0.to_le_bytes());
        file.extend(entry.offload_kind.0.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for number in [
            rows_at + index * 48,
            2,
            images_at + places[index],
            entry.image.len(),
        ] {
            file.extend((number as u64).to_le_bytes());
        }
    }
    [file, rows, text, images].concat()
}

fn with(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
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

#[test]
fn what_was_written_comes_back() {
    for entries in [&ALL[..], &ALL[..1], &[]] {
        let file = write(entries);
        assert_eq!(file.len() % 8, 0);
        if !entries.is_empty() {
            assert!(is_offload_binary(&file));
            assert_eq!(read(&file).as_deref(), Ok(entries));
        }
    }
}

#[test]
fn what_llvm_wrote_is_read() {
    assert_eq!(read(BY_LLVM).as_deref(), Ok(&[PTX][..]));
}

#[test]
fn later_versions_are_read() {
    for version in [2, 3] {
        let file = later(version, &ALL, 0);
        assert_eq!(read(&file).as_deref(), Ok(&ALL[..]), "version {version}");
        // Several binaries in one file, of different versions, aligned.
        let mut file = later(version, &ALL[1..], 0);
        file.resize(file.len().next_multiple_of(8), 0);
        file.extend(BY_LLVM);
        assert_eq!(read(&file).as_deref(), Ok(&[OBJECT, HOST, PTX][..]));
        // Only strings: no image to load.
        assert_eq!(read(&later(version, &ALL, 1)).as_deref(), Ok(&[][..]));
    }
}

#[test]
fn broken_files_are_refused_with_the_place() {
    refused(b"", 0, &["empty"]);
    refused(b"\x7fELF and so on", 0, &["magic"]);
    let good = || write(&[PTX, OBJECT]);
    let second = read(&good()).map(|_| write(&[PTX]).len()).expect("good");
    let at = |offset: usize| second + offset;
    refused(&with(good(), at(0), b"\0"), second, &["magic"]);
    refused(&with(good(), at(4), &[0]), at(4), &["version 0"]);
    refused(&with(good(), at(4), &[4]), at(4), &["version 4", "1 to 3"]);
    refused(&with(good(), at(8), &[31]), at(8), &["31 bytes", "header"]);
    refused(&with(good(), at(10), &[1]), at(0), &["the binary (65"]);
    refused(&with(good(), at(17), &[9]), at(0x920), &["the entries"]);
    refused(
        &with(good(), at(16), &[255; 8]),
        usize::MAX,
        &["the entries"],
    );
    refused(&with(good(), at(48), &[200]), at(48), &["200 strings"]);
    refused(&with(good(), at(41), &[9]), at(0x948), &["a key's offset"]);
    refused(&with(good(), at(64), &[255]), at(0x98), &["an image (255"]);
    refused(&with(good(), at(56), &[255; 8]), usize::MAX, &["an image"]);
    refused(&with(good(), at(81), &[9]), at(0x96d), &["a value"]);
    refused(&with(good(), at(110), b"\xff"), at(109), &["UTF-8"]);

    let compressed = with(later(3, &ALL, 0), 32, &[1]);
    refused(&compressed, 32, &["compressed", "without compression"]);
    let many = with(later(2, &ALL, 0), 24, &[255; 8]);
    refused(&many, 24, &["18446744073709551615 entries"]);
    let long = "x".repeat(256);
    let long = Entry { arch: &long, ..PTX };
    for file in [write(&[long]), later(2, &[long], 0)] {
        let error = read(&file).expect_err("too long").to_string();
        assert!(error.contains("255 bytes"), "{error}");
    }
}

#[test]
#[should_panic(expected = "zero byte")]
fn a_zero_byte_cannot_be_written() {
    drop(write(&[Entry {
        arch: "sm\0",
        ..PTX
    }]));
}

/// Every truncation is noticed, except between two binaries.
#[test]
fn cut_off_files() {
    for file in [write(&ALL), later(2, &ALL, 0), later(3, &ALL, 0)] {
        let one = write(&ALL[..1]).len();
        let two = write(&ALL[..2]).len();
        for len in 0..file.len() {
            let whole = file[4] == 1 && (len == one || len == two);
            assert_eq!(read(&file[..len]).is_ok(), whole, "{len} of {}", file.len());
        }
    }
}

/// A wrong byte causes at worst an error or other entries.
#[test]
fn wrong_bytes() {
    for file in [write(&ALL), later(2, &ALL, 0), later(3, &ALL, 0)] {
        let good = read(&file).expect("a good file");
        let (mut errors, mut others) = (0, 0);
        for at in 0..file.len() {
            for value in 0..=255 {
                match read(&with(file.clone(), at, &[value])) {
                    Ok(entries) => others += usize::from(entries != good),
                    Err(_) => errors += 1,
                }
            }
        }
        assert!(
            errors > 1000 && others > 1000,
            "{errors} errors, {others} others"
        );
    }
}

/// A file that repeats the same strings costs no more than its size.
#[test]
fn work_is_bounded() {
    let entries = vec![Entry { image: b"", ..PTX }; 2000];
    let mut file = later(2, &entries, 0);
    for index in 0..entries.len() {
        // Each entry claims the rows of all.
        file = with(
            file,
            32 + index * 40 + 8,
            &(32 + 2000 * 40u64).to_le_bytes(),
        );
        file = with(file, 32 + index * 40 + 16, &4000u64.to_le_bytes());
    }
    let error = read(&file).expect_err("too many strings").to_string();
    assert!(error.contains("4000 strings do not fit"), "{error}");
}

/// LLVM's tool, if this machine has it.
fn tool() -> Option<PathBuf> {
    let names = [
        "llvm-offload-binary-22",
        "llvm-offload-binary",
        "/usr/lib/llvm-22/bin/llvm-offload-binary",
    ];
    let found = names.into_iter().map(PathBuf::from).find(|name| {
        let output = Command::new(name).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        // Written directly, since the harness captures the macro's output.
        let _ = std::io::stderr()
            .write_all(b"SKIPPED: no llvm-offload-binary (Debian: apt-get install llvm-22)\n");
    }
    found
}

/// An empty folder for a test.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn run(tool: &Path, folder: &Path, arguments: &[&str]) {
    let status = Command::new(tool)
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(status.expect("the tool runs").success(), "{arguments:?}");
}

#[test]
fn the_tools_files_are_read() {
    let Some(tool) = tool() else { return };
    let folder = scratch("offload-binary-read");
    // The tool derives the kind of image from the file's extension.
    std::fs::write(folder.join("k.s"), PTX.image).expect("written");
    std::fs::write(folder.join("k.o"), OBJECT.image).expect("written");
    run(
        &tool,
        &folder,
        &[
            "-o",
            "both.bin",
            "--image=file=k.s,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=cuda",
            "--image=file=k.o,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack-,kind=openmp",
        ],
    );
    let file = std::fs::read(folder.join("both.bin")).expect("the tool's file");
    assert_eq!(read(&file).as_deref(), Ok(&[PTX, OBJECT][..]));
}

#[test]
fn the_tool_reads_our_files() {
    let Some(tool) = tool() else { return };
    let folder = scratch("offload-binary-write");
    std::fs::write(folder.join("ours.bin"), write(&[PTX, OBJECT])).expect("written");
    for (entry, kind) in [(PTX, "cuda"), (OBJECT, "openmp")] {
        let Entry { triple, arch, .. } = entry;
        let wanted = format!("--image=file=out,triple={triple},arch={arch},kind={kind}");
        run(&tool, &folder, &["ours.bin", &wanted]);
        let image = std::fs::read(folder.join("out")).expect("the extracted image");
        assert_eq!(image, entry.image);
        std::fs::remove_file(folder.join("out")).expect("removed");
    }
}
