//! The cost of calls, for kernels that make them and for kernels that make none.

use std::fs;
use std::path::Path;

use codegen::workbench::{Built, Workbench};
use object::{Object, ObjectSection, ObjectSymbol};
use revoff_build::device::Usage;
use targets::arch::{Arch, Target};

use crate::rules::{LINKABLE, number};

/// Registers of a kernel that only makes a call, by the first architecture with this limit. Before
/// `sm_90`, NVIDIA's assembler makes calls of a warp's operations, and takes more registers.
const REGISTERS: [(u32, u32); 2] = [(90, 56), (70, 84)];
/// Maximum bytes of stack for the calls of the digest kernel.
const STACK: u32 = 256;

const QUIET: &str = "tests/codegen/quiet";
const BARE: &str = "tests/codegen/bare";
const DIGEST: &str = "examples/digest/kernel";
const QUIET_DIGEST: &str = "tests/codegen/quiet-digest";

/// Whether the assembler was found; prints if it was not.
fn is_assembled(built: &Built) -> bool {
    if built.image.cubin.is_none() {
        let arch = built.image.arch.name;
        crate::say(&format!(
            "SKIPPED codegen {arch}: no ptxas knows {arch}; name one that does in {}",
            revoff_build::device::PTXAS
        ));
    }
    built.image.cubin.is_some()
}

fn usage<'b>(built: &'b Built, kernel: &str) -> Result<&'b Usage, String> {
    let all = &built.image.usage;
    let found = all.iter().find(|usage| usage.name == kernel);
    found.ok_or_else(|| format!("what `{kernel}` uses is not known, only this: {all:?}"))
}

/// A kernel that only calls has no stack, spills nothing and leaves registers for other code.
pub(crate) fn call(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let built = bench.built(LINKABLE, arch)?;
    if !is_assembled(&built) {
        return Ok(());
    }
    let usage = usage(&built, "revoff_caller")?;
    let registers = usage.registers.unwrap_or(0);
    let Usage { stack, spilled, .. } = usage;
    crate::say(&format!(
        "{}: a call takes {registers} registers, {stack} bytes of stack, {spilled} spilled",
        arch.name
    ));
    let limit = REGISTERS.iter().find(|(first, _)| number(arch) >= *first);
    let most = limit.map_or(u32::MAX, |(_, most)| *most);
    if registers == 0 || registers > most {
        return Err(format!("{registers} registers, {most} is the most"));
    }
    if (*stack, *spilled) != (0, 0) {
        return Err(format!(
            "{stack} bytes of stack, {spilled} spilled: none is allowed"
        ));
    }
    Ok(())
}

/// A kernel without calls has no cost of them, neither in registers nor elsewhere in the image.
pub(crate) fn quiet(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let (quiet, bare) = (bench.built(QUIET, arch)?, bench.built(BARE, arch)?);
    if arch.target == Target::Nvptx && !is_assembled(&quiet) {
        return Ok(());
    }
    let (with, without) = (usage(&quiet, "sort")?, usage(&bare, "sort")?);
    if with != without {
        return Err(format!(
            "in an image with `GOMP_target_ext` {with:?}, without it {without:?}"
        ));
    }
    let (image, same) = (file(&quiet)?, file(&bare)?);
    let found = traces(&image)?;
    if !found.is_empty() {
        return Err(format!("{} holds {}", image.display(), found.join(", ")));
    }
    let (with, without) = (code(&image)?, code(&same)?);
    if with != without || with == 0 {
        return Err(format!(
            "{with} bytes of code in an image with `GOMP_target_ext`, {without} without it"
        ));
    }
    // The search must find calls in a kernel that makes them.
    let calling = match arch.target {
        Target::Nvptx => bench.built(DIGEST, arch)?,
        Target::Amdgcn => bench.built(LINKABLE, arch)?,
    };
    let calling = file(&calling)?;
    if traces(&calling)?.is_empty() {
        return Err(format!("nothing of a call in {}", calling.display()));
    }
    Ok(())
}

/// The loadable image for NVIDIA or AMD.
fn file(built: &Built) -> Result<std::path::PathBuf, String> {
    let image = &built.image;
    let file = image.cubin.as_ref().or(image.code_object.as_ref());
    file.cloned().ok_or_else(|| "no image".to_owned())
}

/// Sections and symbols of an image that belong to calls.
fn traces(image: &Path) -> Result<Vec<String>, String> {
    let bytes = fs::read(image).map_err(|error| error.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let sections = file
        .sections()
        .filter_map(|section| Some(section.name().ok()?.to_owned()));
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let symbols = symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned()));
    let is_trace = |name: &String| name.contains("GOMP_target_ext") || name.contains("call_on");
    Ok(sections.chain(symbols).filter(is_trace).collect())
}

/// Bytes of code in an image.
fn code(image: &Path) -> Result<u64, String> {
    let bytes = fs::read(image).map_err(|error| error.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let is_code = |name: &str| name == ".text" || name.starts_with(".text.");
    let sections = file.sections();
    let sections = sections.filter(|section| section.name().is_ok_and(is_code));
    Ok(sections.map(|section| section.size()).sum())
}

/// The digest kernel's own frame, with calls and without.
pub(crate) fn digest(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let (calling, quiet) = (bench.built(DIGEST, arch)?, bench.built(QUIET_DIGEST, arch)?);
    if !is_assembled(&calling) {
        return Ok(());
    }
    let (calling, quiet) = (usage(&calling, "digest")?, usage(&quiet, "digest")?);
    crate::say(&format!(
        "{}: the stack of digest is {} bytes, without calls {}; its registers are {:?}, without {:?}",
        arch.name, calling.stack, quiet.stack, calling.registers, quiet.registers
    ));
    if calling.stack > quiet.stack + STACK {
        return Err(format!(
            "calls take {} bytes of the stack of digest ({} instead of {}), {STACK} is the most",
            calling.stack - quiet.stack,
            calling.stack,
            quiet.stack
        ));
    }
    Ok(())
}
