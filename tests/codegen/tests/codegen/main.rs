//! The compiled form of device code, on every architecture.
//!
//! A check is a function that takes the [`Workbench`] and an architecture. Those that need only the
//! compiler run everywhere; those that need a missing assembler print that.

mod floor;
mod golden;
mod lint;
mod resources;
mod rules;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use codegen::workbench::Workbench;
use libtest_mimic::{Arguments, Trial};
use revoff_build::device::{Assemblers, Toolchain};
use targets::arch::{ARCHES, Arch, Target};

/// A check, and its architectures.
struct Check {
    name: &'static str,
    run: fn(&Workbench, &'static Arch) -> Result<(), String>,
    is_for: fn(&Arch) -> bool,
}

const CHECKS: &[Check] = &[
    Check::everywhere("golden", golden::golden),
    Check::everywhere("primitives", rules::primitives),
    Check::everywhere("hand_over", rules::hand_over),
    Check::everywhere("ordinary_images_use_native_alone", rules::native_alone),
    Check::everywhere("lint", lint::images),
    Check {
        name: "lint_finds_the_planted_kernel",
        run: lint::planted,
        is_for: |arch| arch.name == "sm_70",
    },
    Check {
        name: "a_call_fits_its_registers",
        run: resources::call,
        is_for: |arch| arch.target == Target::Nvptx,
    },
    Check {
        name: "the_floor_is_words_alone",
        run: floor::words_alone,
        is_for: |arch| arch.name == "sm_70",
    },
    Check::everywhere("quiet_kernels_carry_nothing", resources::quiet),
    Check {
        name: "calls_cost_digest_little_stack",
        run: resources::digest,
        is_for: |arch| arch.target == Target::Nvptx,
    },
];

impl Check {
    const fn everywhere(
        name: &'static str,
        run: fn(&Workbench, &'static Arch) -> Result<(), String>,
    ) -> Self {
        Self {
            name,
            run,
            is_for: |_| true,
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Small machines have memory for two compilers at a time.
    arguments.test_threads.get_or_insert(2);
    let arches: Vec<&'static Arch> = ARCHES.iter().collect();
    let work = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let bench = match Toolchain::find(&arches) {
        Ok(toolchain) => Some(Arc::new(Workbench::new(
            toolchain,
            Assemblers::find().expect("assemblers, or none"),
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
            work,
            &arches,
        ))),
        Err(reason) => {
            say(&format!("SKIPPED codegen, every test: {reason}"));
            None
        }
    };
    // One check on all architectures, then the next, so that threads build different ones.
    let trials = CHECKS
        .iter()
        .flat_map(|check| {
            let arches = ARCHES.iter().filter(|arch| (check.is_for)(arch));
            arches.map(|arch| trial(check, arch, bench.clone()))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(check: &'static Check, arch: &'static Arch, bench: Option<Arc<Workbench>>) -> Trial {
    let ignored = bench.is_none();
    Trial::test(format!("{}::{}", arch.name, check.name), move || {
        let Some(bench) = bench else { return Ok(()) };
        (check.run)(&bench, arch).map_err(Into::into)
    })
    .with_ignored_flag(ignored)
}

/// Prints text past the harness.
#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
fn say(text: &str) {
    eprintln!("{text}");
}
