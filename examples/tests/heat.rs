//! Compares the heat example with a computation cell by cell.

mod common;

use std::io::Write;
use std::process::Output;

use revoff_build::device::Toolchain;
use revoff_host::targets;

fn heat(args: &[&str]) -> Output {
    let mut command = common::example("heat");
    command.args(args).output().expect("heat runs")
}

/// The example's output for `len` cells.
fn expected(len: usize, steps: u32, every: u32) -> String {
    let mut cells = vec![0i64; len];
    cells[0] = 1_000_000_000_000;
    let mut text = String::new();
    for step in 1..=steps {
        let flow = |i: usize| {
            let beside = [cells[(i + len - 1) % len], cells[(i + 1) % len]];
            cells[i] + (beside[0] - cells[i]) / 4 + (beside[1] - cells[i]) / 4
        };
        cells = (0..len).map(flow).collect();
        if step % every == 0 || step == steps {
            let total: i64 = cells.iter().sum();
            let hottest = cells.iter().max().expect("there are cells");
            let at = cells
                .iter()
                .position(|heat| heat == hottest)
                .expect("it is one");
            text += &format!("step {step}: {total} in all, {hottest} in cell {at}\n");
        }
    }
    text
}

#[test]
fn flows_as_it_does_cell_by_cell() {
    for (blocks, cells, steps, every) in [(8, 10, 55, 10), (1, 7, 9, 1), (3, 1, 20, 7)] {
        let args = [
            format!("--blocks={blocks}"),
            format!("--cells={cells}"),
            format!("--steps={steps}"),
            format!("--every={every}"),
        ];
        let found = heat(&args.each_ref().map(String::as_str));
        let stderr = String::from_utf8_lossy(&found.stderr);
        assert!(found.status.success(), "{stderr}");
        let text = expected(blocks * cells, steps, every);
        assert_eq!(String::from_utf8_lossy(&found.stdout), text, "{args:?}");
        assert!(text.contains(": 1000000000000 in all"));
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let found = heat(&["--device", "absent"]);
    assert!(!found.status.success());
    assert!(String::from_utf8_lossy(&found.stderr).contains("`absent`"));
}

#[test]
fn the_kernel_is_built_for_an_emulated_gpu() {
    let arch = targets::arch::find("sm_90").expect("in the table");
    if let Err(error) = Toolchain::find(&[arch]) {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED examples the_kernel_is_built_for_an_emulated_gpu: {error}"
        );
        return;
    }
    let args = [
        "--device=emu:sm_90",
        "--blocks=3",
        "--cells=5",
        "--steps=12",
        "--every=4",
    ];
    let found = heat(&args);
    let stderr = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&found.stdout), expected(15, 12, 4));
}

#[test]
fn what_would_build_the_kernel_is_named() {
    let mut command = common::example("heat");
    let found = command
        .args(["--device", "emu:sm_75"])
        .env(revoff_build::RUSTC, "/nowhere/rustc")
        .output()
        .expect("heat runs");
    assert!(!found.status.success());
    let stderr = String::from_utf8_lossy(&found.stderr);
    for words in [
        "cannot build the kernel for sm_75",
        "--image",
        "REVOFF_DEVICE_RUSTC=/nowhere/rustc: cannot run it",
        "rustup toolchain install",
    ] {
        assert!(stderr.contains(words), "no `{words}` in: {stderr}");
    }
}
