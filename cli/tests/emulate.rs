//! `revoff emulate`: what it refuses, and a program that it runs on the driver of this build.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use common::{Ended, revoff, run};

#[test]
fn a_wrong_command_line_is_named() {
    for (arguments, words) in [
        (
            &["--device", "sm_9", "--", "true"][..],
            "'sm_9' for '--device <ARCH>': no architecture; there are sm_30",
        ),
        (
            &["--device", "gfx9", "--", "true"],
            "'gfx9' for '--device <ARCH>': no architecture",
        ),
        (&["--devices", "65", "--", "true"], "65 is not in 0..=64"),
        (
            &["--device", "emu:gfx90a", "--devices", "33", "--", "true"],
            "--devices 33: there are at most 32 AMD GPUs",
        ),
        (&["--path", "--", "true"], "cannot be used with"),
        (
            &["--trace", "7", "--", "true"],
            "a block and a thread expected",
        ),
        (&[], "required arguments were not provided"),
    ] {
        let ended = run(revoff().arg("emulate").args(arguments));
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(words),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "");
    }
}

/// Without cargo, nothing can be built.
#[test]
fn a_driver_that_cannot_be_built_is_an_error() {
    let ended = run(revoff()
        .args(["emulate", "--path"])
        .env("CARGO", "/nonexistent/cargo")
        .env("REVOFF_CACHE", common::scratch("emulate-nothing")));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("cargo"), "{}", ended.stderr);
}

/// The folder with the driver, which cargo builds for this test.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().expect("this test's path");
    let library = test.with_file_name("libcuda_emulated.so");
    assert!(library.exists(), "cargo builds {}", library.display());
    let folder = common::scratch("emulate-driver");
    // Nothing here loads the others, which the folder must have.
    for driver in &revoff_build::EMULATED_DRIVERS {
        std::os::unix::fs::symlink(&library, folder.join(driver.loaded)).expect("a link");
    }
    folder
});

/// The program, which knows nothing of this project.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = common::scratch("emulate-program").join("emulated");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulated.c");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    let status = cc.arg(source).arg("-ldl").status().expect("cc");
    assert!(status.success());
    program
});

/// Runs the program with options of `revoff emulate`, and with an argument.
fn emulate(options: &[&str], how: &str) -> Ended {
    let mut command = revoff();
    command.arg("emulate").args(options).arg("--");
    command.arg(&*PROGRAM).arg(how);
    run(command.env("REVOFF_EMULATED_DRIVER", &*DRIVER))
}

#[test]
fn a_program_runs_on_emulated_gpus() {
    assert_eq!(emulate(&[], "ok").answer(), "right\n");
    assert_eq!(emulate(&["--check"], "ok").answer(), "right\n");
    assert_eq!(emulate(&[], "devices").answer(), "1 of 9.x\n");
    let two = emulate(&["--device", "sm_70", "--devices", "2"], "devices");
    assert_eq!(two.answer(), "2 of 7.x\n");
}

#[test]
fn the_separator_is_optional() {
    for (program, code) in [("true", 0), ("/nonexistent/program", 2)] {
        let mut command = revoff();
        command.args(["emulate", program, "--no-such-option"]);
        let ended = run(command.env("REVOFF_EMULATED_DRIVER", &*DRIVER));
        assert_eq!(ended.code, Some(code), "{program}: {}", ended.stderr);
    }
}

#[test]
fn costs_and_traces_are_printed() {
    let costs = emulate(&["--costs"], "ok");
    assert_eq!(costs.code, Some(0), "{}", costs.stderr);
    assert!(costs.stderr.contains("kernel `add`"), "{}", costs.stderr);
    let trace = emulate(&["--trace", "1.3"], "ok");
    assert_eq!(trace.code, Some(0), "{}", trace.stderr);
    assert!(trace.stderr.contains("st.global.u32"), "{}", trace.stderr);
    let unseen = "REVOFF_EMU_TRACE=1000.3: no kernel has had this thread";
    assert!(!trace.stderr.contains("no kernel"), "{}", trace.stderr);
    let trace = emulate(&["--trace", "1000.3"], "ok");
    assert_eq!(trace.code, Some(0), "{}", trace.stderr);
    assert!(trace.stderr.contains(unseen), "{}", trace.stderr);
}

#[test]
fn failures_that_were_not_injected_are_named() {
    let mut command = revoff();
    command.args(["emulate", "--"]).arg(&*PROGRAM).arg("ok");
    command.env("REVOFF_EMULATED_DRIVER", &*DRIVER);
    let ended = run(command.env("REVOFF_EMU_FAIL", "cuNoSuch:1=2,cuInit:7=2,hsa_init:1=2"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "cuNoSuch:1: calls of this function: 0",
        "cuInit:7: calls of this function: 1",
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("hsa_init"), "{}", ended.stderr);
}

/// The fault is printed, and the function that notices it returns the documented code, 700.
#[test]
fn a_fault_is_printed_with_its_place() {
    let ended = emulate(&[], "fault");
    assert_eq!(ended.code, Some(1));
    for words in [
        "emulated GPU: kernel `add`, block (15, 0, 0), thread (40, 0, 0)",
        "an allocation of 4000 bytes",
        "cuMemcpyDtoH_v2: 700",
    ] {
        assert!(
            ended.stderr.contains(words),
            "no {words:?}: {}",
            ended.stderr
        );
    }
}

/// Its kernel never ends.
#[test]
fn a_program_that_exits_midway_ends() {
    let ended = emulate(&[], "midway");
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(7), ""),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_cannot_run_is_an_error() {
    let mut none = revoff();
    none.args(["emulate", "--", "/nonexistent/program"]);
    let ended = run(none.env("REVOFF_EMULATED_DRIVER", &*DRIVER));
    assert_ne!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("/nonexistent/program: No such file"),
        "{}",
        ended.stderr
    );
    let mut empty = revoff();
    empty.args(["emulate", "--path"]);
    let ended = run(empty.env("REVOFF_EMULATED_DRIVER", "/nonexistent"));
    assert_ne!(ended.code, Some(0));
    let words = "REVOFF_EMULATED_DRIVER=/nonexistent: no libcuda.so.1 there";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    let mut path = revoff();
    path.args(["emulate", "--path"]);
    let path = run(path.env("REVOFF_EMULATED_DRIVER", &*DRIVER)).answer();
    assert_eq!(Path::new(path.trim_end()), *DRIVER);
}
