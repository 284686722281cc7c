//! The programs of `gcc/`, which are also for NVIDIA GPUs, compiled for AMD GPUs and run with our
//! plugin.

use std::path::Path;
use std::sync::Arc;

use compat::{Program, compare_with_host, judge, test};
use libtest_mimic::Trial;

use crate::{ARCH, BUILD, Bench, Place, Side, skipped};

/// The start of their names; programs of `gcn/` may have the same names otherwise.
const PREFIX: &str = "gcc-";

/// The programs.
///
/// # Errors
/// A description is invalid.
pub(crate) fn programs(sources: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Program::all(&sources.join("gcc"))?;
    for program in &mut programs {
        program.name.insert_str(0, PREFIX);
        // They are copied to a folder beside the programs of `gcn/`.
        let files = [
            &mut program.with,
            &mut program.libraries,
            &mut program.plugins,
        ];
        let files = files.into_iter().flatten();
        for file in files.chain([&mut program.file]) {
            file.insert_str(0, "../gcc/");
        }
        // Options of the compiler for NVIDIA GPUs.
        program.offload.clear();
    }
    Ok(programs)
}

/// The program of a file in `gcc/`.
///
/// # Errors
/// There is none.
pub(crate) fn named(programs: &[Program], file: &str) -> Result<Program, String> {
    let (name, _) = file.split_once('.').unwrap_or((file, ""));
    Program::named(programs, &format!("{PREFIX}{name}"))
}

/// A test for each program.
pub(crate) fn trials(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let trial = |program: &Program| {
        let name = program.name.trim_start_matches(PREFIX);
        let name = format!("gcc::{ARCH}::{name}");
        let lacks = program.lacks_amd.clone();
        let lacks = lacks.or_else(|| bench?.gcc.lacks(program));
        let cannot = bench.is_none() || skipped(&name, lacks);
        let program = program.clone();
        test(bench, name, move |bench| run(bench, &program)).with_ignored_flag(cannot)
    };
    programs.iter().map(trial).collect()
}

/// Runs a program on an emulated GPU and, if it is compared, with its regions on the host.
fn run(bench: &Bench, program: &Program) -> Result<(), String> {
    let place = Place::emulated(Side::Ours, ARCH);
    let folder = bench.build(program, BUILD)?;
    let run = |change: &[(&str, &str)]| {
        bench.run(program, (folder, &program.name), place, |command| {
            command.envs(change.iter().copied());
        })
    };
    let outcome = run(&[])?;
    judge(program, &outcome)?;
    if !program.is_compared {
        return Ok(());
    }
    let key = (program.name.clone(), BUILD);
    let on_host = || run(&[("OMP_TARGET_OFFLOAD", "disabled"), ("COMPAT_ON_HOST", "1")]);
    compare_with_host(bench.on_host.get(&key, on_host)?, &outcome)
}
