//! Compares the digest example with `sha256sum`, on files with odd names and sizes and on
//! unreadable ones.

mod common;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn digest() -> Command {
    common::example("digest")
}

/// An empty folder for this test.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// Bytes that differ between files and between positions.
fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// The chunk size on which the file sizes are based.
const CHUNK: usize = 4096;

/// A tree with every size and name that has caused a problem.
fn tree(name: &str) -> PathBuf {
    let root = scratch(name);
    fs::create_dir_all(root.join("folder/deeper")).expect("folders");
    let sizes = [
        0,
        1,
        55,
        56,
        63,
        64,
        65,
        CHUNK - 1,
        CHUNK,
        CHUNK + 1,
        3 * CHUNK,
        10 * CHUNK + 7,
    ];
    for (seed, size) in sizes.into_iter().enumerate() {
        let path = root.join(format!("folder/size {size}"));
        fs::write(path, bytes(size, seed as u64)).expect("written");
    }
    let names: [&[u8]; 8] = [
        b"line\nbreak",
        b"back\\slash",
        b"return\rhere",
        b"not UTF-8 \xff\xfe",
        b" blank first",
        b"*star",
        b"-dash",
        "umlaut \u{e4}".as_bytes(),
    ];
    for (seed, name) in names.into_iter().enumerate() {
        let path = root.join("folder/deeper").join(OsStr::from_bytes(name));
        fs::write(path, bytes(100 + seed, 100 + seed as u64)).expect("written");
    }
    // Other entries than regular files are ignored.
    symlink("size 1", root.join("folder/link")).expect("a link");
    root
}

/// The output of `sha256sum` for the regular files below `root`, ordered by path.
fn sha256sum(root: &Path) -> Vec<u8> {
    let script = "find \"$0\" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(root)
        .output()
        .expect("sh runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[track_caller]
fn assert_same(ours: &Output, theirs: &[u8], what: &str) {
    let stderr = String::from_utf8_lossy(&ours.stderr);
    assert_eq!(ours.status.code(), Some(0), "{what}: {stderr}");
    assert!(!theirs.is_empty());
    assert_eq!(
        String::from_utf8_lossy(&ours.stdout),
        String::from_utf8_lossy(theirs),
        "{what}"
    );
    assert_eq!(ours.stdout, theirs, "{what}");
}

#[test]
fn a_tree_is_as_sha256sum_has_it() {
    let root = tree("digest-tree");
    let expected = sha256sum(&root);
    let options: [&[&str]; 6] = [
        &[],
        &["--chunk", "4096"],
        &["--chunk", "1", "--teams", "1", "--threads", "1"],
        &["--chunk", "4097", "--teams", "3", "--threads", "5"],
        &["--chunk", "4095", "--teams", "64", "--threads", "1"],
        &["--teams", "1", "--threads", "40"],
    ];
    for options in options {
        let ours = digest()
            .args(options)
            .arg(&root)
            .output()
            .expect("digest runs");
        assert_same(&ours, &expected, &format!("{options:?}"));
    }
}

#[test]
fn the_runtime_may_be_small() {
    let root = tree("digest-small");
    let expected = sha256sum(&root);
    for (name, value) in [("GOMP_REVERSE_OFFLOAD_THREADS", "1"), ("REVOFF_SLOTS", "1")] {
        let ours = digest()
            .env(name, value)
            .arg(&root)
            .output()
            .expect("digest runs");
        assert_same(&ours, &expected, name);
    }
}

#[test]
fn single_files_links_and_repetitions() {
    let root = tree("digest-single");
    let names = ["folder/link", "folder/size 1", "folder/size 0"].map(|name| root.join(name));
    let theirs = Command::new("sha256sum")
        .args(&names)
        .output()
        .expect("sha256sum runs");
    let ours = digest().args(&names).output().expect("digest runs");
    let sorted = |bytes: &[u8]| -> Vec<String> {
        let mut lines: Vec<_> = String::from_utf8_lossy(bytes)
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ours.stdout), sorted(&theirs.stdout));
    assert!(ours.status.success());
}

/// A program's lines about files, without its own name.
fn complaints(stderr: &[u8], program: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr);
    text.lines()
        .filter_map(|line| line.strip_prefix(program))
        .map(str::to_owned)
        .collect()
}

