//! Rules about whole items: allowed kinds, and no hidden items.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use super::Findings;
use crate::abi::NO_BOUNDARY;
use crate::finding::Finding;

pub(super) fn check(found: &mut Findings<'_>) {
    let abi = found.abi;
    for (at, module) in abi.modules.iter().enumerate() {
        for item in &module.items {
            check_item(found, at, item);
        }
    }
    for (at, line, name) in &abi.twice {
        let message = format!("there is another `{name}`, and C has one namespace (rule 1)");
        found.add_line(*at, *line, message);
    }
    for (at, line, name) in &abi.unknown_macros {
        let message = format!("`{name}!` makes items that this check cannot see (rule 9)");
        found.add_line(*at, *line, message);
    }
}

fn check_item(found: &mut Findings<'_>, at: usize, item: &syn::Item) {
    let exempt = found.abi.modules[at].is_under(NO_BOUNDARY);
    match item {
        syn::Item::Enum(item) if !exempt => found.add(
            at,
            &item.ident,
            format!(
                "`{}` is an enum: the other side may send any value; use a newtype with \
                 constants (rule 2)",
                item.ident
            ),
        ),
        syn::Item::Union(item) => found.add(
            at,
            &item.ident,
            format!("`{}` is a union (rule 2)", item.ident),
        ),
        syn::Item::Struct(item) if exempt && has_repr(&item.attrs) => found.add(
            at,
            &item.ident,
            format!(
                "`{}` is a boundary type in `{NO_BOUNDARY}` (rule 9)",
                item.ident
            ),
        ),
        syn::Item::Enum(item) if has_repr(&item.attrs) => found.add(
            at,
            &item.ident,
            format!(
                "`{}` is a boundary type in `{NO_BOUNDARY}` (rule 9)",
                item.ident
            ),
        ),
        syn::Item::Macro(item) if item.ident.is_some() && makes_types(&item.mac.tokens) => found
            .add(
                at,
                item,
                "a macro makes a type, which this check cannot see (rule 9)".to_owned(),
            ),
        syn::Item::Mod(item) if item.content.is_some() => found.add(
            at,
            &item.ident,
            format!(
                "module `{}` is there in some builds only (rule 9)",
                item.ident
            ),
        ),
        _ => {}
    }
}

fn has_repr(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("repr"))
}

fn makes_types(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "struct" || word == "enum" || word == "union",
        TokenTree::Group(group) => makes_types(&group.stream()),
        _ => false,
    })
}

/// Rule 10: no dependency, in a crate that device code links.
pub(super) fn check_manifest(root: &Path) -> Result<Option<Finding>> {
    let file = "shared-abi/Cargo.toml";
    let text =
        fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
    Ok(dependency_line(&text).map(|line| Finding {
        file: file.to_owned(),
        line,
        message: "shared-abi has no dependencies (rule 10)".to_owned(),
    }))
}

/// Line at which a manifest declares dependencies other than for development.
pub(super) fn dependency_line(manifest: &str) -> Option<usize> {
    let declares = |line: &str| {
        line.starts_with('[') && line.contains("dependencies") && !line.contains("dev-dependencies")
    };
    manifest.lines().position(declares).map(|at| at + 1)
}
