//! Building images for GPUs: one crate, one architecture at a time.

mod cargo;
pub(crate) mod code_object;
mod ptx;
mod ptxas;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};

use targets::arch::{Arch, Target};
use targets::ptx::Malformed;

pub(crate) use cargo::{clean, code_flags, small_code_flags};
pub use ptxas::{Assemblers, PTXAS, Ptxas};
pub use toolchain::Toolchain;

use crate::error::{BuildError, NoCrate, io_at};
use crate::krate::Crate;
use crate::work::Work;

/// The resources that a kernel or function takes of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The kernel or function.
    pub name: String,
    /// Vector registers of a thread, including callees; `None` for a function, whose kernel has the
    /// number.
    pub registers: Option<u32>,
    /// Bytes of its stack frame; on AMD including callees.
    pub stack: u32,
    /// Whether it may use more stack than that, which the compiler cannot determine.
    pub has_dynamic_stack: bool,
    /// Bytes of shared memory that each block of the kernel reserves.
    pub shared: u32,
    /// Bytes of registers spilled to the stack.
    pub spilled: u32,
}

/// One crate, built for one architecture.
#[derive(Clone, Debug)]
pub struct DeviceImage {
    /// The architecture.
    pub arch: &'static Arch,
    /// PTX, marked for nvptx-tools; only for NVIDIA.
    pub ptx: Option<PathBuf>,
    /// A cubin, if an assembler was found. Relocatable if it has no kernel.
    pub cubin: Option<PathBuf>,
    /// The assembler's name and release.
    pub assembler: Option<String>,
    /// A code object; only for AMD.
    pub code_object: Option<PathBuf>,
    /// The compiler's unchanged assembly; for AMD only if it was asked for.
    pub assembly: Option<PathBuf>,
    /// LLVM bitcode of the whole crate, written by the toolchain's LLVM.
    pub bitcode: PathBuf,
    /// A static library of object files; only for AMD.
    pub archive: Option<PathBuf>,
    /// The resources of kernels and functions; empty if no tool reported them. AMD's code objects have
    /// those of kernels, the assembly has those of functions.
    pub usage: Vec<Usage>,
    has_kernels: bool,
    pub(crate) sources: Vec<PathBuf>,
}

impl DeviceImage {
    /// Whether it has kernels to launch.
    #[must_use]
    pub fn has_kernels(&self) -> bool {
        self.has_kernels
    }

    /// The cubin, if a driver can load it: one without kernels is for a linker.
    pub(crate) fn loadable_cubin(&self) -> Option<PathBuf> {
        self.cubin.clone().filter(|_| self.has_kernels)
    }
}

/// Builds the crate in the folder `dir` for `arch`. The results go to the folder `out`, which is
/// created. Other builds for GPUs in the same [`WORK`](crate::WORK) folder wait.
///
/// # Errors
/// The crate does not build, or a tool fails.
pub fn build(
    toolchain: &Toolchain,
    assemblers: &Assemblers,
    dir: &Path,
    arch: &'static Arch,
    out: &Path,
) -> Result<DeviceImage, BuildError> {
    // PTX is assembly.
    let emits_assembly = arch.target == Target::Nvptx;
    build_in(toolchain, assemblers, dir, arch, out, emits_assembly)
}

/// Like [`build`], with the assembly. For AMD, the compiler generates all code once more for it.
///
/// # Errors
/// As for [`build`].
pub fn build_with_assembly(
    toolchain: &Toolchain,
    assemblers: &Assemblers,
    dir: &Path,
    arch: &'static Arch,
    out: &Path,
) -> Result<DeviceImage, BuildError> {
    build_in(toolchain, assemblers, dir, arch, out, true)
}

