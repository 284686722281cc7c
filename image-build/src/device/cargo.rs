//! Compiling a kernel crate, and `core` with it, for one architecture.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use targets::arch::{ARCHES, Arch, Target};

use super::toolchain::Toolchain;
use crate::error::{BuildError, io_at};
use crate::krate::Crate;
use crate::messages::{help_for, run};

/// The compiler's output for a crate and all its dependencies.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// Assembly: PTX, or an AMD processor's.
    pub(crate) assembly: Option<PathBuf>,
    /// LLVM bitcode.
    pub(crate) bitcode: PathBuf,
    /// An archive of object files; not usable for NVIDIA, where it holds bitcode.
    pub(crate) archive: PathBuf,
    /// The source files.
    pub(crate) sources: Vec<PathBuf>,
}

/// Compiles `krate` for `arch`; `target_dir` is cargo's. One folder serves all architectures: cargo
/// tells their builds apart by the flags, and compiles macros once for all.
pub(crate) fn compile(
    toolchain: &Toolchain,
    krate: &Crate,
    arch: &Arch,
    target_dir: &Path,
    emits_assembly: bool,
) -> Result<Compiled, BuildError> {
    let triple = arch.target.rust_triple();
    let release = target_dir.join(triple).join("release");
    let of_arch = release.join(arch.name);
    fs::create_dir_all(&of_arch).map_err(io_at(&of_arch))?;
    let assembly = of_arch.join(format!("{}.s", krate.file));
    let bitcode = of_arch.join(format!("{}.bc", krate.file));
    let mut flags = target_flags(arch.target);
    // A panic calls the panic handler, which reports its location. CUDA's assertion takes no
    // column.
    if arch.target == Target::Nvptx {
        flags.push("-Zlocation-detail=file,line".to_owned());
    }
    let mut arch_flags = arch_flags(arch);
    if krate.is_small {
        arch_flags.extend(small_code_flags(arch.target));
    }

    let mut command = Command::new(toolchain.cargo());
    command
        .arg("rustc")
        .arg("--manifest-path")
        .arg(&krate.manifest)
        .args(["--release", "--lib", "--crate-type", "staticlib"])
        .args(["-Zbuild-std=core", "--target", triple])
        // One unit of code from all crates, since a GPU has no linker.
        .args(["--config", "profile.release.lto=\"fat\""])
        .args(["--config", "profile.release.codegen-units=1"])
        .args(["--config", "profile.release.debug=false"])
        .args(["--config", "profile.release.panic=\"abort\""])
        // An image uses little of its dependencies; without this, each is optimised before it is
        // optimised as part of the image.
        .arg("-Zprofile-hint-mostly-unused")
        .args([
            "--config",
            "profile.release.package.\"*\".hint-mostly-unused=true",
        ])
        .arg("-Zprofile-rustflags")
        .args([
            "--config",
            &format!("profile.release.rustflags={arch_flags:?}"),
        ])
        .args(["--config", "profile.release.build-override.rustflags=[]"])
        .args([
            "--config",
            &format!(
                "profile.release.package.core.rustflags={:?}",
                core_flags(arch)
            ),
        ])
        .args(match arch.target {
            // Nothing of it gets into PTX, so it is compiled once too, for the default architecture.
            Target::Nvptx => &[
                "--config",
                "profile.release.package.compiler_builtins.rustflags=[]",
            ][..],
            Target::Amdgcn => &[],
        })
        .arg("--target-dir")
        .arg(target_dir)
        .arg("--")
        .arg(format!("--emit=llvm-bc={}", bitcode.display()));
    if emits_assembly {
        command.arg(format!("--emit=asm={}", assembly.display()));
    }
    clean(&mut command);
    command
        .env("RUSTC", toolchain.rustc())
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));

    // Cargo tracks neither of these two files, and treats crates of one name in different
    // workspaces as the same.
    let made_of = format!(
        "{}\n{toolchain}\n{flags:?}{arch_flags:?}\n",
        krate.manifest.display()
    );
    let record = of_arch.join(format!("{}.of", krate.file));
    let is_known = fs::read_to_string(&record).is_ok_and(|of| of == made_of);
    if !(is_known && bitcode.is_file() && (assembly.is_file() || !emits_assembly)) {
        forget(&release, krate)?;
    }
    let said = run(&mut command, toolchain.cargo())?;
    if !said.status.success() {
        return Err(BuildError::Compile {
            krate: krate.name.clone(),
            arch: arch.name.to_owned(),
            status: said.status,
            help: help_for(&said.text),
        });
    }
    fs::write(&record, made_of).map_err(io_at(&record))?;
    let archive = release.join(format!("lib{}.a", krate.file));
    let dep_info = release.join(format!("lib{}.d", krate.file));
    Ok(Compiled {
        sources: crate::krate::sources(&dep_info)?,
        assembly: emits_assembly.then(|| existing(assembly)).transpose()?,
        bitcode: existing(bitcode)?,
        archive: if arch.target == Target::Amdgcn {
            existing(archive)?
        } else {
            archive
        },
    })
}

/// The flags of `core`, which is compiled once for all architectures of a target: those of the oldest.
fn core_flags(arch: &Arch) -> Vec<String> {
    let mut oldest = ARCHES.iter().filter(|other| other.target == arch.target);
    let mut flags = arch_flags(oldest.next().unwrap_or(arch));
    // Leaves functions to the crates that call them, which compile them for `arch`, even functions
    // that are not to be inlined. Only vtables of the unstable `Waker::from_fn_ptr` still refer to
    // functions that `core` compiles itself.
    flags.push("-Zcross-crate-inline-threshold=always".to_owned());
    flags
}

