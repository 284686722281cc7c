//! The command line itself (help, unknown words, environment, pipes), and `revoff devices`.

mod common;

use std::process::Stdio;

use common::{revoff, run};
use serde_json::Value;

#[test]
fn help_is_an_answer() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["bench", "--help"],
        &["inspect", "--help"],
        &["devices", "--help"],
        &["completions", "--help"],
        &["help", "run"],
    ] {
        let help = run(revoff().args(args)).answer();
        assert!(help.contains("Usage: revoff"), "{args:?}: {help}");
    }
    let help = run(revoff().arg("--help")).answer();
    for word in [
        "Exit status",
        "Examples",
        "devices",
        "inspect",
        "run",
        "bench",
        "completions",
    ] {
        assert!(help.contains(word), "no `{word}` in: {help}");
    }
    assert_eq!(
        run(revoff().arg("--version")).answer(),
        concat!("revoff ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn wrong_words_are_named() {
    run(revoff().arg("dance")).refused(&["dance", "--help"]);
    run(revoff().args(["devices", "--loud"])).refused(&["--loud"]);
    run(revoff().args(["inspect"])).refused(&["IMAGE"]);
    run(revoff().args(["run", "--kernel", "k"])).refused(&["IMAGE"]);
    let ended = run(revoff().args(["run", "x.so", "--heap", "1M"]));
    ended.refused(&["IMAGE", "--heap", "leave out"]);
    assert!(!ended.stderr.contains("--stack"), "{}", ended.stderr);
    run(revoff().args(["run", "--heap", "much"])).refused(&["much", "--heap"]);
    run(revoff().args(["run", "x.so", "--kernel", "k", "--teams", "0"])).refused(&["0", "--teams"]);
    run(revoff().args(["run", "x.so", "--kernel", "k", "u32:x"])).refused(&["u32:x"]);
    run(revoff().args(["bench", "--seconds", "0"])).refused(&["--seconds", "60"]);
    run(revoff().args(["bench", "--threads", "1,0"])).refused(&["0", "--threads"]);
    run(revoff().args(["completions", "tea"])).refused(&["tea", "bash"]);
}

#[test]
fn unknown_names_list_what_exists() {
    let wires = ["`smoke`", "native", "gcc-ring", "gcn-queue", "gcc-slot"];
    run(revoff().args(["run", "x.so", "--kernel", "k", "--wire", "smoke"])).refused(&wires);
    run(revoff().args(["bench", "--wires", "native,smoke"])).refused(&wires);
    let names = "names are host, emu[:sm_NN|:gfxNNN], cuda[:N], hsa[:N]";
    let devices = ["`gpu9`", names];
    run(revoff().args(["bench", "--device", "gpu9"])).refused(&devices);
    run(revoff().args([
        "run",
        common::image::BENCH,
        "--kernel",
        "now",
        "--device",
        "gpu9",
    ]))
    .refused(&devices);
    // With or without a driver.
    for name in [
        "hsa:x",
        "hsa:-1",
        "hsa:01",
        "hsa:99999999999999999999",
        "cuda:",
        "cuda:+1",
    ] {
        let quoted = format!("no device `{name}`");
        run(revoff().args([
            "run",
            common::image::BENCH,
            "--kernel",
            "now",
            "--device",
            name,
        ]))
        .refused(&[&quoted, names]);
    }
    assert!(
        run(revoff().args(["run", "--help"]))
            .answer()
            .contains("host, emu[:sm_NN|:gfxNNN]")
    );
}

#[test]
fn invalid_environment_variables_are_named() {
    for (name, value) in [
        ("GOMP_REVERSE_OFFLOAD_THREADS", "0"),
        ("REVOFF_SLOTS", "3"),
        ("REVOFF_BOUNCE", "lots"),
        ("REVOFF_HOST_MEMORY", "1X"),
        ("REVOFF_HOST_STACK", "-1"),
        ("REVOFF_LOG", "nonsense==="),
    ] {
        run(revoff().arg("devices").env(name, value)).refused(&[name, value]);
        run(revoff().args(["bench", "--quick"]).env(name, value)).refused(&[name, value]);
    }
}

#[test]
fn events_have_no_colours_in_a_file() {
    let mut command = revoff();
    command.args(["run", common::image::BENCH, "--kernel", "missing"]);
    let ended = run(command.env("REVOFF_LOG", "debug"));
    // The image is loaded before the kernel is looked up.
    assert!(ended.stderr.contains("loaded"), "{}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
}

#[test]
fn devices_are_listed() {
    let text = run(&mut revoff_devices(&[])).answer();
    for word in [
        "host: ",
        "memory",
        "16 GiB",
        "REVOFF_SLOTS=64",
        "REVOFF_BOUNCE=(not set)",
    ] {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
    let answer: Value =
        serde_json::from_str(&run(&mut revoff_devices(&["--json"])).answer()).expect("JSON");
    let host = &answer["devices"][0];
    assert_eq!(host["name"], "host");
    assert_eq!(host["opened"]["memory_bytes"], 16u64 << 30);
    assert_eq!(host["opened"]["can_wake_host"], true);
    let cost = &host["opened"]["cost"];
    assert_eq!(cost["threads"], 8);
    assert!(cost["mapped_bytes"].as_u64() > Some(16 << 20), "{cost}");
    assert!(cost["device_bytes"].as_u64() > Some(0), "{cost}");
    let slots = answer["environment"]
        .as_array()
        .and_then(|list| {
            list.iter()
                .find(|variable| variable["name"] == "REVOFF_SLOTS")
        })
        .expect("the variable is listed");
    assert_eq!(slots["value"], "64");
}

/// All but those of the project's own scripts.
#[test]
fn documented_variables_are_listed() {
    let page = include_str!("../../docs/environment.md");
    let text = run(&mut revoff_devices(&[])).answer();
    let is_name = |word: &&str| {
        let of_user = ["REVOFF_", "GOMP_", "LIBOMPTARGET_"].iter();
        of_user.clone().any(|start| word.starts_with(start)) && !word.starts_with("REVOFF_GPU_")
    };
    let code = page.split('`').skip(1).step_by(2);
    let mut names: Vec<_> = code
        .map(|code| code.split('=').next().unwrap_or_default())
        .filter(is_name)
        .filter(|&name| name != "GOMP_target_ext")
        .collect();
    names.sort();
    names.dedup();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        assert!(
            text.contains(&format!("\n  {name}=")),
            "no {name} in: {text}"
        );
    }
}

fn revoff_devices(args: &[&str]) -> std::process::Command {
    let mut command = revoff();
    command
        .arg("devices")
        .args(args)
        .env("REVOFF_SLOTS", "64")
        .env("REVOFF_BOUNCE", "");
    command
}

#[test]
fn a_device_that_does_not_open_says_why() {
    // An address space that is too small for the device's memory.
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "ulimit -v 4000000; exec \"$0\" devices",
        env!("CARGO_BIN_EXE_revoff"),
    ]);
    let text = run(&mut command).answer();
    assert!(
        text.contains("does not open") && text.contains("REVOFF_HOST_MEMORY"),
        "{text}"
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = revoff()
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert!(ended.status.success(), "{}", ended.status);
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let ended = run(revoff().arg("devices").stdout(full));
    ended.refused(&["No space left"]);
}

/// Whatever its name: the standard output is appended to that file.
#[test]
fn a_timeline_spares_standard_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    std::fs::write(&path, "precious\n").expect("written");
    for name in ["/dev/stdout", path.to_str().expect("UTF-8")] {
        let log = std::fs::File::options().append(true).open(&path);
        let mut command = revoff();
        command.args(["soak", "--seconds", "0"]);
        command.env("REVOFF_TRACE", name).stdout(log.expect("open"));
        run(&mut command).refused(&[name, "a standard stream goes there"]);
        let kept = std::fs::read_to_string(&path).expect("read");
        assert_eq!(kept, "precious\n");
    }
}

#[test]
fn a_timeline_ends_at_the_limit_of_file_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -f 256; exec \"$0\" soak --seconds 1"])
        .arg(env!("CARGO_BIN_EXE_revoff"))
        .env("REVOFF_TRACE", folder.path().join("timeline"));
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let words = "the timeline ends here (it is limited to 131072 bytes)";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

#[test]
fn completions_know_the_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(revoff().args(["completions", shell])).answer();
        for word in ["inspect", "no-pin", "functions"] {
            assert!(script.contains(word), "{shell}: no `{word}`");
        }
    }
}
