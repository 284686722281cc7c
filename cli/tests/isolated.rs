//! `revoff run --isolated`: native code that is broken, or reaches for what it was not given.

mod common;

use std::fs::{self, hard_link};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ended, image, revoff, run, scratch};
use serde_json::Value;

/// Kernels without a declaration, whose parameter is the address of a number.
const KERNELS: &str = r#"
#include <fcntl.h>
#include <stdlib.h>

void fine(void **p) { **(long **)p[0] += 42; }
void crashes(void **p) { volatile int *volatile null = 0; (void)p; *null = 1; }
void aborts(void **p) { (void)p; abort(); }
void exits(void **p) { (void)p; exit(0); }
void opens(void **p) { **(long **)p[0] = open("/etc/passwd", O_RDONLY); }
"#;

/// An image with these kernels, in a folder of its own.
fn broken(name: &str) -> (PathBuf, PathBuf) {
    let folder = scratch(name);
    let (source, image) = (folder.join("broken.c"), folder.join("broken.so"));
    fs::write(&source, KERNELS).expect("written");
    image::link_alone(&source, &image);
    (folder, image)
}

fn isolated(image: &Path, kernel: &str) -> Command {
    let mut command = revoff();
    command
        .args(["run", "--isolated", "--kernel", kernel])
        .arg(image);
    command
}

fn number(path: &Path) -> i64 {
    let bytes = fs::read(path).expect("a result");
    i64::from_ne_bytes(bytes.try_into().expect("8 bytes"))
}

#[test]
fn results_and_output_are_those_of_a_plain_run() {
    let folder = scratch("isolated-hello");
    let sums = folder.join("sums");
    let hello = image::hello();
    let mut command = isolated(&hello.image, "hello");
    command.args(["--threads", "2", "--json", "--functions"]);
    command.arg(&hello.functions);
    let answer = run(command.arg(format!("out:16:{}", sums.display()))).answer();
    let (lines, json) = answer.split_once('{').expect("JSON");
    assert_eq!(lines.matches("hello from a device thread").count(), 2);
    let report: Value = serde_json::from_str(&format!("{{{json}")).expect("JSON");
    assert_eq!(report["requests"], 4);
    assert_eq!(
        fs::read(&sums).expect("the sums"),
        120u64.to_ne_bytes().repeat(2)
    );
}

#[test]
fn files_of_parameters_are_the_only_ones() {
    let (folder, image) = broken("isolated-files");
    let result = folder.join("result");
    let parameter = |form: &str| format!("{form}{}", result.display());
    let ended = run(isolated(&image, "opens").arg(parameter("out:8:")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(number(&result), -1, "it has opened a file");
    // A plain run opens it: otherwise the above would show nothing.
    let plain = ["run", "--kernel", "opens"];
    let ended = run(revoff().args(plain).arg(&image).arg(parameter("out:8:")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(number(&result) > 2);
    let ended = run(isolated(&image, "fine").arg(parameter("inout:")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(number(&result) > 44);
}

#[test]
fn folders_are_granted_to_images_too() {
    let (folder, image) = broken("isolated-folders");
    let opened = |kernel: &str, option: &[&str]| {
        let result = folder.join("result");
        let mut command = isolated(&image, kernel);
        command
            .args(option)
            .arg(format!("out:8:{}", result.display()));
        assert_eq!(run(&mut command).code, Some(0));
        number(&result)
    };
    assert_eq!(opened("opens", &["--deny-all"]), -1);
    assert!(opened("opens", &["--allow-read", "/etc"]) > 2);
    let plain = ["run", "--allow-read", "/etc", "--kernel", "opens"];
    run(revoff().args(plain).arg(&image))
        .refused(&["--allow-read: an image has your rights", "--isolated"]);
}

#[test]
fn a_process_that_ends_early_is_an_error_of_the_launch() {
    let (folder, image) = broken("isolated-broken");
    let failed = |kernel: &str| -> Ended {
        let result = format!("out:8:{}", folder.join("result").display());
        let ended = run(isolated(&image, kernel).arg(result));
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("broken.so"), "{}", ended.stderr);
        assert!(!folder.join("result").exists());
        ended
    };
    for (kernel, words) in [
        ("crashes", "was killed by SIGSEGV"),
        ("aborts", "was killed by SIGABRT"),
        ("exits", "exited with status 0 before its job ended"),
    ] {
        let ended = failed(kernel);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn bad_input_is_refused() {
    let (folder, image) = broken("isolated-refused");
    let missing = folder.join("missing").display().to_string();
    let fine = || isolated(&image, "fine");
    let unwritten = folder.join("unwritten");
    let result = format!("out:8:{}", unwritten.display());
    run(fine().args([result, format!("file:{missing}")])).refused(&[&missing, "No such file"]);
    let all = folder.display().to_string();
    for form in ["file", "inout"] {
        run(fine().arg(format!("{form}:{all}"))).refused(&[&all, "is no regular file"]);
    }
    run(fine().args(["--functions", &all])).refused(&[&all, "is no regular file"]);
    assert!(!unwritten.exists());
    run(fine().args(["--functions", &missing])).refused(&[&missing, "No such file"]);
    run(fine().arg(format!("out:8:{missing}/x"))).refused(&["cannot write", &missing]);
    let pipe = folder.join("pipe");
    run(Command::new("mkfifo").arg(&pipe)).answer();
    run(fine().arg(format!("out:8:{}", pipe.display()))).refused(&["pipe is no regular file"]);
    run(fine().arg(format!("file:{}", pipe.display()))).refused(&["pipe is no regular file"]);
    let result = format!("out:8:{}", folder.join("result").display());
    run(fine().args([&result, &result])).refused(&["result would be overwritten"]);
    run(fine().arg(format!("out:8:{}", image.display()))).refused(&["would be overwritten"]);
    let name = folder.join("second-name");
    hard_link(&image, &name).expect("a link");
    run(fine().arg(format!("out:8:{}", name.display()))).refused(&["would be overwritten"]);
    run(fine().args([&result, &result.replace("result", "./result")]))
        .refused(&["would be overwritten"]);
    let library = folder.join("library.so");
    fs::write(&library, "").expect("a file");
    let over = format!("out:8:{}", library.display());
    for option in ["--link", "--functions"] {
        let named = [Path::new(option), &library, Path::new(&over)];
        run(fine().args(named)).refused(&["library.so would be overwritten"]);
    }
    let link = folder.join("link");
    symlink("elsewhere", &link).expect("a link");
    run(fine().arg(format!("out:8:{}", link.display()))).refused(&["link is a symbolic link"]);
    run(fine().arg("x:1")).refused(&["no form `x`"]);
    for variable in ["REVOFF_TRACE", "REVOFF_METRICS"] {
        let file = folder.join("file");
        run(fine().arg("buf:8").env(variable, file)).refused(&[variable, "--isolated"]);
    }
    // As if it were started by hand.
    let mut command = revoff();
    let ended = run(command.arg("devices").env("REVOFF_ISOLATED_JOB", "7:8:9"));
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    let words = "REVOFF_ISOLATED_JOB is `7:8:9`";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

/// Its driver is native code. Without a driver, the error is that of the process.
#[test]
fn a_device_is_opened_in_a_process_of_its_own() {
    let words = "the isolated process of job `arch` failed: ";
    run(revoff().args(["run", "--isolated", "--device", "cuda:99"])).refused(&[words, "cuda"]);
}
