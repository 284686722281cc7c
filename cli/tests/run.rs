//! `revoff run`, on the example in C and on the benchmark's image.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use common::{image, revoff, run, scratch};
use revoff_host::targets::DeviceArch;
use revoff_host::targets::offload_binary::{Entry, ImageKind, OffloadKind, write};
use serde_json::Value;

/// Runs the C example's kernel on `teams` teams of two threads.
fn hello(teams: u32) -> Command {
    let mut command = revoff();
    command
        .arg("run")
        .arg(&image::hello().image)
        .args(["--kernel", "hello", "--threads", "2", "--teams"])
        .arg(teams.to_string());
    command
}

/// Runs a kernel that needs no functions: it writes the device's time to one word.
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
    for teams in [1, 7] {
        let sums = folder.join(teams.to_string());
        let bytes = teams * 2 * 8;
        let ended = run(hello(teams)
            .arg("--functions")
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
        assert_eq!(lines, expected);

        // The numbers 0 to 15, in a different order for each thread.
        let sum = (0..16u64).sum::<u64>().to_ne_bytes();
        assert_eq!(
            fs::read(&sums).expect("the sums"),
            sum.repeat(teams as usize * 2)
        );
    }
}

#[test]
fn an_ordinary_image_uses_the_native_wire_alone() {
    for wire in ["gcc-ring", "gcn-queue", "gcc-slot"] {
        run(hello(1).args(["--wire", wire, "out:16:sums"])).refused(&[
            "hello.so",
            &format!("does not support wire `{wire}`; it supports native"),
            "use another wire, or rebuild the image with the feature `gcc-wires` of revoff-device",
        ]);
    }
}

/// The functions are looked up for the image that the device loads.
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
        .args(["--json", "--wire", "native", "--functions"])
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
    assert_eq!(answer["wire"], "native");
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
    let ended = run(hello(1).arg(&out));
    ended.failed(
        1,
        &[
            "kernel `hello`: ",
            "(`greet`) is not registered",
            "(--functions LIBRARY): greet, sort",
        ],
    );
    let said = ended.stderr.lines().filter(|line| line.contains("greet"));
    assert_eq!(said.count(), 1, "once: {}", ended.stderr);
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
    // `puts` is a function of the C library, which hello_host.so uses.
    run(revoff()
        .args(["run", "--kernel", "own"])
        .arg(&own)
        .arg("--functions")
        .arg(&image::hello().functions))
    .failed(1, &["(--functions LIBRARY): puts"]);
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
    run(&mut now(&[])).refused(&["`now` takes 1 parameter of 8 bytes, but got no parameters"]);
    run(&mut now(&["u32:1"]))
        .refused(&["takes 1 parameter of 8 bytes, but got 1 parameter of 4 bytes"]);
    run(&mut now(&["buf:8", "buf:8"])).refused(&["but got 2 parameters of 8 and 8 bytes"]);
    run(&mut now(&["file:/nowhere/at/all"])).refused(&["/nowhere/at/all", "No such file"]);
    run(&mut now(&["buf:1T"])).refused(&["cannot allocate"]);
    run(&mut now(&["buf:0"])).refused(&["a buffer takes at least 1 byte"]);
    let (missing, there) = ("no kernel `noon`", "arithmetic, count, now, pauses");
    run(revoff().args(["run", image::BENCH, "--kernel", "noon"])).refused(&[missing, there]);
    run(&mut now(&["buf:8", "--threads", "4096"])).refused(&["4096", "1024"]);
}

