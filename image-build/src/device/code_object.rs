//! AMD's code objects: linking, and the resources of their kernels.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};
use targets::arch::Arch;
use targets::code_object;

use super::Usage;
use super::cargo::llvm_options;
use super::toolchain::Toolchain;
use crate::error::{BuildError, io_at};

/// The symbols that a loadable image exports to the host; all others are local, and dropped if no
/// kernel needs them.
const EXPORTS: &str = "{ global: *.kd; __revoff_*; __gomp_*; local: *; };\n";

/// The function that OpenMP programs call.
const TARGET_EXT: &str = "GOMP_target_ext";

/// The memory of its own that a thread has for the registers that functions save, where the compiler cannot
/// determine how many functions call each other. Variables are elsewhere.
const SAVED_REGISTERS: u32 = 64 << 10;

/// LLVM's compiler with its options for optimised programs.
pub(crate) fn compiler(toolchain: &Toolchain, arch: &Arch) -> Result<Command, BuildError> {
    let mut command = toolchain.llc()?;
    command
        .args(["-O3", "-filetype=obj", "-relocation-model=pic"])
        // As rustc does.
        .args(["-function-sections", "-data-sections"])
        .args(llvm_options(arch.target))
        .arg(format!("-mcpu={}", arch.name))
        .arg(format!(
            "-amdgpu-assume-external-call-stack-size={SAVED_REGISTERS}"
        ));
    // As rustc does, too. It puts a trap behind each call that does not return.
    if arch.traps_in_place {
        command.arg("-trap-unreachable");
    }
    Ok(command)
}