/// The compiler's flags for code that runs on `arch`.
pub(crate) fn code_flags(arch: &Arch) -> Vec<String> {
    [arch_flags(arch), target_flags(arch.target)].concat()
}

/// Flags for code that is a fraction of the usual size. LLVM has no calls on GPUs where it can avoid them: it
/// inlines functions of up to eleven times the size as on a CPU, and on AMD larger ones to which a variable's
/// address is passed. With these, it inlines as on a CPU.
pub(crate) fn small_code_flags(target: Target) -> Vec<String> {
    [
        Some("-inline-threshold=25"),
        Some("-inlinehint-threshold=30"),
        (target == Target::Amdgcn).then_some("-amdgpu-inline-arg-alloca-cost=0"),
    ]
    .into_iter()
    .flatten()
    .map(|option| format!("-Cllvm-args={option}"))
    .collect()
}

/// Those that depend on the architecture.
fn arch_flags(arch: &Arch) -> Vec<String> {
    let mut flags = vec![format!("-Ctarget-cpu={}", arch.name)];
    if let Some(feature) = arch.ptx_feature() {
        flags.push(format!("-Ctarget-feature=+{feature}"));
    }
    if arch.has_register_halves {
        flags.push("-Ctarget-feature=-real-true16".to_owned());
    }
    if arch.target == Target::Amdgcn && !arch.traps_in_place {
        flags.push("-Cllvm-args=-force-attribute=revoff_trap:noinline".to_owned());
    }
    // Without these, device-rt does what is right on every processor.
    if arch.waits_for_write_back {
        flags.push("--cfg=revoff_waits_for_write_back".to_owned());
    }
    if !arch.stores_have_scope {
        flags.push("--cfg=revoff_stores_without_scope".to_owned());
    }
    flags
}

/// Those for all architectures of `target`.
fn target_flags(target: Target) -> Vec<String> {
    let mut flags = vec!["-Zunstable-options".to_owned()];
    flags.extend(llvm_options(target).map(|option| format!("-Cllvm-args={option}")));
    if target == Target::Amdgcn {
        // LLVM does not know that a trap calls nothing: it takes functions that may trap for
        // recursive, and reserves a stack of 16 KiB for each lane.
        for attribute in [
            "revoff_panic:noinline",
            "revoff_panic:norecurse",
            "revoff_trap:norecurse",
        ] {
            flags.push(format!("-Cllvm-args=-force-attribute={attribute}"));
        }
    }
    flags
}

/// The options of LLVM's back end, for all architectures of `target`.
pub(super) fn llvm_options(target: Target) -> impl Iterator<Item = &'static str> {
    [
        // LLVM 22 compiles `pointer.wrapping_sub(!is_left as usize)` to an addition: this pass takes the
        // negation of a boolean for the addition of a constant, though not that of its sign extension.
        // std's sorting merges so.
        Some("-disable-separate-const-offset-from-gep"),
        // LLVM moves small arrays from the stack to shared memory, and assumes the largest block for the
        // size of each lane's part: few blocks then run at a time.
        (target == Target::Amdgcn).then_some("-disable-promote-alloca-to-lds"),
        // LLVM 22 keeps scalar registers in lanes of vector registers. If it spills one of these, it may give
        // it the place of another register that is still needed.
        (target == Target::Amdgcn).then_some("-no-stack-slot-sharing"),
        // Such vector registers are copied for all lanes, active or not. Where LLVM 22 splits the range of another
        // register around one, it may put that register's copy between the instructions that activate the lanes
        // and deactivate them again, and so overwrite what the caller keeps in inactive lanes. Without a budget
        // it splits no such ranges.
        (target == Target::Amdgcn).then_some("-grow-region-complexity-budget=0"),
    ]
    .into_iter()
    .flatten()
}

/// Removes the caller's variables that affect a build: they must not affect the device's.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PROFILE_")
            || text.starts_with("CARGO_BUILD_")
            || text.starts_with("CARGO_TARGET_")
            || text.starts_with("CARGO_UNSTABLE_")
            || text.starts_with("CARGO_FEATURE_")
            || text.starts_with("CARGO_CFG_")
            || [
                "RUSTFLAGS",
                "RUSTC_WRAPPER",
                "RUSTC_WORKSPACE_WRAPPER",
                "RUSTUP_TOOLCHAIN",
                "CARGO_MAKEFLAGS",
                "MAKEFLAGS",
            ]
            .contains(&&*text)
        {
            command.env_remove(&name);
        }
    }
}

/// Makes cargo compile `krate` itself again, but not its dependencies.
fn forget(release: &Path, krate: &Crate) -> Result<(), BuildError> {
    let Ok(units) = release.join(".fingerprint").read_dir() else {
        return Ok(());
    };
    for unit in units.filter_map(Result::ok) {
        let name = unit.file_name();
        let of = name.to_str().and_then(|name| name.rsplit_once('-'));
        if of.is_some_and(|(package, _)| package == krate.name) {
            fs::remove_dir_all(unit.path()).map_err(io_at(&unit.path()))?;
        }
    }
    Ok(())
}

fn existing(path: PathBuf) -> Result<PathBuf, BuildError> {
    if path.is_file() {
        Ok(path)
    } else {
        Err(BuildError::Output {
            path,
            reason: "the compiler did not write it; remove the target folder and build again"
                .into(),
        })
    }
}