fn build_in(
    toolchain: &Toolchain,
    assemblers: &Assemblers,
    dir: &Path,
    arch: &'static Arch,
    out: &Path,
    emits_assembly: bool,
) -> Result<DeviceImage, BuildError> {
    let krate = Crate::at(dir)?;
    fs::create_dir_all(out).map_err(io_at(out))?;
    let work = Work::lock(out, "device")?;
    let compiled = cargo::compile(toolchain, &krate, arch, work.dir(), emits_assembly)?;
    let place = |extension: &str| out.join(format!("{}.{extension}", krate.file));
    // Removes old files, so that a file that this build does not make is not taken for its result.
    for extension in ["ptx", "cubin", "hsaco", "bc", "s"] {
        remove(&place(extension))?;
    }
    let bitcode = place("bc");
    copy(&compiled.bitcode, &bitcode)?;
    let assembly = place("s");
    if let Some(from) = &compiled.assembly {
        copy(from, &assembly)?;
    }
    let mut image = DeviceImage {
        arch,
        ptx: None,
        cubin: None,
        assembler: None,
        code_object: None,
        assembly: emits_assembly.then(|| assembly.clone()),
        bitcode,
        archive: None,
        usage: vec![],
        has_kernels: false,
        sources: compiled.sources,
    };
    // Whether others can link it with their kernels.
    let defines_target_ext = match arch.target {
        Target::Nvptx => {
            let path = place("ptx");
            let written = fs::read_to_string(&assembly).map_err(io_at(&assembly))?;
            let malformed = malformed_at(&assembly);
            let ptx = ptx::with_markers(&written).map_err(&malformed)?;
            fs::write(&path, &ptx).map_err(io_at(&path))?;
            image.has_kernels = ptx::has_kernels(&ptx).map_err(&malformed)?;
            // The assembler links here, and later the driver does; neither explains an undefined
            // symbol. Without kernels another linker resolves it.
            let undefined = ptx::undefined(&ptx).map_err(&malformed)?;
            if let Some(symbol) = undefined.filter(|_| image.has_kernels) {
                return Err(BuildError::Undefined {
                    path,
                    symbol: symbol.to_owned(),
                });
            }
            if let Some(ptxas) = assemblers.for_arch(arch.name) {
                let cubin = place("cubin");
                image.usage = ptxas.assemble(&path, arch.name, &cubin, !image.has_kernels)?;
                if !image.has_kernels {
                    image.usage = usage_in_a_kernel(ptxas, &ptx, arch, &place("caller.ptx"))?;
                }
                image.cubin = Some(cubin);
                image.assembler = Some(ptxas.description());
            }
            image.ptx = Some(path);
            ptx.contains(".visible .func GOMP_target_ext(")
        }
        Target::Amdgcn => {
            let archive = out.join(format!("lib{}.a", krate.file));
            copy(&compiled.archive, &archive)?;
            let code_object = place("hsaco");
            code_object::link(toolchain, &archive, &code_object)?;
            image.usage = code_object::usage(&code_object)?;
            image.has_kernels = !image.usage.is_empty();
            let is_defined = code_object::defines_target_ext(&archive)?;
            if !image.has_kernels && emits_assembly {
                let text = fs::read_to_string(&assembly).map_err(io_at(&assembly))?;
                image.usage = code_object::usage_of_target_ext(&text);
            }
            image.code_object = Some(code_object);
            image.archive = Some(archive);
            is_defined
        }
    };
    if !image.has_kernels && !defines_target_ext {
        return Err(BuildError::NoCrate {
            path: dir.to_owned(),
            reason: NoCrate::NoKernels,
        });
    }
    Ok(image)
}

fn remove(path: &Path) -> Result<(), BuildError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_at(path)(error)),
        _ => Ok(()),
    }
}

/// For `map_err`: the error about PTX at `path`.
fn malformed_at(path: &Path) -> impl Fn(Malformed) -> BuildError + use<> {
    let path = path.to_owned();
    move |error| BuildError::Output {
        path: path.clone(),
        reason: error.into(),
    }
}

/// The resources of a kernel that calls the `GOMP_target_ext` of `ptx`, which has no kernel. Empty
/// for PTX that needs other files' variables.
fn usage_in_a_kernel(
    ptxas: &ptxas::Ptxas,
    ptx: &str,
    arch: &Arch,
    caller: &Path,
) -> Result<Vec<Usage>, BuildError> {
    let undefined = ptx::undefined(ptx).map_err(malformed_at(caller))?;
    if !ptx.contains(".func GOMP_target_ext(") || undefined.is_some() {
        return Ok(vec![]);
    }
    fs::write(caller, format!("{ptx}{}", ptx::CALLER)).map_err(io_at(caller))?;
    ptxas.assemble(caller, arch.name, &caller.with_extension("cubin"), false)
}

fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::copy(from, to).map(drop).map_err(io_at(from))
}