/// Compiles LLVM's intermediate representation with [`compiler`], to the object file `to`.
pub(crate) fn compile(mut compiler: Command, program: &Path, to: &Path) -> Result<(), BuildError> {
    compiler.arg(program).arg("-o").arg(to);
    let tool = Path::new(compiler.get_program()).to_owned();
    let output = compiler.output().map_err(io_at(&tool))?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Tool {
        tool,
        input: program.to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Links `archive`, or an object file, into the code object `to`. A code object without kernels keeps
/// and exports everything, for inspection.
pub(crate) fn link(toolchain: &Toolchain, archive: &Path, to: &Path) -> Result<(), BuildError> {
    let mut command = toolchain.lld()?;
    command.args(["-shared", "--whole-archive"]).arg(archive);
    if has_kernels(archive)? {
        let exports = to.with_extension("exports");
        fs::write(&exports, EXPORTS).map_err(io_at(&exports))?;
        command.args(["--gc-sections", "--no-undefined"]);
        command.arg(format!("--version-script={}", exports.display()));
    }
    command.arg("-o").arg(to);
    let tool = Path::new(command.get_program()).to_owned();
    let output = command.output().map_err(io_at(&tool))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(match said.split("undefined symbol: ").nth(1) {
        Some(rest) => BuildError::Undefined {
            path: archive.to_owned(),
            symbol: rest.lines().next().unwrap_or_default().to_owned(),
        },
        None => BuildError::Tool {
            tool,
            input: archive.to_owned(),
            said,
        },
    })
}

fn has_kernels(path: &Path) -> Result<bool, BuildError> {
    Ok(definitions(path)?.iter().any(|name| name.ends_with(".kd")))
}

/// The names that an archive, or an object file, defines.
fn definitions(path: &Path) -> Result<Vec<String>, BuildError> {
    let bad = |error: object::Error| BuildError::Output {
        path: path.to_owned(),
        reason: error.into(),
    };
    let bytes = fs::read(path).map_err(io_at(path))?;
    if object::FileKind::parse(&*bytes).map_err(bad)? != object::FileKind::Archive {
        return Ok(definitions_in(&bytes));
    }
    let mut all = vec![];
    let members = object::read::archive::ArchiveFile::parse(&*bytes).map_err(bad)?;
    for member in members.members() {
        all.extend(definitions_in(
            member.map_err(bad)?.data(&*bytes).map_err(bad)?,
        ));
    }
    Ok(all)
}

/// Those of an object file; none of other files, such as the compiler's notes.
fn definitions_in(object: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(object) else {
        return vec![];
    };
    let defined = file.symbols().filter(|symbol| symbol.is_definition());
    defined
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}

/// The resources of the kernels in the code object at `path`, from its metadata.
pub(crate) fn usage(path: &Path) -> Result<Vec<Usage>, BuildError> {
    let bytes = fs::read(path).map_err(io_at(path))?;
    let said = code_object::read(&bytes).map_err(|error| BuildError::Output {
        path: path.to_owned(),
        reason: error.into(),
    })?;
    let usage = said.kernels.into_iter().map(|kernel| Usage {
        name: kernel.name,
        registers: Some(kernel.vgprs),
        stack: kernel.private,
        has_dynamic_stack: kernel.has_dynamic_stack,
        shared: kernel.group,
        // Counted in registers of four bytes.
        spilled: kernel.spilled_vgprs * 4,
    });
    Ok(usage.collect())
}

/// Whether an object file of an archive defines `GOMP_target_ext`.
pub(crate) fn defines_target_ext(archive: &Path) -> Result<bool, BuildError> {
    Ok(definitions(archive)?.iter().any(|name| name == TARGET_EXT))
}

/// The resources of `GOMP_target_ext` and its callees, from the symbols that the compiler sets in
/// its assembly.
pub(crate) fn usage_of_target_ext(assembly: &str) -> Vec<Usage> {
    let number = |what: &str| symbol(assembly, &format!("{TARGET_EXT}.{what}"), 0);
    match (number("num_vgpr"), number("private_seg_size")) {
        (Some(registers), Some(stack)) => vec![Usage {
            name: TARGET_EXT.to_owned(),
            registers: Some(registers),
            stack,
            ..Usage::default()
        }],
        _ => vec![],
    }
}

/// The value of a symbol: `.set NAME, EXPRESSION`, where an expression is a sum of numbers, symbols
/// and maxima of expressions. `depth` bounds cycles.
fn symbol(assembly: &str, name: &str, depth: u32) -> Option<u32> {
    let set = format!(".set {name}, ");
    let expression = assembly
        .lines()
        .find_map(|line| line.trim().strip_prefix(&set))?;
    (depth < 32).then(|| value(assembly, expression, depth + 1))?
}

fn value(assembly: &str, expression: &str, depth: u32) -> Option<u32> {
    let mut sum = 0;
    for term in split(expression, '+') {
        let list = term.strip_prefix("max(").and_then(|t| t.strip_suffix(')'));
        sum += match list {
            Some(list) => split(list, ',')
                .map(|each| value(assembly, each, depth))
                .try_fold(0, |most, each| Some(most.max(each?)))?,
            None => term
                .parse()
                .ok()
                .or_else(|| symbol(assembly, term, depth))?,
        };
    }
    Some(sum)
}

/// The parts of `text` between separators outside parentheses.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c == separator
    })
    .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::usage_of_target_ext;

    #[test]
    fn what_the_assembly_sets_is_added_up() {
        let assembly = "
\t.set .Lpanic.num_vgpr, 12
\t.set .Lpanic.private_seg_size, 0+max(.Lother.private_seg_size)
\t.set .Lother.private_seg_size, 32
\t.set GOMP_target_ext.num_vgpr, max(115, .Lpanic.num_vgpr)
\t.set GOMP_target_ext.private_seg_size, 16+max(.Lpanic.private_seg_size, 8)
";
        let usage = &usage_of_target_ext(assembly)[0];
        assert_eq!((usage.registers, usage.stack), (Some(115), 48));
        // A symbol that is undefined, or defined by itself, has no value.
        let unset = assembly.replace(".set .Lother", ".set .Lelse");
        assert!(usage_of_target_ext(&unset).is_empty());
        let circle = assembly.replace("size, 32", "size, .Lpanic.private_seg_size");
        assert!(usage_of_target_ext(&circle).is_empty());
    }
}
