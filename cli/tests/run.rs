//! `revoff run`, on the example in C and the benchmark's image.

mod common;

use std::fs;
use std::process::Command;

use common::{image, revoff, run, scratch};
use host_rt::targets::DeviceArch;
use host_rt::targets::offload_binary::{Entry, ImageKind, OffloadKind, write};
use serde_json::Value;

/// A run of the C example's kernel on `teams` teams of two threads.
fn hello(teams: u32) -> Command {
    let mut command = revoff();
    command
        .arg("run")
        .arg(&image::hello().image)
        .args(["--kernel", "hello", "--threads", "2", "--teams"])
        .arg(teams.to_string());
    command
}

/// A kernel that needs no functions: it writes the device's time to one word.
fn now(args: &[&str]) -> Command {
    let mut command = revoff();
    command
        .args(["run", image::BENCH, "--kernel", "now"])
        .args(args);
    command
}

#[test]
fn kernels_in_c_call_functions_in_c() {
    let folder = scratch("run-hello");
    for wire in ["native", "gcc-ring", "gcn-queue", "gcc-slot"] {
        for teams in [1, 7] {
            let sums = folder.join(format!("{wire}-{teams}"));
            let bytes = teams * 2 * 8;
            let ended = run(hello(teams)
                .args(["--wire", wire, "--functions"])
                .arg(&image::hello().functions)
                .arg(format!("out:{bytes}:{}", sums.display())));
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert!(
                ended.stderr.contains(&format!("{} calls", teams * 4)),
                "{}",
                ended.stderr
            );

            let mut lines: Vec<&str> = ended.stdout.lines().collect();
            lines.sort_unstable();
            let mut expected: Vec<String> = (0..teams)
                .flat_map(|team| (0..2).map(move |thread| (team, thread)))
                .map(|(team, thread)| {
                    format!("hello from a device thread: team {team}, thread {thread}")
                })
                .collect();
            expected.sort_unstable();
            assert_eq!(lines, expected, "{wire}");

            // The numbers 0 to 15, in an order of each thread's own.
            let sum = (0..16u64).sum::<u64>().to_ne_bytes();
            assert_eq!(
                fs::read(&sums).expect("the sums"),
                sum.repeat(teams as usize * 2),
                "{wire}"
            );
        }
    }
}

/// Its functions are looked up for the image that the device loads.
#[test]
fn the_image_may_be_one_of_several() {
    let folder = scratch("run-several");
    let here = DeviceArch::this_machine().to_string();
    let host = fs::read(&image::hello().image).expect("the image");
    let entry = |triple, arch, image_kind, image| Entry {
        image_kind,
        offload_kind: OffloadKind::NONE,
        triple,
        arch,
        image,
    };
    let ptx = entry(
        "nvptx64-nvidia-cuda",
        "sm_70",
        ImageKind::PTX,
        b".version 7.0\n",
    );
    let start = |file: &[Entry<'_>]| {
        let path = folder.join("hello.images");
        fs::write(&path, write(file)).expect("written");
        let mut command = revoff();
        command.arg("run").arg(path);
        command.args(["--kernel", "hello", "--threads", "2", "--functions"]);
        command.arg(&image::hello().functions).arg("buf:16");
        command
    };
    let ended = run(&mut start(&[
        ptx,
        entry(&here, "", ImageKind::OBJECT, &host),
    ]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("4 calls"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    run(&mut start(&[ptx])).refused(&["hello.images", &here, "sm_70, ptx"]);
}

#[test]
fn a_run_can_be_told_as_json() {
    let sums = scratch("run-json").join("sums");
    let ended = run(hello(1)
        .args(["--json", "--wire", "gcc-slot", "--functions"])
        .arg(&image::hello().functions)
        .arg(format!("out:16:{}", sums.display())));
    let (told, json) = ended
        .stdout
        .split_once('{')
        .expect("an object after what C printed");
    assert_eq!(told.lines().count(), 2, "{told}");
    let answer: Value = serde_json::from_str(&format!("{{{json}")).expect("JSON");
    assert_eq!(answer["kernel"], "hello");
    assert_eq!(answer["device"], "host");
    assert_eq!(answer["wire"], "gcc-slot");
    assert_eq!(
        (&answer["teams"], &answer["threads"]),
        (&1.into(), &2.into())
    );
    assert_eq!(answer["requests"], 4);
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(answer["missing_functions"], serde_json::json!([]));
    assert_eq!(answer["outputs"][0]["bytes"], 16);
    assert!(answer["seconds"].as_f64() > Some(0.0), "{answer}");
}

#[test]
fn missing_functions_are_named_and_their_calls_fail() {
    let sums = scratch("run-missing").join("sums");
    let out = format!("out:16:{}", sums.display());
    run(hello(1).arg(&out)).failed(1, &["warning", "greet, sort", "`hello`", "not registered"]);
    assert!(!sums.exists(), "a failed kernel's results are written");

    let ended = run(hello(1).arg(&out).arg("--json"));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        answer["missing_functions"],
        serde_json::json!(["greet", "sort"])
    );
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|e| e.contains("greet")),
        "{answer}"
    );
    assert_eq!(answer["seconds"], Value::Null);
    assert_eq!(answer["outputs"], serde_json::json!([]));
}

