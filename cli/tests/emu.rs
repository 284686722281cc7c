//! `revoff run` on emulated GPUs, with PTX written for these tests.

mod common;

use std::fs;
use std::io::Read;
use std::process::Stdio;

use common::{revoff, run, scratch};

/// Each thread writes its number plus `bias`. On request, thread 40 stores outside the buffer.
const PTX: &str = "\
.version 7.0
.target sm_60
.address_size 64
.visible .entry number(.param .u64 out, .param .u32 bias, .param .u64 astray)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    .reg .pred %p;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [bias];
    ld.param.u64 %rd3, [astray];
    mov.u32 %r2, %tid.x;
    add.u32 %r3, %r2, %r1;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd2, %rd1;
    setp.eq.u32 %p, %r2, 40;
    @%p add.u64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r3;
    ret;
}
";

/// A kernel that panics in line 7 of `k.rs`, like a kernel that uses device-rt.
const PANICS: &str = "\
.version 7.0
.target sm_60
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .b8 message[6] = {112, 97, 110, 105, 99, 0};
.global .b8 file[5] = {107, 46, 114, 115, 0};
.global .b8 none[1] = {0};
.visible .entry panics()
{
    .reg .b64 %a;
    .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
    mov.u64 %a, generic(message);
    st.param.b64 [m], %a;
    mov.u64 %a, generic(file);
    st.param.b64 [f], %a;
    st.param.b32 [l], 7;
    mov.u64 %a, generic(none);
    st.param.b64 [n], %a;
    st.param.b64 [s], 1;
    call __assertfail, (m, f, l, n, s);
}
";

fn number(folder: &std::path::Path, device: &str, args: &[&str]) -> common::Ended {
    let text = folder.join("number.ptx");
    fs::write(&text, PTX).unwrap();
    run(revoff()
        .arg("run")
        .arg(&text)
        .args(["--device", device, "--kernel", "number", "--threads", "48"])
        .args(args))
}