#[test]
fn the_kernel_of_an_image_with_one_need_not_be_named() {
    let folder = scratch("run-only-kernel");
    let (source, image) = (folder.join("one.c"), folder.join("one.so"));
    let put = |text: &str| {
        fs::write(&source, format!("#include \"revoff.h\"\n{text}")).expect("written");
        image::link(&source, &image);
        run(revoff().arg("run").arg(&image))
    };
    let kernel = "REVOFF_KERNEL(one) { (void)params; }\n";
    let ended = put(kernel);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = &ended.stderr;
    assert!(
        said.starts_with("revoff: kernel `one` ended after"),
        "{said}"
    );
    assert!(
        said.ends_with(" ms: 1 team of 1 thread, 0 calls\n"),
        "{said}"
    );
    let two = format!("{kernel}REVOFF_KERNEL(two) {{ (void)params; }}\n");
    put(&two).refused(&["has several kernels, name one (--kernel): one, two"]);
    put("").refused(&["one.so has no kernels"]);
    let many: String = (10..23)
        .map(|n| format!("REVOFF_KERNEL(k{n}) {{ (void)params; }}\n"))
        .collect();
    put(&many)
        .refused(&["(--kernel): k10, k11, k12, k13, k14, k15, k16, k17, k18, k19 and 3 more\n"]);
    run(revoff().arg("run").arg(&image).args(["--kernel", "k"])).refused(&[
        "no kernel `k`; it has k10, k11, k12, k13, k14, k15, k16, k17, k18, k19 and 3 more\n",
    ]);
}

/// The parameters that `REVOFF_KERNEL` declares for a kernel in C are compared before the launch.
#[test]
fn a_forgotten_parameter_of_a_kernel_in_c_is_refused() {
    let refused = |args: &[&str], given: &str| {
        let message = format!("`hello` takes 1 parameter of 8 bytes, but got {given}");
        run(hello(1).args(args)).refused(&[&message]);
    };
    refused(&[], "no parameters");
    refused(&["u32:1"], "1 parameter of 4 bytes");
    refused(&["buf:16", "u64:1"], "2 parameters of 8 and 8 bytes");
    let folder = scratch("run-two-parameters");
    let (source, image) = (folder.join("two.c"), folder.join("two.so"));
    fs::write(
        &source,
        "#include \"revoff.h\"\nREVOFF_KERNEL(two, uint64_t, uint32_t) { (void)params; }\n",
    )
    .expect("written");
    image::link(&source, &image);
    run(revoff().arg("run").arg(&image).arg("u32:1")).refused(&[
        "kernel `two` takes 2 parameters, 12 bytes in total, but got 1 parameter of 4 bytes",
    ]);
}

/// docs/native-wire.md is sufficient for calling the host: the image has no code of device-rt.
#[test]
fn a_producer_of_its_own_calls_the_host() {
    let folder = scratch("run-producer");
    let (image, functions) = (folder.join("producer.so"), folder.join("square.so"));
    image::link_alone(&image::root().join("examples/c/producer.c"), &image);
    let source = folder.join("square.c");
    let square = "void square(unsigned long **args) { *args[0] *= *args[0]; }\n";
    fs::write(&source, square).expect("written");
    image::link_alone(&source, &functions);
    // With fewer slots than device threads, the threads wait for each other's slots.
    for slots in ["1024", "2"] {
        let squares = folder.join("squares");
        let mut command = revoff();
        command.arg("run").arg(&image).args(["--kernel", "squares"]);
        command.args([
            "--wire",
            "native",
            "--teams",
            "20",
            "--threads",
            "10",
            "--functions",
        ]);
        command.arg(&functions);
        command.arg(format!("out:1600:{}", squares.display()));
        let ended = run(command.env("REVOFF_SLOTS", slots));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let bytes = fs::read(&squares).expect("the results");
        let numbers = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        assert!(numbers.eq((0..200).map(|n: u64| n * n)), "{bytes:?}");
    }
}

