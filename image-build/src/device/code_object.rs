//! AMD's code objects: linking, and the resources of their kernels.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSymbol};
use targets::code_object;

use super::Usage;
use super::toolchain::Toolchain;
use crate::error::{BuildError, io_at};

/// The symbols that a loadable image exports to the host; all others are local, and dropped if no
/// kernel needs them.
const EXPORTS: &str = "{ global: *.kd; __revoff_*; __gomp_*; local: *; };\n";

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
    let symbols = definitions(path)?;
    Ok(symbols.iter().any(|(name, _)| name.ends_with(".kd")))
}

/// The symbols that an archive, or an object file, defines, with their values.
fn definitions(path: &Path) -> Result<Vec<(String, u64)>, BuildError> {
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
fn definitions_in(object: &[u8]) -> Vec<(String, u64)> {
    let Ok(file) = object::File::parse(object) else {
        return vec![];
    };
    let defined = file.symbols().filter(|symbol| !symbol.is_undefined());
    defined
        .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
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

/// The resources of `GOMP_target_ext` and its callees, from the symbols that the compiler makes for each
/// function of the object files in an archive; none if it does not define that function.
pub(crate) fn usage_of_target_ext(archive: &Path) -> Result<Option<Usage>, BuildError> {
    const NAME: &str = "GOMP_target_ext";
    let symbols = definitions(archive)?;
    let value = |name: &str| {
        symbols
            .iter()
            .find(|(it, _)| it == name)
            .map(|it| it.1 as u32)
    };
    let number = |what: &str| value(&format!("{NAME}.{what}"));
    Ok(value(NAME).map(|_| Usage {
        name: NAME.to_owned(),
        registers: number("num_vgpr"),
        stack: number("private_seg_size").unwrap_or(0),
        ..Usage::default()
    }))
}
