//! `revoff emulate`: what it refuses. What it runs takes the driver, which is built at its first use.

mod common;

use common::{revoff, run};

#[test]
fn a_wrong_command_line_is_named() {
    for (arguments, words) in [
        (
            &["--device", "sm_9", "--", "true"][..],
            "--device sm_9: no architecture; there are sm_30",
        ),
        (
            &["--device", "gfx90a", "--", "true"],
            "--device gfx90a: no architecture",
        ),
        (&["--devices", "65", "--", "true"], "65 is not in 0..=64"),
        (&["--path", "--", "true"], "cannot be used with"),
        (
            &["--trace", "7", "--", "true"],
            "a block and a thread expected",
        ),
        (&[], "required arguments were not provided"),
        (&["true"], "unexpected argument"),
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