/// The kernel in C of docs/coming-from/hip.md, and its host functions.
#[test]
fn the_kernel_for_those_who_know_hip_runs() {
    let folder = scratch("run-bill");
    let page = fs::read_to_string(image::root().join("docs/coming-from/hip.md")).expect("the page");
    let (kernel, functions) = (folder.join("bill.c"), folder.join("prices.c"));
    let mut blocks = page.split("```c\n").skip(1);
    for path in [&kernel, &functions] {
        let (block, _) = blocks
            .next()
            .and_then(|block| block.split_once("```"))
            .expect("code");
        fs::write(path, block).expect("written");
    }
    assert_eq!(blocks.next(), None);
    let (bill, prices) = (folder.join("bill.so"), folder.join("prices.so"));
    image::link(&kernel, &bill);
    image::link_alone(&functions, &prices);
    let costs = folder.join("costs.bin");
    let mut command = revoff();
    command
        .arg("run")
        .arg(&bill)
        .arg("--functions")
        .arg(&prices);
    command.args(["--threads", "8"]);
    let ended = run(command.arg(format!("out:32:{}", costs.display())));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let overview = image::root().join("docs/coming-from.md");
    let overview = fs::read_to_string(overview).expect("the overview");
    let (line, total) = ended.stdout.split_once('\n').expect("a line");
    assert_eq!(total, "");
    let bytes = fs::read(&costs).expect("the costs");
    let costs = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let costs: Vec<_> = costs.collect();
    let total = costs.iter().sum::<u32>();
    assert!(
        overview.contains(&format!("\n{line}\ntotal: {total}\n")),
        "{line}, {costs:?}"
    );
    // As od prints them.
    for row in costs.chunks(4) {
        let row: String = row.iter().map(|cost| format!("{cost:11}")).collect();
        assert!(page.contains(&format!("\n{row}\n")), "{row}");
    }
}

