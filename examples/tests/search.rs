//! Compares the search example with `grep`, on files with odd contents.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn search() -> Command {
    common::example("search")
}

/// Files whose ends, empty lines and bytes have caused problems, and a real one; in a folder for
/// the test.
fn files(test: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("search-{test}"));
    fs::create_dir_all(&folder).expect("a folder for the test");
    let cases: [(&str, &[u8]); 6] = [
        ("empty", b""),
        ("one line", b"the host function"),
        ("line feeds", b"\n\n\nhost\n\n"),
        ("ends in one", b"host\ndevice\nhost\n"),
        ("no text", b"\xff\0host\0\xfe\nho\rst\0\n\0"),
        ("nearly", b"hos\nthost\nhohost\nhhost\nost\nh\n"),
    ];
    let mut files = Vec::new();
    for (name, bytes) in cases {
        files.push(folder.join(name));
        fs::write(folder.join(name), bytes).expect("written");
    }
    files.push(readme());
    files
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

fn grep(args: &[&str], files: &[PathBuf]) -> Output {
    let mut command = Command::new("grep");
    command.env("LC_ALL", "C").arg("-abHF").args(args);
    command.args(files).output().expect("grep runs")
}

fn run(args: &[&str], files: &[PathBuf]) -> Output {
    search()
        .args(args)
        .args(files)
        .output()
        .expect("search runs")
}

#[test]
fn finds_what_grep_finds() {
    let patterns: [&[&str]; 7] = [
        &["-e", "host"],
        &["-e", "device", "-e", "host"],
        &["-e", "nowhere to be found"],
        &["-e", ""],
        &["-e", "|"],
        &["-e", "-"],
        &[
            "-e",
            "a line that is longer than any line of any of these files"
                .repeat(99)
                .leak(),
        ],
    ];
    let grids: [&[&str]; 3] = [
        &[],
        &["--teams", "1", "--threads", "1"],
        &["--teams", "7", "--threads", "33"],
    ];
    let files = files("grep");
    for patterns in patterns {
        let theirs = grep(patterns, &files);
        for grid in grids {
            let ours = run(&[patterns, grid].concat(), &files);
            let stderr = String::from_utf8_lossy(&ours.stderr);
            assert!(
                ours.stdout == theirs.stdout,
                "{patterns:?} {grid:?}: {stderr}\n{}\nbut grep:\n{}",
                String::from_utf8_lossy(&ours.stdout),
                String::from_utf8_lossy(&theirs.stdout)
            );
            assert_eq!(ours.status.code(), theirs.status.code(), "{stderr}");
        }
    }
}

#[test]
fn a_file_goes_to_the_device_once() {
    let readme = readme();
    let bytes = fs::metadata(&readme).expect("there").len();
    let patterns = ["-e", "host", "-e", "device", "-e", "kernel"];
    let grep = grep(&patterns, std::slice::from_ref(&readme));
    assert!(grep.status.success());
    let ours = run(&[&patterns[..], &["--stats"]].concat(), &[readme]);
    let stderr = String::from_utf8_lossy(&ours.stderr);
    let copied = bytes + ["host", "device", "kernel"].concat().len() as u64;
    let expected = format!("{copied} bytes to the device in 4 copies");
    assert!(stderr.contains(&expected), "no `{expected}` in: {stderr}");
}

/// The kernel obeys the host's answer.
#[test]
fn the_host_can_say_stop() {
    let readme = readme();
    let args = [
        "-q",
        "--stats",
        "--teams",
        "1",
        "--threads",
        "1",
        "-e",
        "host",
    ];
    let ours = run(&args, &[readme]);
    let stderr = String::from_utf8_lossy(&ours.stderr);
    assert!(stderr.contains(" 1 match, 1 call,"), "{stderr}");
    assert!(ours.stdout.is_empty());
    assert_eq!(ours.status.code(), Some(0));
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_searched() {
    let mut files = files("absent");
    files.insert(0, PathBuf::from("absent"));
    let ours = run(&["-e", "host"], &files);
    let stderr = String::from_utf8_lossy(&ours.stderr);
    assert!(stderr.contains("search: absent: No such file"), "{stderr}");
    assert_eq!(ours.status.code(), Some(2));
    assert_eq!(ours.stdout, grep(&["-e", "host"], &files).stdout);
}
