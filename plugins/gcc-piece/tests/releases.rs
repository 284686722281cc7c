//! Images of the installed GCCs, with the piece.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use gcc_piece::{NotSwapped, Swapped, piece, swap};
use ptx_emu::{Machine, Options, Part};
use targets::ptx::items;

/// The supported releases.
const RELEASES: [u32; 5] = [12, 13, 14, 15, 16];

/// Prints the reason for skipping, even if output is captured.
fn skip(why: &str) {
    let _ = writeln!(io::stderr(), "\nSKIPPED gcc-piece, images by GCC: {why}");
}

/// The texts that each installed offload compiler linked, with its release.
fn images() -> Vec<(u32, Vec<String>)> {
    let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let found: Vec<_> = RELEASES
        .into_iter()
        .filter(|release| {
            is_there(&format!("gcc-{release}"))
                && is_there(&format!("x86_64-linux-gnu-accel-nvptx-none-gcc-{release}"))
        })
        .map(|release| (release, compile(release)))
        .collect();
    if found.is_empty() {
        skip(
            "no GCC that compiles for nvptx (Debian: apt-get install gcc-12 \
             gcc-12-offload-nvptx nvptx-tools)",
        );
    }
    found
}

fn compile(release: u32) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gcc-{release}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gcc/calls.c");
    let output = Command::new(format!("gcc-{release}"))
        .current_dir(&folder)
        .args(["-O2", "-fopenmp", "-foffload=nvptx-none", "-save-temps"])
        .arg("-foffload-options=nvptx-none=-misa=sm_35")
        .args(["-o", "program"])
        .arg(source)
        .output()
        .expect("it was there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gcc-{release}: {said}");
    // Texts with a NUL after each.
    let linked = fs::read(folder.join("program.xnvptx-none.mkoffload")).expect("it was kept");
    let linked = String::from_utf8(linked).expect("PTX is ASCII");
    let texts = linked.split('\0').filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
}

/// The number of definitions of `name`, for each of `texts` that has one.
fn definitions(texts: &[String], name: &str) -> Vec<usize> {
    let of = |text: &String| {
        let items = items(text.as_bytes()).expect("what a compiler wrote");
        let named = items.iter().filter(|item| item.name() == Some(name));
        named.filter(|item| item.is_definition()).count()
    };
    let counts = texts.iter().map(of).enumerate();
    counts
        .filter(|(_, count)| *count == 1)
        .map(|(i, _)| i)
        .collect()
}

/// Below `sm_70` the lanes of a warp have to arrive at the same instruction; a compiler that does
/// not know that may duplicate it.
#[test]
fn lanes_meet_at_one_barrier() {
    for sm in [60, 90] {
        let Some(piece) = piece(sm) else {
            return skip("this build has no piece");
        };
        let items = items(piece.as_bytes()).expect("what a compiler wrote");
        let function = items
            .iter()
            .find(|item| item.name() == Some("GOMP_target_ext") && item.is_definition());
        let body = function.and_then(|item| item.body.clone()).expect("it");
        // One before the call, one after it.
        assert_eq!(piece[body].matches("bar.warp.sync").count(), 2, "sm_{sm}");
    }
}

#[test]
fn the_piece_takes_the_place() {
    if piece(90).is_none() {
        return skip("this build has no piece");
    }
    for (release, original) in images() {
        assert_eq!(definitions(&original, "GOMP_target_ext").len(), 1);
        for sm in [60, 90] {
            let mut texts = original.clone();
            let swapped = swap(&mut texts, sm);
            if release < 13 {
                let why = NotSwapped::Missing("__gomp_additional_icvs");
                assert_eq!(swapped, Err(why), "gcc-{release}");
                assert_eq!(texts, original);
                continue;
            }
            assert_eq!(swapped, Ok(Swapped::Now), "gcc-{release}");
            for name in [
                "GOMP_target_ext",
                "__gomp_rev_offload_var",
                "__revoff_runtime",
            ] {
                let last = texts.len() - 1;
                assert_eq!(definitions(&texts, name), [last], "gcc-{release}: {name}");
            }
            let changed = texts.iter().zip(&original).filter(|(a, b)| a != b);
            assert_eq!(changed.count(), 1, "gcc-{release}: libgomp's alone");
            check_loads(release, sm, &texts);
            assert_eq!(swap(&mut texts, sm), Ok(Swapped::Before));
        }
    }
}

/// Loads the texts into an emulated device.
fn check_loads(release: u32, sm: u32, texts: &[String]) {
    let machine = Machine::new(Options {
        sm,
        ..Options::default()
    });
    let machine = machine.expect("a device");
    let names: Vec<_> = (0..texts.len()).map(|i| format!("text {i}")).collect();
    let parts = names.iter().zip(texts);
    let parts: Vec<_> = parts.map(|(name, text)| Part { name, text }).collect();
    let module = machine
        .load(&parts)
        .unwrap_or_else(|error| panic!("gcc-{release}: {error}"));
    assert!(module.kernel("main$_omp_fn$0").is_some());
    assert!(module.function("GOMP_target_ext").is_some());
    for (name, bytes) in [("__revoff_image", 16), ("__revoff_runtime", 48)] {
        let global = module.global(name);
        assert_eq!(global.map(|global| global.bytes), Some(bytes), "{name}");
    }
}