/// A plain function has no declaration, so a launch with too few arguments is accepted. The process
/// then ends with a signal, and the message names the kernel.
#[test]
fn a_signal_names_the_kernel_and_its_arguments() {
    let folder = scratch("run-signals");
    let (source, image) = (folder.join("plain.c"), folder.join("plain.so"));
    fs::write(
        &source,
        "void reads(void **p) { **(volatile int **)p[0] = 1; }\n\
         void traps(void **p) { (void)p; __builtin_trap(); }\n\
         static int deep(volatile char *p, int n)\n\
         { volatile char more[512]; more[0] = p[0]; return n ? deep(more, n - 1) + more[0] : 0; }\n\
         void fills(void **p) { (void)p; volatile char c = 0; c = deep(&c, 1 << 20); }\n",
    )
    .expect("written");
    image::link_alone(&source, &image);
    let died = |kernel: &str, args: &[&str], signal: i32, words: &[&str]| {
        let mut command = revoff();
        command
            .arg("run")
            .arg(&image)
            .args(["--kernel", kernel])
            .args(args);
        let status = command.output().expect("the command runs");
        let said = String::from_utf8_lossy(&status.stderr).into_owned();
        assert_eq!(status.status.signal(), Some(signal), "{said}");
        let name = format!("kernel `{kernel}` of {}, launched with", image.display());
        for word in [&name[..], "in thread 0 of team 0"].iter().chain(words) {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    };
    let (forgotten, null) = (
        ": SIGSEGV at address 0x",
        "launched without arguments (its image",
    );
    died(
        "reads",
        &[],
        libc::SIGSEGV,
        &[null, "REVOFF_KERNEL", forgotten],
    );
    let given = "launched with 0x10 (8 bytes), 0x5 (4 bytes) (its image does not describe";
    let args = ["u64:0x10", "u32:5"];
    died(
        "reads",
        &args,
        libc::SIGSEGV,
        &[given, ": SIGSEGV at address 0x10"],
    );
    died("traps", &[], libc::SIGILL, &["SIGILL"]);
    died(
        "fills",
        &[],
        libc::SIGSEGV,
        &["; its stack is full (REVOFF_HOST_STACK"],
    );
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let ended = run(&mut now(&["out:8:/nowhere/at/all"]));
    ended.refused(&["/nowhere/at/all", "No such file"]);
    let result = scratch("run-limited").join("result");
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f 8192; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_revoff"))
        .args(["run", image::BENCH, "--kernel", "now"])
        .arg(format!("out:16M:{}", result.display()));
    run(&mut command).refused(&["cannot write", "result", "File too large"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f 8; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_revoff"))
        .args(["run", image::BENCH, "--kernel", "now", "buf:8"]);
    run(&mut command).refused(&["limited to 4096", "ulimit -f"]);
}

#[test]
fn output_of_functions_in_c_that_is_lost_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = hello(1);
    command.arg("--functions").arg(&image::hello().functions);
    command.arg("out:16:/dev/null");
    command.stdout(full.expect("/dev/full"));
    run(&mut command).refused(&[
        "cannot write the output of host functions in C",
        "No space left",
    ]);
}

#[test]
fn a_timeline_overwrites_no_part_of_the_run() {
    let folder = scratch("run-timeline");
    let (image, result) = (folder.join("image.so"), folder.join("result"));
    fs::copy(image::BENCH, &image).expect("copied");
    let traced = |timeline: &Path| {
        let mut command = revoff();
        command.args(["run", "--kernel", "now"]).arg(&image);
        command.arg(format!("out:8:{}", result.display()));
        run(command.env("REVOFF_TRACE", timeline))
    };
    traced(&image).refused(&["REVOFF_TRACE", "image.so", "it is no timeline"]);
    let same = |a: &Path, b: &Path| fs::read(a).expect("read") == fs::read(b).expect("read");
    assert!(same(&image, image::BENCH.as_ref()));
    traced(&result).refused(&["result would be overwritten", "REVOFF_TRACE"]);
    let timeline = folder.join("timeline");
    assert_eq!(traced(&timeline).code, Some(0));
    assert_eq!(fs::read(&result).expect("read").len(), 8);
    assert!(timeline.exists());
}

#[test]
fn options_of_images_and_programs_exclude_each_other() {
    let options = [
        "--link=x",
        "--kernel=x",
        "--teams=2",
        "--threads=2",
        "--costs",
        "--functions=x",
        "--json",
    ];
    for option in options {
        let name = option.split('=').next().expect("a name");
        run(revoff().args(["run", option, "--program", "p"])).refused(&[name, "--program"]);
        run(revoff().args(["run", option, "--warps", "2"])).refused(&[name, "--warps"]);
        run(revoff().args(["run", option])).refused(&["IMAGE"]);
    }
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let kernel = ["--kernel", "k"];
    run(revoff().args(["run", "/nowhere.so"]).args(kernel)).refused(&["/nowhere.so"]);
    // ELF calls a position-independent program a shared object; the loader does not accept it as
    // one.
    let program = env!("CARGO_BIN_EXE_revoff");
    run(revoff().args(["run", program]).args(kernel)).refused(&[program]);
    let alone = scratch("run-alone");
    let (source, image) = (alone.join("alone.c"), alone.join("alone.so"));
    fs::write(
        &source,
        "void GOMP_target_ext(void);\nvoid k(void **p) { (void)p; GOMP_target_ext(); }\n",
    )
    .expect("written");
    image::link_alone(&source, &image);
    let ended = run(revoff().arg("run").arg(&image).args(kernel));
    ended.refused(&["undefined symbol: GOMP_target_ext", "librevoff_piece.a"]);
    assert_eq!(
        ended.stderr.matches("alone.so").count(),
        1,
        "{}",
        ended.stderr
    );
    let planted = scratch("run-planted");
    let (source, image) = (planted.join("planted.c"), planted.join("planted.so"));
    let data = "__asm__(\".data\\n.globl planted\\n.type planted, @function\\nplanted: .quad 0\\n\"\n\
                \".size planted, 8\\n.text\");\n";
    fs::write(&source, format!("#include \"revoff.h\"\n{data}")).expect("written");
    image::link(&source, &image);
    run(revoff()
        .arg("run")
        .arg(&image)
        .args(["--kernel", "planted"]))
    .refused(&["has no kernel `planted`"]);
    let ptx = scratch("run-ptx").join("k.ptx");
    fs::write(&ptx, ".version 7.0\n").expect("written");
    run(revoff().arg("run").arg(&ptx).args(kernel)).refused(&["PTX", "`host`"]);
    let missing = "cannot read the library /nowhere.so (--functions): No such file";
    run(hello(1).args(["--functions", "/nowhere.so", "buf:16"])).refused(&[missing]);
    run(hello(1).args(["--functions", "libc.so.6", "buf:16"])).refused(&["libc.so.6"]);
}
