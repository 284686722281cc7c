//! Runs each check of `program` on a device, and on this machine: output and exit status are the same.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use std_tests::{CHECKS, command, devices, on, run, shown};

/// Each with its arguments. `FOLDER` is the path of an empty folder.
const RUNS: &[&[&str]] = &[
    &["text"],
    &["arguments", "one", "two words", "", "ünï"],
    &["environment"],
    &["input"],
    &["errors"],
    &["failure"],
    &["exit"],
    &["panic"],
    &["overflow", "xy"],
    &["overflow", "x"],
    &["result"],
    &["time"],
    &["random"],
    &["files", "FOLDER"],
    &["large-files", "FOLDER"],
    &["missing"],
    &["sorting"],
    &["threads"],
    &["detached"],
    &["locks"],
    &["locals"],
    &["narrow"],
    &["net"],
    &["pipes"],
    &["children", "FOLDER"],
    &["memory"],
    &["exhausted"],
    &["floats"],
    &["heap-grows"],
    &["heap-grows-at-once"],
    &["heap-stress"],
];

#[test]
fn devices_do_the_same_as_this_machine() {
    thread::scope(|scope| {
        for device in devices(&["host", "emu"]) {
            scope.spawn(move || do_the_same(&device));
        }
    });
}

fn do_the_same(device: &str) {
    let mut differ = Vec::new();
    for check in RUNS {
        let folder = Folder::new(device);
        let fill = |word: &&str| match *word {
            "FOLDER" => folder.0.clone().into_os_string(),
            word => word.into(),
        };
        let here = run(CHECKS.here("checks").args(check.iter().map(fill)));
        folder.empty();
        let there = run(on(device, &[]).arg("--").args(check.iter().map(fill)));
        let is_same = here.stdout == there.stdout
            && here.status.code() == there.status.code()
            && first_error(&here) == first_error(&there);
        if !is_same {
            differ.push(format!(
                "{check:?} on {device}:\n{}\nhere:\n{}",
                shown(&there),
                shown(&here)
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The program ends without exit handlers.
#[test]
fn a_timeline_is_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("timeline");
    let mut program = on("host", &[]);
    program.env("REVOFF_TRACE", &file).args(["--", "exit"]);
    let ended = run(&mut program);
    let text = fs::read_to_string(&file).expect("a timeline");
    assert!(text.ends_with("\n]\n"), "{}{text}", shown(&ended));
    let begins = r#"{"ph":"X","#;
    assert!(text.contains(begins), "{}{text}", shown(&ended));
}

/// The emulator's race checker sees nothing in the synchronisation of std, its heap and its threads.
#[test]
fn std_has_no_races() {
    for check in [
        "text",
        "threads",
        "locks",
        "locals",
        "narrow",
        "net",
        "pipes",
        "heap-stress",
        "heap-grows-at-once",
    ] {
        let output = run(on("emu", &[])
            .args(["--", check])
            .env("REVOFF_EMU_CHECK", "1"));
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    }
}

/// A wake-up that is lost costs only time: the longest wait, 0.2 s with so many threads.
#[test]
fn a_thread_that_joins_is_woken() {
    let output = run(on("host", &["--warps", "2000"]).args(["--", "joins"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "100 joins, within 10 s: true\n", "{}", shown(&output));
}

#[test]
fn more_threads_than_the_grid_has() {
    let output = run(on("host", &["--warps", "3"]).args(["--", "too-many-threads"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text,
        "2 threads: all threads of the launch are running: start the program with more of them (--warps)\n"
    );
}

/// A GPU's code cannot read return addresses.
#[test]
fn panics_have_backtraces_on_the_host_device() {
    for (device, has_one) in [("host", true), ("emu", false)] {
        let mut command = on(device, &[]);
        command.env("RUST_BACKTRACE", "1").args(["--", "panic"]);
        let output = run(&mut command);
        let errors = String::from_utf8_lossy(&output.stderr);
        let (_, backtrace) = errors.split_once("stack backtrace:").unwrap_or_default();
        let functions = ["core::panicking::panic_fmt\n", "checks::main\n"];
        let has = |name: &&str| backtrace.contains(*name);
        assert_eq!(functions.iter().all(has), has_one, "{errors}");
        assert_eq!(!backtrace.is_empty(), has_one, "{errors}");
        assert_eq!(output.status.code(), Some(101));
    }
}

/// `--trace` reaches programs: a thread that the launch has not is an error.
#[test]
fn only_threads_of_the_launch_are_traced() {
    let options = ["--warps", "2", "--trace", "2.0"];
    let output = run(on("emu", &options).args(["--", "text"]));
    let errors = String::from_utf8_lossy(&output.stderr);
    let wanted = "--trace 2.0: the launch has 2 teams of 1 thread";
    assert!(errors.contains(wanted), "{errors}");
}

/// A block that waits for others to end runs no thread: the program must not wait for it.
#[test]
fn more_threads_than_the_device_holds() {
    let options = ["--warps", "3000", "--stack", "32K"];
    let output = run(on("emu", &options).args(["--", "too-many-threads"]));
    let text = String::from_utf8_lossy(&output.stdout);
    let count = text.split(' ').next().and_then(|word| word.parse().ok());
    assert!(matches!(count, Some(1..2999)), "{}", shown(&output));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

#[test]
fn restricted_programs_see_no_files() {
    let folder = Folder::new("restricted");
    for (options, wanted) in [
        (&["--deny-all"][..], "Permission denied"),
        (&["--allow-read", "."], "Permission denied"),
        (&["--isolated"], "Permission denied"),
        (&["--isolated", "--allow-read", "."], "Permission denied"),
    ] {
        let output = run(on("host", options).args(["--", "files"]).arg(&folder.0));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(101), "{}", shown(&output));
        assert!(errors.contains(wanted), "{errors}");
    }
    for (device, options) in [
        ("host", &["--allow-write"][..]),
        ("host", &["--isolated", "--allow-write"]),
        ("emu", &["--isolated", "--allow-write"]),
    ] {
        let folder = Folder::new("allowed");
        let mut allowed = on(device, options);
        let output = run(allowed.arg(&folder.0).args(["--", "files"]).arg(&folder.0));
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    }
}

/// A process of its own takes nothing from a program that needs no files.
#[test]
fn isolated_programs_do_the_same() {
    let allowed = ["--isolated", "--allow-run"];
    for device in devices(&["host", "emu"]) {
        for check in ["text", "input", "exit", "panic", "threads", "pipes"] {
            let [plain, isolated] = [&[][..], &allowed].map(|options| {
                let output = run(on(&device, options).args(["--", check]));
                (output.status.code(), output.stdout)
            });
            assert_eq!(plain, isolated, "{device}: {check}");
        }
    }
}

/// As many threads as the program has may wait in calls, each for another one.
#[test]
fn all_threads_wait_in_calls() {
    let counts: Vec<_> = (1..=18).collect();
    for device in ["host", "emu"] {
        let output = run(on(device, &["--warps", "20"]).args(["--", "many-waits"]));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, format!("{counts:?}\n"), "{}", shown(&output));
    }
}

#[test]
fn restricted_programs_use_only_allowed_hosts() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    const DENIED: &str = "Err((true, Some(13)))";
    let expected = |connect, listen, name| {
        format!("connect {connect}\nlisten {listen}\nbind {listen}\nlook up {name}\n")
    };
    for (options, wanted) in [
        (&[][..], expected("Ok(())", "Ok(())", "Ok(())")),
        (&["--deny-all"], expected(DENIED, DENIED, DENIED)),
        (&["--isolated"], expected(DENIED, DENIED, DENIED)),
        (&["--allow-read", "."], expected(DENIED, DENIED, DENIED)),
        (&["--allow-write", "."], expected(DENIED, DENIED, DENIED)),
        (&["--allow-run"], expected(DENIED, DENIED, DENIED)),
        (
            &["--allow-net", &address],
            expected("Ok(())", DENIED, DENIED),
        ),
        (
            &["--isolated", "--allow-net", &address],
            expected("Ok(())", DENIED, DENIED),
        ),
        (
            &["--isolated", "--allow-net", "localhost"],
            expected("Ok(())", "Ok(())", "Ok(())"),
        ),
        (
            &["--allow-net", "127.0.0.1", "--deny-all"],
            expected("Ok(())", "Ok(())", DENIED),
        ),
        (
            &["--allow-net", "localhost"],
            expected("Ok(())", "Ok(())", "Ok(())"),
        ),
        (
            &["--allow-net", "127.0.0.1:0", "--allow-net", "localhost:0"],
            expected(DENIED, "Ok(())", "Ok(())"),
        ),
    ] {
        let output = run(on("host", options).args(["--", "net-denied", &address]));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, wanted, "{options:?}\n{}", shown(&output));
    }
    let output = run(on("host", &["--allow-net", "a b"]).args(["--", "text"]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("`a b` is no host"), "{errors}");
    assert_eq!(output.status.code(), Some(2), "{errors}");
}

#[test]
fn restricted_programs_start_no_commands() {
    for (options, is_allowed) in [
        (&[][..], true),
        (&["--allow-run"], true),
        (&["--deny-all", "--allow-run"], true),
        (&["--deny-all"], false),
        (&["--allow-read", "/"], false),
        (&["--allow-net", "localhost"], false),
    ] {
        let output = run(on("host", options).args(["--", "children-denied"]));
        let text = String::from_utf8_lossy(&output.stdout);
        let denied = text.matches("code: 13, kind: PermissionDenied").count();
        assert_eq!(denied == 0, is_allowed, "{options:?}\n{}", shown(&output));
        assert!(denied == 0 || denied == 2, "{text}");
        // A pipe needs no permission.
        assert!(text.ends_with("Ok(1)\n"), "{text}");
    }
    // The program itself may read no files then.
    let output = run(on("host", &["--allow-run"]).args(["--", "files", "."]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("Permission denied"), "{errors}");
}

#[test]
fn a_stack_that_is_too_small() {
    for (device, wanted, status) in [
        ("emu", "stack overflow", Some(128 + libc::SIGABRT)),
        // By a signal.
        ("host", "its stack is full", None),
    ] {
        let output = run(on(device, &["--stack", "32K"]).args(["--", "recursion"]));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(wanted), "{errors}");
        assert_eq!(output.status.code(), status, "{errors}");
        // Nor does a frame fit that is larger than what is left for the report.
        let output = run(on(device, &["--stack", "256K"]).args(["--", "large-frame"]));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(wanted), "{errors}");
        assert_eq!(output.status.code(), status, "{errors}");
        // With the usual stack, it ends as on this machine.
        let output = run(on(device, &[]).args(["--", "recursion"]));
        assert_eq!(output.stdout, b"1125750\n", "{}", shown(&output));
    }
}

#[test]
fn folders_without_a_program() {
    for (manifest, wanted) in [
        ("/no/such/Cargo.toml", "(--manifest-path names the crate)"),
        (
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "it has no src/main.rs, only a library",
        ),
    ] {
        let output = run(Command::new(command()).args(["run", "--manifest-path", manifest]));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(wanted), "{errors}");
        assert_eq!(output.status.code(), Some(2), "{errors}");
    }
    let output = run(&mut CHECKS.on("host", "other", &[]));
    let errors = String::from_utf8_lossy(&output.stderr);
    let wanted = "it has no program `other`, only: checks";
    assert!(errors.contains(wanted), "{errors}");
}

/// The check's own error, on the standard error: cargo's messages come before it, and the location
/// in a panic's message names the thread by its number.
fn first_error(output: &Output) -> Option<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut lines = errors.lines();
    match lines.find(|line| line.contains("panicked at ")) {
        Some(place) => {
            let place = place.split("panicked at ").nth(1).unwrap_or_default();
            Some(format!("{place} {}", lines.next().unwrap_or_default()))
        }
        None => errors
            .lines()
            .find(|line| *line == "on the standard error")
            .map(str::to_owned),
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("folder-{name}")));
        folder.empty();
        folder
    }

    fn empty(&self) {
        let _ = fs::remove_dir_all(&self.0);
        fs::create_dir_all(&self.0).expect("a folder");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
