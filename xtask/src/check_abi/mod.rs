//! Enforces rules of shared-abi/RULES.md, which messages refer to by number.

mod asserts;
mod fields;
mod items;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, ensure};
use syn::spanned::Spanned;

use crate::abi::{Abi, Struct, Value};
use crate::finding::{Finding, report};
use crate::source;

/// The number of types in shared-abi at the last change. A check that finds fewer has missed some,
/// or a type was removed: then reduce this number.
const TYPES: usize = 24;

/// The module where code pointers are allowed, because a `host` image and its host are one process
/// on one machine (rule 4).
const POINTERS: &str = "host_arch";

/// Checks the crate in `root`. Returns a summary.
pub(crate) fn run(root: &Path) -> Result<String> {
    let abi = Abi::new(source::read_crate(root, &root.join("shared-abi/src"))?);
    let mut findings = check(&abi);
    findings.extend(check_frozen(&abi, root));
    findings.extend(items::check_manifest(root)?);
    report(findings)?;
    ensure!(
        abi.structs.len() >= TYPES,
        "shared-abi: error: saw {} types where at least {TYPES} were: has the check gone blind?",
        abi.structs.len()
    );
    Ok(format!(
        "check-abi: {} types and {} constants keep to the rules",
        abi.structs.len(),
        abi.consts.len()
    ))
}

/// All violations in the sources.
fn check(abi: &Abi) -> Vec<Finding> {
    let mut found = Findings {
        abi,
        findings: Vec::new(),
    };
    items::check(&mut found);
    for item in abi.structs.values() {
        fields::check(&mut found, item);
    }
    for (at, module) in abi.modules.iter().enumerate() {
        let asserts = asserts::Asserts::of(module, module.is_under(POINTERS));
        for item in abi.structs.values().filter(|item| item.module == at) {
            asserts.check(&mut found, item);
        }
    }
    found.findings
}

/// Rule 8: the current version has its frozen test.
fn check_frozen(abi: &Abi, root: &Path) -> Option<Finding> {
    let constant = abi.consts.iter().find(|c| c.name == "ABI_VERSION")?;
    let Ok(Value::Int(version)) = abi.value(constant) else {
        return None;
    };
    let test = format!("shared-abi/tests/frozen/v{version}.rs");
    (!root.join(&test).exists()).then(|| Finding {
        file: abi.modules[constant.module].file.clone(),
        line: constant.line,
        message: format!("ABI_VERSION is {version} but there is no {test} (rule 8)"),
    })
}

/// Findings about one crate.
struct Findings<'a> {
    abi: &'a Abi,
    findings: Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, module: usize, at: &impl Spanned, message: String) {
        self.add_line(module, at.span().start().line, message);
    }

    fn add_line(&mut self, module: usize, line: usize, message: String) {
        self.findings.push(Finding {
            file: self.abi.modules[module].file.clone(),
            line,
            message,
        });
    }

    /// Adds a finding about a field, at its name.
    fn add_field(&mut self, module: usize, field: &syn::Field, message: String) {
        match &field.ident {
            Some(ident) => self.add(module, ident, message),
            None => self.add(module, &field.ty, message),
        }
    }

    /// Adds a finding about a struct as a whole.
    fn add_struct(&mut self, item: &Struct, message: &str) {
        let ident = &item.item.ident;
        self.add(item.module, ident, format!("`{ident}` {message}"));
    }
}