/// Runs both on the same paths: the same digests, the same complaints, exit status 1.
#[track_caller]
fn assert_same_failure(paths: &[PathBuf]) {
    let theirs = Command::new("sha256sum")
        .env("LC_ALL", "C")
        .args(paths)
        .output()
        .expect("sha256sum runs");
    let ours = digest().args(paths).output().expect("digest runs");
    let expected = complaints(&theirs.stderr, "sha256sum: ");
    assert!(!expected.is_empty());
    assert_eq!(complaints(&ours.stderr, "digest: "), expected);
    assert_eq!(
        String::from_utf8_lossy(&ours.stdout),
        String::from_utf8_lossy(&theirs.stdout)
    );
    assert!(!ours.stdout.is_empty(), "the rest is not digested");
    assert_eq!(
        (ours.status.code(), theirs.status.code()),
        (Some(1), Some(1))
    );
}

#[test]
fn what_is_not_there_is_named_and_the_rest_digested() {
    let root = tree("digest-missing");
    symlink("nowhere", root.join("dangling")).expect("a link");
    let path = |name: &str| root.join(name);
    assert_same_failure(&[path("absent"), path("dangling"), path("folder/size 64")]);
}

#[test]
fn what_may_not_be_read_is_named_and_the_rest_digested() {
    let root = tree("digest-forbidden");
    let forbidden = root.join("folder/size 55");
    fs::set_permissions(&forbidden, fs::Permissions::from_mode(0o000)).expect("permissions");
    if File::open(&forbidden).is_ok() {
        println!("SKIPPED: this user may read everything (root?)");
        return;
    }
    assert_same_failure(&[forbidden, root.join("folder/size 56")]);
}

#[test]
fn a_file_that_vanishes_is_named_and_the_rest_digested() {
    let root = scratch("digest-vanish");
    let path = |name: &str| root.join(name);
    for name in ["b", "c", "d"] {
        fs::write(path(name), name).expect("written");
    }
    let made = Command::new("mkfifo")
        .arg(path("a"))
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
    // One device thread processes files in order. It waits for the pipe's content, and by then `c`
    // is gone.
    let child = digest()
        .args(["--teams", "1", "--threads", "1"])
        .args(["a", "b", "c", "d"].map(path))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("digest runs");
    let mut pipe = File::options()
        .write(true)
        .open(path("a"))
        .expect("the pipe opens");
    // `a` opens once the files are listed, and `c` only after all of `a` was read.
    fs::remove_file(path("c")).expect("removed");
    pipe.write_all(b"x").expect("`a` is being read");
    drop(pipe);
    let ended = child.wait_with_output().expect("digest ends");

    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains(&format!("digest: {}: No such file", path("c").display())),
        "{stderr}"
    );
    let stdout = String::from_utf8_lossy(&ended.stdout);
    // Of "x" (the pipe), "b" and "d".
    let expected = [
        (
            "a",
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        ),
        (
            "b",
            "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
        ),
        (
            "d",
            "18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4",
        ),
    ]
    .map(|(name, digest)| format!("{digest}  {}\n", path(name).display()));
    assert_eq!(stdout, expected.concat());
}

#[test]
fn json_has_every_file() {
    let root = tree("digest-json");
    let output = digest()
        .arg("--json")
        .arg(&root)
        .arg(root.join("absent"))
        .output()
        .expect("digest runs");
    assert_eq!(output.status.code(), Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = answer["files"].as_array().expect("a list");
    let digests = files
        .iter()
        .filter(|file| file["sha256"].is_string())
        .count();
    assert_eq!((files.len(), digests), (21, 20));
    let absent = files
        .iter()
        .find(|file| file["error"].is_string())
        .expect("an error");
    assert_eq!(absent["error"], "No such file or directory");
    let summary = &answer["summary"];
    assert_eq!(summary["files"], 20);
    // One call for each file and digest, and at least one for its bytes.
    assert!(summary["requests"].as_u64() >= Some(60), "{summary}");
    // The digest of an empty file.
    let empty = files.iter().find(|file| {
        file["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("size 0"))
    });
    let theirs = Command::new("sha256sum")
        .stdin(Stdio::null())
        .output()
        .expect("sha256sum runs");
    let theirs = String::from_utf8_lossy(&theirs.stdout);
    assert_eq!(
        empty.and_then(|e| e["sha256"].as_str()),
        theirs.split(' ').next()
    );
}

#[test]
fn wrong_words_are_named() {
    let cases: [(&[&str], &[&str]); 6] = [
        (&[], &["PATH"]),
        (&["--teams", "0", "."], &["--teams"]),
        (&["--threads", "1025", "."], &["--threads"]),
        (&["--chunk", "0", "."], &["--chunk"]),
        (&["--chunk", "2G", "."], &["--chunk"]),
        (&["--device", "gpu9", "."], &["`gpu9`", "host"]),
    ];
    for (args, words) in cases {
        let output = digest().args(args).output().expect("digest runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
        for word in words {
            assert!(stderr.contains(word), "{args:?}: no {word} in: {stderr}");
        }
    }
}
