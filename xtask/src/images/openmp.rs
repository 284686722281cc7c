//! Files with which clang links complete OpenMP programs for GPUs: LLVM's device runtime, additions
//! for clang 22, and a configuration file that makes them one option. See docs/llvm.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use targets::arch::{Arch, Target};

/// Functions, in the workspace, that clang 22 calls and the runtime lacks.
const ADDITIONS: &str = "device-rt/clang/openmp.c";

/// The linked bitcode, beside the configuration files that name it.
const BITCODE: &str = "revoff_openmp.bc";

/// The input files.
#[derive(Args)]
pub(crate) struct OpenMp {
    /// Put what clang links complete OpenMP programs with beside the other pieces, from LLVM
    /// 19's device runtime in this folder, for sm_70 and newer and for AMD, see docs/llvm.md
    #[arg(long, requires = "pieces", value_name = "DIR")]
    openmp_runtime: Option<PathBuf>,
    /// Add the math functions for NVIDIA of this libdevice.10.bc of CUDA's
    #[arg(long, requires = "openmp_runtime", value_name = "FILE")]
    libdevice: Option<PathBuf>,
}

impl OpenMp {
    /// The runtime for each of `arches`.
    ///
    /// # Errors
    /// A file is missing, before anything is built.
    pub(crate) fn check(&self, arches: &[&Arch]) -> Result<()> {
        for arch in arches {
            self.runtime(arch)?;
        }
        Ok(())
    }

    /// The device runtime for `arch`, if requested.
    fn runtime(&self, arch: &Arch) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.openmp_runtime else {
            return Ok(None);
        };
        let family = match arch.target {
            // GPUs whose lanes run in lock-step wait forever in this code when the lanes diverge.
            Target::Nvptx if is_lock_step(arch) => return Ok(None),
            Target::Nvptx => "nvptx",
            Target::Amdgcn => "amdgpu",
        };
        let file = folder.join(format!("libomptarget-{family}-{}.bc", arch.name));
        if !file.exists() {
            bail!(
                "no {} (--openmp-runtime): Debian's libomp-19-dev has such files in \
                 /usr/lib/llvm-19/lib, for sm_70 to sm_90 and gfx700 to gfx1152",
                file.display()
            );
        }
        Ok(Some(file))
    }

    /// Writes the files for linking programs for `arch` to `folder`, if requested.
    pub(crate) fn put(&self, root: &Path, arch: &Arch, folder: &Path, out: &Path) -> Result<()> {
        let Some(runtime) = self.runtime(arch)? else {
            return Ok(());
        };
        let work = out.join(".work").join(format!("openmp-{}", arch.name));
        fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
        let additions = work.join("additions.bc");
        let mut clang = Command::new("clang-22");
        clang.arg(format!("--target={}", arch.target.offload_triple()));
        match arch.ptx_feature() {
            Some(feature) => clang.arg(format!("-march={}", arch.name)).args([
                "-Xclang",
                "-target-feature",
                "-Xclang",
                &format!("+{feature}"),
            ]),
            None => clang.arg(format!("-mcpu={}", arch.name)),
        };
        clang.args([
            "-O2",
            "-ffreestanding",
            "-nogpulib",
            "-emit-llvm",
            "-c",
            "-o",
        ]);
        run(clang.arg(&additions).arg(root.join(ADDITIONS)))?;
        // The first file has this LLVM's data layout; for older ones llvm-link warns.
        let mut link = Command::new("llvm-link-22");
        link.arg("-o").arg(folder.join(BITCODE));
        link.arg(&additions)
            .arg(with_weak_functions(&runtime, &work)?);
        if let Some(libdevice) = self.libdevice.as_deref()
            && arch.target == Target::Nvptx
        {
            link.arg(with_weak_functions(libdevice, &work)?);
        }
        run(&mut link)?;
        for (name, text) in configurations(arch) {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Writes a copy of the bitcode `library` whose functions are weak, so that ours replace them, and
/// hidden, so that unused ones are left out. The copy is text.
fn with_weak_functions(library: &Path, work: &Path) -> Result<PathBuf> {
    let text = run(Command::new("llvm-dis-22").args(["-o", "-"]).arg(library))?;
    let mut copy = String::with_capacity(text.len());
    for line in text.lines() {
        let function = line.strip_prefix("define ");
        let linkages = ["internal ", "private ", "weak ", "linkonce "];
        let function = function.filter(|rest| !linkages.iter().any(|own| rest.starts_with(own)));
        match function {
            Some(rest) => {
                copy.push_str("define weak_odr hidden ");
                copy.push_str(rest.strip_prefix("hidden ").unwrap_or(rest));
            }
            None => copy.push_str(line),
        }
        copy.push('\n');
    }
    let path = work.join(library.file_name().unwrap_or_default());
    let path = path.with_extension("ll");
    fs::write(&path, copy).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Whether the lanes of a warp share one program counter: before `sm_70`.
fn is_lock_step(arch: &Arch) -> bool {
    let number = arch.name.strip_prefix("sm_");
    number.is_some_and(|number| number.parse().is_ok_and(|number: u32| number < 70))
}

/// The options for all programs, and for those that call the host; `$` marks linker options.
fn configurations(arch: &Arch) -> [(&'static str, String); 2] {
    let triple = arch.target.offload_triple();
    // OpenMPOpt of LLVM 22 replaces addresses of locals by those of constants, which kernels then
    // read, and takes minutes for some programs.
    let mut compiler = format!(
        "-fopenmp --offload-arch={} -nogpulib -foffload-lto\n-mllvm -openmp-opt-disable\n",
        arch.name
    );
    let mut linker = format!(
        "$-Wl,--device-linker={triple}=--plugin-opt=-openmp-opt-disable\n\
         $-Wl,--device-linker={triple}=<CFGDIR>/{BITCODE}\n"
    );
    if let Some(feature) = arch.ptx_feature() {
        compiler += &format!("--cuda-feature=+{feature}\n");
        // The image is PTX, which the driver assembles, so no NVIDIA tools are needed.
        linker += &format!(
            "$-Wl,--device-linker={triple}=--lto-emit-asm\n\
             $-Wl,--device-compiler={triple}=--cuda-feature=+{feature}\n"
        );
    }
    let calls = format!(
        "@openmp.cfg\n-I<CFGDIR>/../include\n\
         $-Wl,--export-dynamic\n$-Wl,--device-linker={triple}=<CFGDIR>/revoff_piece.bc\n"
    );
    [
        ("openmp.cfg", compiler + &linker),
        ("openmp-calls.cfg", calls),
    ]
}

/// Runs an LLVM tool; returns its output.
fn run(command: &mut Command) -> Result<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.with_context(|| format!("no {tool} (Debian's clang-22 and llvm-22)"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{said}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
