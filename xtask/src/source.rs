//! Reads a crate's files, every one under `src`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A file of the crate, or a module inside one.
pub(crate) struct Module {
    /// Relative to the workspace.
    pub(crate) file: String,
    /// `["wire", "native"]`.
    pub(crate) path: Vec<String>,
    pub(crate) items: Vec<syn::Item>,
}

impl Module {
    /// Whether it is the top-level module of that name, or inside it.
    pub(crate) fn is_under(&self, name: &str) -> bool {
        self.path.first().is_some_and(|first| first == name)
    }
}

/// Parses every file under `dir`, a crate's `src`. It lists the files instead of following `mod`
/// declarations, so that no way of declaring a module is missed.
pub(crate) fn read_crate(root: &Path, dir: &Path) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    read_dir(root, dir, &[], &mut modules)?;
    Ok(modules)
}

fn read_dir(root: &Path, dir: &Path, under: &[String], modules: &mut Vec<Module>) -> Result<()> {
    let mut entries = fs::read_dir(dir)
        .with_context(|| format!("cannot read {}", dir.display()))?
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut inner = under.to_vec();
        if path.is_dir() {
            inner.push(stem.into_owned());
            read_dir(root, &path, &inner, modules)?;
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            if !matches!(&*stem, "lib" | "main" | "mod") {
                inner.push(stem.into_owned());
            }
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let file = path.strip_prefix(root).unwrap_or(&path);
            modules.extend(parse_str(&file.display().to_string(), inner, &text)?);
        }
    }
    Ok(())
}

/// Parses one file: it and the modules inside it.
pub(crate) fn parse_str(file: &str, path: Vec<String>, text: &str) -> Result<Vec<Module>> {
    let ast = syn::parse_file(text)
        .map_err(|error| anyhow::anyhow!("{file}:{}: error: {error}", error.span().start().line))?;
    let mut modules = Vec::new();
    split(file, path, ast.items, &mut modules);
    Ok(modules)
}

fn split(file: &str, path: Vec<String>, items: Vec<syn::Item>, modules: &mut Vec<Module>) {
    let mut own = Vec::new();
    for item in items {
        match item {
            syn::Item::Mod(syn::ItemMod {
                ident,
                content: Some((_, items)),
                attrs,
                ..
            }) if !is_cfg(&attrs) => {
                let mut inner = path.clone();
                inner.push(ident.to_string());
                split(file, inner, items, modules);
            }
            item => own.push(item),
        }
    }
    modules.push(Module {
        file: file.to_owned(),
        path,
        items: own,
    });
}

/// Whether an item exists in some builds only.
pub(crate) fn is_cfg(attrs: &[syn::Attribute]) -> bool {
    attrs
        .iter()
        .any(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"))
}

/// Whether an item exists in tests only.
pub(crate) fn is_test(attrs: &[syn::Attribute]) -> bool {
    let is_test = |attr: &syn::Attribute| {
        attr.path().is_ident("cfg")
            && attr
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("test"))
    };
    attrs.iter().any(is_test)
}
