//! shared-abi/include/revoff_abi.h: shared-abi for C.
//!
//! cbindgen writes the types. It cannot follow constants through expressions, macros and modules
//! with names of their own, so it gets a flat copy of the types with C names and numeric lengths,
//! and the constants come from [`constants`].

mod constants;
mod names;
mod types;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::abi::Abi;
use crate::source::read_crate;

const FILE: &str = "shared-abi/include/revoff_abi.h";
const CONFIG: &str = "shared-abi/cbindgen.toml";

/// Writes the header.
pub(crate) fn write(root: &Path) -> Result<String> {
    let path = root.join(FILE);
    fs::write(&path, generate(root)?).with_context(|| format!("cannot write {FILE}"))?;
    Ok(format!("wrote {FILE}"))
}

/// Fails if the header differs from the output of `headers`.
pub(crate) fn check(root: &Path) -> Result<String> {
    let is = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    compare(&is, &generate(root)?)?;
    Ok(format!("headers: {FILE} is up to date"))
}

fn compare(is: &str, should: &str) -> Result<()> {
    let Some(line) = first_difference(is, should) else {
        return Ok(());
    };
    bail!("{FILE}:{line}: error: stale; run `cargo xtask headers`")
}

/// Number of the first line that differs.
fn first_difference(is: &str, should: &str) -> Option<usize> {
    if is == should {
        return None;
    }
    let same = is.lines().zip(should.lines()).take_while(|(a, b)| a == b);
    Some(same.count() + 1)
}

fn generate(root: &Path) -> Result<String> {
    let abi = Abi::new(read_crate(root, &root.join("shared-abi/src"))?);
    let names = names::Names::new(&abi);
    let mut config = cbindgen::Config::from_file(root.join(CONFIG))
        .map_err(|error| anyhow::anyhow!("{CONFIG}: {error}"))?;
    let after = config.after_includes.take().unwrap_or_default();
    config.after_includes = Some(format!("{after}\n{}", constants::render(&abi, &names)?));
    // cbindgen writes only the listed types, in this order.
    config.export.include = abi
        .in_order()
        .into_iter()
        .filter_map(|of| names.of_type(&of.item.ident.to_string()))
        .map(str::to_owned)
        .collect();

    let source = Flat::write(&types::flatten(&abi, &names)?)?;
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(&source.0)
        .generate()
        .context("cbindgen")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text)?;
    // cbindgen leaves out, with a warning, types that C cannot express.
    for name in names.types() {
        let defined = text.lines().any(|line| {
            let end = line.ends_with(&format!(" {name};"));
            end && (line.starts_with("} ") || line.starts_with("typedef uint"))
        });
        ensure!(defined, "cbindgen left out `{name}`");
    }
    Ok(format!("{}\n", text.trim_end()))
}

/// A source file for cbindgen, which reads only files; removed on drop.
struct Flat(PathBuf);

impl Flat {
    fn write(text: &str) -> Result<Flat> {
        let name = format!("revoff-abi-{}.rs", std::process::id());
        let flat = Flat(std::env::temp_dir().join(name));
        fs::write(&flat.0, text).with_context(|| format!("cannot write {}", flat.0.display()))?;
        Ok(flat)
    }
}

impl Drop for Flat {
    fn drop(&mut self) {
        // A file left in the temporary directory does no harm.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_up_to_date_and_a_stale_one_is_found() {
        let root = crate::workspace_root();
        let should = generate(&root).expect("generates");
        let is = fs::read_to_string(root.join(FILE)).expect("there is a header");
        compare(&is, &should).expect("up to date");

        let stale = is.replacen("uint32_t abi_version;", "uint64_t abi_version;", 1);
        assert_ne!(stale, is, "the field is in the header");
        let error = compare(&stale, &should).expect_err("stale").to_string();
        let line = is
            .lines()
            .position(|l| l.contains("abi_version;"))
            .expect("line")
            + 1;
        assert!(
            error.starts_with(&format!("{FILE}:{line}: error: stale")),
            "{error}"
        );
        assert!(compare(&format!("{is}\n"), &should).is_err());
    }
}
