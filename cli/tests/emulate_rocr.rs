//! `revoff emulate` with programs that use ROCr: one that runs on the library of this build.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use common::{Ended, revoff, run};

/// A file of the sources.
fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder with the libraries, which cargo builds for this test.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().expect("this test's path");
    let folder = common::scratch("emulate-rocr-driver");
    for library in &revoff_build::EMULATED_DRIVERS {
        if library.package == "libcudart" {
            // Nothing here loads it, but the folder must have it.
            std::fs::write(folder.join(library.loaded), "").expect("a file");
            continue;
        }
        let built = test.with_file_name(library.built);
        let put = library.put(&built, &source(".."), &folder);
        put.expect("cargo builds it, and cc links it");
    }
    folder
});

/// Whether a command runs and succeeds.
fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The program, which knows nothing of this project, and its code object; `None` if this machine cannot build them.
static PROGRAM: LazyLock<Option<[PathBuf; 2]>> = LazyLock::new(|| {
    let folder = common::scratch("emulate-rocr-program");
    let [program, object, linked] =
        ["emulated", "kernels.o", "kernels.co"].map(|name| folder.join(name));
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    cc.arg(source("tests/emulated_rocr.c"));
    cc.arg(DRIVER.join("libhsa-runtime64.so.1"));
    let mut clang = Command::new("clang-22");
    clang.args([
        "-x",
        "assembler",
        "--target=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-c",
    ]);
    clang
        .arg(source("tests/emulated_rocr.s"))
        .arg("-o")
        .arg(&object);
    let mut lld = Command::new("ld.lld-22");
    lld.arg("-shared").arg(&object).arg("-o").arg(&linked);
    let is_built = [&mut cc, &mut clang, &mut lld].into_iter().all(succeeds);
    // The output of a test that passes is not seen.
    assert!(is_built || std::env::var_os("CI").is_none(), "CI has them");
    is_built.then_some([program, linked])
});

/// Runs the program with options of `revoff emulate`, and with an argument; `None` if there is no program.
#[expect(clippy::print_stdout, reason = "what is skipped must be seen")]
fn emulate(options: &[&str], how: &str) -> Option<Ended> {
    let Some([program, kernels]) = &*PROGRAM else {
        println!(
            "SKIPPED a program that uses ROCr: no clang-22, ld.lld-22 or hsa/hsa.h (libhsa-runtime-dev)"
        );
        return None;
    };
    let mut command = revoff();
    command.arg("emulate").args(options).arg("--");
    command.arg(program).arg(how).arg(kernels);
    Some(run(command.env("REVOFF_EMULATED_DRIVER", &*DRIVER)))
}

#[test]
fn a_program_runs_on_emulated_gpus() {
    let Some(right) = emulate(&["--device", "gfx90a"], "ok") else {
        return;
    };
    assert_eq!(right.answer(), "right\n");
    let checked = emulate(&["--device", "gfx90a", "--check"], "ok");
    assert_eq!(checked.expect("as before").answer(), "right\n");
    let answer = |options: &[&str], how| emulate(options, how).expect("as before").answer();
    let two = ["--device", "gfx1100", "--devices", "2"];
    assert_eq!(answer(&two, "devices"), "2 of gfx1100\n");
    // GPUs of the other vendor are not there by accident.
    for options in [&[][..], &["--devices", "2"], &["--device", "sm_90"]] {
        assert_eq!(answer(options, "devices"), "no GPU\n", "{options:?}");
    }
}

#[test]
fn calls_costs_and_traces_are_printed() {
    let Some(trace) = emulate(&["--device", "gfx90a", "--trace", "1.3"], "ok") else {
        return;
    };
    assert_eq!(trace.code, Some(0), "{}", trace.stderr);
    assert!(
        trace.stderr.contains("global_store_dword"),
        "{}",
        trace.stderr
    );
    let costs = emulate(&["--device", "gfx90a", "--costs"], "ok").expect("as before");
    assert_eq!(costs.code, Some(0), "{}", costs.stderr);
    for words in ["kernel `add`", "instructions of lanes"] {
        assert!(costs.stderr.contains(words), "{}", costs.stderr);
    }
    let mut command = revoff();
    let [program, kernels] = PROGRAM.as_ref().expect("as before");
    command.args(["emulate", "--device", "gfx90a", "--"]);
    command.arg(program).arg("ok").arg(kernels);
    command.env("REVOFF_EMULATED_DRIVER", &*DRIVER);
    let calls = run(command.env("REVOFF_EMU_CALLS", "1"));
    let words = "emulated GPU: 1 calls of hsa_queue_create";
    assert!(calls.stderr.contains(words), "{}", calls.stderr);
}

/// The checker names instructions, but the weak memory mode performs stores later.
#[test]
fn weak_memory_is_not_checked() {
    let Some([program, kernels]) = &*PROGRAM else {
        return;
    };
    let mut command = revoff();
    command.args(["emulate", "--device", "gfx90a", "--check", "--"]);
    command.arg(program).arg("ok").arg(kernels);
    command.env("REVOFF_EMULATED_DRIVER", &*DRIVER);
    let ended = run(command.env("REVOFF_EMU_WEAK", "7"));
    assert_ne!(ended.code, Some(0));
    let words = "REVOFF_EMU_WEAK=\"7\": nothing beside REVOFF_EMU_CHECK=1 expected";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

/// Without a handler for it, a memory fault ends the process, as with ROCr.
#[test]
fn a_fault_is_printed_with_its_place() {
    let Some(ended) = emulate(&["--device", "gfx90a"], "fault") else {
        return;
    };
    assert_eq!((ended.code, &*ended.stdout), (None, ""));
    for words in ["emulated GPU: ", "`add`", "(15, 0, 0)", "global_load_dword"] {
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
    let Some(ended) = emulate(&["--device", "gfx90a"], "midway") else {
        return;
    };
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(7), ""),
        "{}",
        ended.stderr
    );
}

/// One that was linked with AMD's library, whose symbols have versions.
#[test]
fn symbols_have_the_versions_of_rocr() {
    let program = common::scratch("emulate-rocr-versions").join("emulated");
    let mut cc = Command::new("cc");
    cc.arg(source("tests/emulated_rocr.c"))
        .arg("-o")
        .arg(&program);
    if !succeeds(cc.arg("-lhsa-runtime64")) {
        println!(
            "SKIPPED versions of ROCr's symbols: no library to link with (libhsa-runtime-dev)"
        );
        return;
    }
    let mut command = revoff();
    command.args(["emulate", "--device", "gfx906", "--"]);
    command.arg(&program).arg("devices");
    let ended = run(command.env("REVOFF_EMULATED_DRIVER", &*DRIVER));
    assert_eq!(ended.answer(), "1 of gfx906\n");
}