#[test]
fn only_a_librarys_own_functions_count() {
    let folder = scratch("run-own");
    let source = folder.join("own.c");
    fs::write(
        &source,
        "#include \"revoff.h\"\nREVOFF_HOST_FUNCTION(puts)\nREVOFF_KERNEL(own)\n\
         { (void)params; revoff_call(REVOFF_CALL(puts), 0, NULL, NULL, NULL); }\n",
    )
    .expect("written");
    let own = folder.join("own.so");
    image::link(&source, &own);
    // `puts` is the C library's, which hello_host.so uses.
    run(revoff()
        .args(["run", "--kernel", "own"])
        .arg(&own)
        .arg("--functions")
        .arg(&image::hello().functions))
    .failed(1, &["no library has puts", "not registered"]);
}

#[test]
fn files_go_to_the_device_and_back() {
    let folder = scratch("run-files");
    let word = folder.join("word");
    fs::write(&word, [0xff; 24]).expect("written");
    run(&mut now(&[&format!("inout:{}", word.display())]));
    let bytes = fs::read(&word).expect("read");
    assert_eq!(bytes.len(), 24);
    assert_ne!(bytes[..8], [0xff; 8], "the kernel wrote nothing");
    assert_eq!(
        bytes[8..],
        [0xff; 16],
        "what the kernel left alone did not come back"
    );

    fs::write(&word, [0xff; 24]).expect("written");
    let ended = run(&mut now(&[&format!("file:{}", word.display())]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        fs::read(&word).expect("read"),
        [0xff; 24],
        "`file` was written"
    );
}

#[test]
fn wrong_parameters_are_refused() {
    run(&mut now(&[])).refused(&["`now`", "1 parameters of 8 bytes", "0 of 0 bytes"]);
    run(&mut now(&["u32:1"])).refused(&["1 parameters of 8 bytes", "1 of 4 bytes"]);
    run(&mut now(&["buf:8", "buf:8"])).refused(&["2 of 16 bytes"]);
    run(&mut now(&["file:/nowhere/at/all"])).refused(&["/nowhere/at/all", "No such file"]);
    run(&mut now(&["buf:1T"])).refused(&["cannot allocate"]);
    let (missing, there) = ("no kernel `noon`", "arithmetic, count, now, pauses");
    run(revoff().args(["run", image::BENCH, "--kernel", "noon"])).refused(&[missing, there]);
    run(&mut now(&["buf:8", "--threads", "4096"])).refused(&["4096", "1024"]);
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let ended = run(&mut now(&["out:8:/nowhere/at/all"]));
    ended.refused(&["/nowhere/at/all", "No such file"]);
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let kernel = ["--kernel", "k"];
    run(revoff().args(["run", "/nowhere.so"]).args(kernel)).refused(&["/nowhere.so"]);
    // A program is a shared object to ELF, not to the loader.
    let program = env!("CARGO_BIN_EXE_revoff");
    run(revoff().args(["run", program]).args(kernel)).refused(&[program]);
    let ptx = scratch("run-ptx").join("k.ptx");
    fs::write(&ptx, ".version 7.0\n").expect("written");
    run(revoff().arg("run").arg(&ptx).args(kernel)).refused(&["PTX", "`host`"]);
    run(hello(1).args(["--functions", "/nowhere.so", "buf:16"])).refused(&["/nowhere.so"]);
    run(hello(1).args(["--functions", "libc.so.6", "buf:16"])).refused(&["libc.so.6"]);
}