#[test]
fn a_kernel_runs_on_any_architecture() {
    let folder = scratch("emu-runs");
    for device in ["emu", "emu:sm_60", "emu:sm_70", "emu:sm_121"] {
        let out = folder.join("numbers");
        let out_arg = format!("out:192:{}", out.display());
        let ended = number(&folder, device, &[&out_arg, "u32:100", "u64:0"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let expected: Vec<u8> = (100u32..148).flat_map(u32::to_le_bytes).collect();
        assert_eq!(fs::read(&out).unwrap(), expected, "{device}");
    }
}

#[test]
fn costs_are_counted() {
    let folder = scratch("emu-costs");
    let args = ["buf:192", "u32:100", "u64:0"];
    let table = number(&folder, "emu", &[&args[..], &["--costs"]].concat());
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    // Two warps of 11 instructions, one of which the first warp's lanes skip; no mapped memory.
    let row = |name: &str| {
        let line = table.stderr.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{}", table.stderr));
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(row("instructions of warps"), "21");
    // Counts of zero are not listed.
    assert!(!table.stderr.contains("mapped memory"), "{}", table.stderr);
    assert!(
        table.stderr.contains("no call of GOMP_target_ext"),
        "{}",
        table.stderr
    );
    let json = number(
        &folder,
        "emu",
        &[&args[..], &["--costs=f", "--json"]].concat(),
    );
    let answer: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(answer["costs"]["launch"]["warp_instructions"], 21);
    assert_eq!(answer["costs"]["calls"]["entry"], "f");
    let elsewhere = number(&folder, "host", &[&args[..], &["--costs"]].concat());
    assert_eq!(elsewhere.code, Some(2));
    assert!(
        elsewhere.stderr.contains("cannot be counted"),
        "{}",
        elsewhere.stderr
    );
}

#[test]
fn one_thread_is_followed() {
    let folder = scratch("emu-trace");
    let args = ["buf:192", "u32:100", "u64:0", "--trace", "0.33"];
    let ended = number(&folder, "emu:sm_70", &args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let traced: Vec<&str> = ended
        .stderr
        .lines()
        .filter_map(|line| line.split_once("number.ptx:"))
        .map(|(_, rest)| rest)
        .collect();
    assert_eq!(traced.len(), 11, "{}", ended.stderr);
    assert_eq!(traced[3], "12: mov.u32 %r2, %tid.x;  = 0x21");
    assert_eq!(traced[4], "13: add.u32 %r3, %r2, %r1;  = 0x85");
    assert!(traced[8].ends_with("(not executed)"), "{}", traced[8]);
}

#[test]
fn a_panic_is_named_before_the_thread() {
    let text = scratch("emu-panic").join("panics.ptx");
    fs::write(&text, PANICS).unwrap();
    let ended = run(revoff().arg("run").arg(&text).args(["--device", "emu"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let (_, message) = ended.stderr.split_once("kernel `panics`: ").unwrap();
    assert!(
        message.starts_with(
            "device `emu:sm_90` is lost: kernel `panics` panicked at k.rs:7: block (0, 0, 0), \
             thread (0, 0, 0); "
        ),
        "{message}"
    );
}

/// A store past the end of a buffer, into memory of no other buffer.
const STRAY: &str = "\
.version 7.0
.target sm_60
.address_size 64
.visible .entry stray(.param .u64 a, .param .u64 b)
{
    .reg .b64 %a;
    ld.param.u64 %a, [a];
    st.u32 [%a+4096], 85;
    ret;
}
";

#[test]
fn lost_output_is_reported() {
    let text = scratch("emu-full").join("prints.ptx");
    fs::write(&text, PRINTS).unwrap();
    let mut command = revoff();
    command.arg("run").arg(&text).args(["--device", "emu"]);
    command.stdout(fs::File::create("/dev/full").unwrap());
    let ended = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        stderr.matches("output of kernels is lost").count(),
        1,
        "{stderr}"
    );
}

#[test]
fn the_next_buffer_is_out_of_reach() {
    let text = scratch("emu-stray").join("stray.ptx");
    fs::write(&text, STRAY).unwrap();
    let ended = run(revoff()
        .arg("run")
        .arg(&text)
        .args(["--device", "emu", "buf:4096", "buf:4096"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("4096 bytes"), "{}", ended.stderr);
}

/// A kernel that prints more than a pipe holds.
const PRINTS: &str = "\
.version 7.0
.target sm_60
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 text[16] = {97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 10, 0};
.visible .entry prints()
{
    .reg .b64 %a;
    .reg .b32 %n;
    .reg .pred %p;
    .param .b64 f; .param .b64 a; .param .b32 r;
    mov.u32 %n, 100000;
LOOP:
    mov.u64 %a, generic(text);
    st.param.b64 [f], %a;
    st.param.b64 [a], 0;
    call (r), vprintf, (f, a);
    sub.u32 %n, %n, 1;
    setp.ne.u32 %p, %n, 0;
    @%p bra LOOP;
    ret;
}
";

#[test]
fn a_deadline_names_an_output_that_nobody_reads() {
    let text = scratch("emu-prints").join("prints.ptx");
    fs::write(&text, PRINTS).unwrap();
    let mut command = revoff();
    command.arg("run").arg(&text).args(["--device", "emu"]);
    command.env("REVOFF_DEADLINE", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = String::new();
    let mut from = child.stderr.take().unwrap();
    from.read_to_string(&mut stderr).unwrap();
    // Until here nothing reads the pipe, so the kernel has filled it.
    let status = child.wait().unwrap();
    assert!(!status.success());
    let message = "pending on the host: the standard output";
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn what_goes_wrong_is_named() {
    let folder = scratch("emu-wrong");
    let stray = number(&folder, "emu", &["buf:192", "u32:1", "u64:0x100000000000"]);
    assert_eq!(stray.code, Some(1), "{}", stray.stderr);
    for words in [
        "thread (40, 0, 0)",
        "number.ptx",
        ":18:",
        "st.global.u32",
        "not allocated",
    ] {
        assert!(stray.stderr.contains(words), "`{words}`: {}", stray.stderr);
    }
    let old = number(&folder, "emu:sm_50", &["buf:192", "u32:1", "u64:0"]);
    assert_eq!(old.code, Some(2));
    for words in [
        "number.ptx is PTX for sm_60, but device `emu:sm_50` loads PTX for sm_50 or older",
        "--kernel-crate DIR --arch sm_50",
    ] {
        assert!(old.stderr.contains(words), "`{words}`: {}", old.stderr);
    }
    assert_eq!(
        old.stderr.matches("number.ptx").count(),
        1,
        "{}",
        old.stderr
    );
    let unknown = number(&folder, "emu:gfx90a", &["buf:192", "u32:1", "u64:0"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("`emu:gfx90a`"),
        "{}",
        unknown.stderr
    );
    for no_arch in ["sm_99", "sm_9", "sm_90b"] {
        let unknown = number(
            &folder,
            &format!("emu:{no_arch}"),
            &["buf:192", "u32:1", "u64:0"],
        );
        assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
        let message = format!(
            "cannot use device `emu:{no_arch}`: `{no_arch}` is not supported: use \
             `emu`, or `emu:` and one of sm_30, "
        );
        assert!(unknown.stderr.contains(&message), "{}", unknown.stderr);
        assert!(
            unknown.stderr.contains(", sm_89, sm_90, sm_100"),
            "{}",
            unknown.stderr
        );
    }
    let few = number(&folder, "emu", &["buf:192"]);
    assert_eq!(few.code, Some(2));
    assert!(
        few.stderr.contains(
            "`number` takes 3 parameters of 8, 4 and 8 bytes, but got 1 parameter of 8 bytes"
        ),
        "{}",
        few.stderr
    );
    let elsewhere = number(&folder, "host", &["buf:192", "--trace", "0.0"]);
    assert_eq!(elsewhere.code, Some(2));
    assert!(
        elsewhere.stderr.contains("cannot be traced"),
        "{}",
        elsewhere.stderr
    );
    let beyond = number(
        &folder,
        "emu",
        &["buf:192", "u32:1", "u64:0", "--trace", "0.48"],
    );
    assert_eq!(beyond.code, Some(2));
    assert!(beyond.stderr.contains("48 threads"), "{}", beyond.stderr);
    let nonsense = number(&folder, "emu", &["--trace", "7"]);
    assert_eq!(nonsense.code, Some(2));
    assert!(
        nonsense.stderr.contains("TEAM.THREAD"),
        "{}",
        nonsense.stderr
    );
}
