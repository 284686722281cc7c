//! Builds the programs for machines without a compiler:
//!
//!     build-programs SOURCES FOLDER [ARCH]
//!
//! SOURCES is `tests/compat/gcc`; for AMD GPUs `tests/compat/gcn`, and ARCH their architecture,
//! such as `gfx90a`. FOLDER gets
//!
//! | name | content |
//! |---|---|
//! | `O2/NAME/` | a program, with its libraries |
//! | `src/` | the sources, whose first comments describe the programs |
//! | `lib/` | libraries that the programs are linked with |
//! | `libc/` | their C library |
//! | `theirs/` | GCC's own plugin, if it is there |
//! | `by` | the compiler's name |
//!
//! With `REVOFF_GCC_BUILT=FOLDER`, `cargo test -p compat --test gcc` runs them, and `--test gcn`
//! those for AMD GPUs. Exits with 77 if there is no GCC to build them, or none that supports ARCH.

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use compat::{AMDGCN, BY, Build, Gcc, NVPTX, Offload, Program, SOURCES, copy};

const BUILD: Build = Build::at("-O2");

/// The libraries that the programs are linked with.
const LIBRARIES: [&str; 5] = [
    "libgomp.so.1",
    "libgfortran.so.5",
    "libquadmath.so.0",
    "libstdc++.so.6",
    "libgcc_s.so.1",
];

/// The C library, with the parts that plugins and drivers may need.
const LIBC: [&str; 6] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
];

/// The exit status for skipped tests in `ci/`.
const SKIPPED: u8 = 77;

/// The GPUs, and the compiler's options.
struct For {
    offload: Offload,
    /// Options of the offload compiler.
    options: String,
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let (sources, folder, target) = match &arguments[..] {
        [sources, folder] => (sources, folder, For::nvidia()),
        [sources, folder, arch] => (sources, folder, For::amd(arch)),
        _ => {
            say("usage: build-programs SOURCES FOLDER [ARCH]");
            return ExitCode::from(2);
        }
    };
    let (sources, folder) = (Path::new(sources), Path::new(folder));
    let found = Program::all(sources).map(|all| target.chosen(all));
    let programs = match found {
        Ok(programs) => programs,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let gcc = match target.find(sources) {
        Ok(gcc) => gcc,
        Err(reason) => {
            say(&format!("SKIPPED build-programs: {reason}"));
            return ExitCode::from(SKIPPED);
        }
    };
    match build(&gcc, &target, &programs, sources, folder) {
        Ok(count) => {
            say(&format!("{count} programs by {}", gcc.name()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

impl For {
    fn nvidia() -> Self {
        Self {
            offload: NVPTX,
            options: NVPTX.options.to_owned(),
        }
    }

    fn amd(arch: &str) -> Self {
        Self {
            offload: AMDGCN,
            options: format!("-march={arch}"),
        }
    }

    /// The programs for these GPUs, except those for emulated ones. Programs that are compared with
    /// the host test the compiler's support of a language, and would take half of a bundle's space.
    fn chosen(&self, programs: Vec<Program>) -> Vec<Program> {
        let mut programs = programs;
        programs.retain(|program| {
            !program.is_compared && (self.offload != AMDGCN || program.suits("hsa"))
        });
        programs
    }

    /// A GCC for these GPUs.
    ///
    /// # Errors
    /// There is none, or it does not support the architecture; a description.
    fn find(&self, sources: &Path) -> Result<Gcc, String> {
        let gcc = Gcc::find_for(self.offload, sources, &env::temp_dir())?;
        if self.offload == AMDGCN {
            // The programs include a file of those for NVIDIA GPUs.
            gcc.bring(&sources.join("../gcc"), "gcc")?;
            // Only the compiler knows its architectures. Other errors must fail the build of the
            // programs.
            gcc.offloads(BUILD, &self.options).map_err(|said| {
                let error = said.lines().find(|line| line.contains("error: "));
                format!("{}: {}", gcc.name(), error.unwrap_or(&said))
            })?;
        }
        Ok(gcc)
    }
}

/// Builds all programs into a folder; returns their number.
fn build(
    gcc: &Gcc,
    target: &For,
    programs: &[Program],
    from: &Path,
    to: &Path,
) -> Result<usize, String> {
    let can = |program: &&Program| match gcc.lacks(program) {
        None => true,
        Some(reason) => {
            say(&format!(
                "SKIPPED build-programs, {}: {reason}",
                program.name
            ));
            false
        }
    };
    let programs: Vec<_> = programs.iter().filter(can).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = one(gcc, target, program, from, to) {
                        let mut failed = failed.lock().unwrap_or_else(|lock| lock.into_inner());
                        failed.push(error);
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_default().pop() {
        return Err(error);
    }
    for (folder, files) in [
        ("lib", &LIBRARIES[..]),
        ("libc", &LIBC),
        ("theirs", &[target.offload.plugin]),
    ] {
        let folder = to.join(folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for file in files {
            match gcc.file(file) {
                Some(path) => put(&path, &folder.join(file))?,
                None => say(&format!("{} has no {file}", gcc.name())),
            }
        }
    }
    let by = to.join(BY);
    fs::write(&by, gcc.release() + "\n").map_err(|error| format!("{}: {error}", by.display()))?;
    Ok(programs.len())
}

/// Builds a program into a folder.
fn one(gcc: &Gcc, target: &For, program: &Program, from: &Path, to: &Path) -> Result<(), String> {
    let built = gcc.build_with(program, BUILD, &target.options)?;
    let folder = to.join(BUILD.folder()).join(&program.name);
    let copied = copy(&gcc.outside(&built), &folder);
    copied.map_err(|error| format!("{}: {error}", folder.display()))?;
    put(
        &from.join(&program.file),
        &to.join(SOURCES).join(&program.file),
    )
}

fn put(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, to));
    copied.map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "what a program for a script says")]
fn say(what: &str) {
    eprintln!("{what}");
}
