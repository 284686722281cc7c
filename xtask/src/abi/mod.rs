//! The types and constants of shared-abi, parsed from its sources.

mod eval;
mod layout;
mod table;

pub(crate) use eval::Value;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use syn::spanned::Spanned;

use crate::source::Module;

/// Macros that make constants: module, macro, type. Their body is a list of `#[doc = ..] NAME =
/// value;`. A parser does not expand macros, so each one that makes items is listed here or is an
/// error.
const CONST_TABLES: &[(&str, &str, &str)] = &[("map_kind", "kinds", "MapKind")];

/// The module whose types never cross the boundary: how both sides touch words.
pub(crate) const NO_BOUNDARY: &str = "words";

/// A boundary type of the crate.
pub(crate) struct Struct {
    pub(crate) module: usize,
    pub(crate) item: syn::ItemStruct,
}

/// A public constant of a boundary module.
pub(crate) struct Const {
    pub(crate) module: usize,
    /// The type that it is associated with.
    pub(crate) owner: Option<String>,
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) docs: Vec<String>,
    pub(crate) ty: syn::Type,
    pub(crate) expr: syn::Expr,
}

/// The crate. Types are known by name alone: C has one namespace for all.
pub(crate) struct Abi {
    pub(crate) modules: Vec<Module>,
    pub(crate) structs: BTreeMap<String, Struct>,
    pub(crate) consts: Vec<Const>,
    /// Names that two structs have, with the location of the second.
    pub(crate) twice: Vec<(usize, usize, String)>,
    /// Item macros that this parser does not know: module, line, name.
    pub(crate) unknown_macros: Vec<(usize, usize, String)>,
}

impl Abi {
    pub(crate) fn new(modules: Vec<Module>) -> Abi {
        let mut abi = Abi {
            modules: Vec::new(),
            structs: BTreeMap::new(),
            consts: Vec::new(),
            twice: Vec::new(),
            unknown_macros: Vec::new(),
        };
        for (at, module) in modules.iter().enumerate() {
            if module.is_under(NO_BOUNDARY) {
                continue;
            }
            for item in &module.items {
                abi.add(at, module, item);
            }
        }
        abi.modules = modules;
        abi
    }

    /// The types in the order of the sources.
    pub(crate) fn in_order(&self) -> Vec<&Struct> {
        let mut structs: Vec<&Struct> = self.structs.values().collect();
        structs.sort_by_key(|of| (of.module, of.item.ident.span().start().line));
        structs
    }

    fn add(&mut self, at: usize, module: &Module, item: &syn::Item) {
        match item {
            syn::Item::Struct(item) => {
                let name = item.ident.to_string();
                match self.structs.entry(name) {
                    Entry::Occupied(first) => {
                        let line = item.ident.span().start().line;
                        self.twice.push((at, line, first.key().clone()));
                    }
                    Entry::Vacant(free) => {
                        let item = item.clone();
                        free.insert(Struct { module: at, item });
                    }
                }
            }
            syn::Item::Const(item) if is_pub(&item.vis) => self.consts.push(Const {
                module: at,
                owner: None,
                name: item.ident.to_string(),
                line: item.ident.span().start().line,
                docs: docs(&item.attrs),
                ty: (*item.ty).clone(),
                expr: (*item.expr).clone(),
            }),
            syn::Item::Impl(item) if item.trait_.is_none() => self.add_associated(at, item),
            syn::Item::Macro(item) if item.ident.is_none() => self.add_table(at, module, item),
            _ => {}
        }
    }

    fn add_associated(&mut self, at: usize, item: &syn::ItemImpl) {
        for member in &item.items {
            if let syn::ImplItem::Const(member) = member
                && is_pub(&member.vis)
            {
                self.consts.push(Const {
                    module: at,
                    owner: last_segment(&item.self_ty),
                    name: member.ident.to_string(),
                    line: member.ident.span().start().line,
                    docs: docs(&member.attrs),
                    ty: member.ty.clone(),
                    expr: member.expr.clone(),
                });
            }
        }
    }

    fn add_table(&mut self, at: usize, module: &Module, item: &syn::ItemMacro) {
        let line = item.mac.path.span().start().line;
        let called = item.mac.path.segments.last().map(|s| s.ident.to_string());
        let called = called.unwrap_or_default();
        let table = CONST_TABLES
            .iter()
            .find(|(place, name, _)| *place == module.path.join("::") && *name == called);
        let Some((_, _, owner)) = table else {
            self.unknown_macros.push((at, line, called));
            return;
        };
        match item.mac.parse_body::<table::Table>() {
            Ok(rows) => self.consts.extend(rows.0.into_iter().map(|row| Const {
                module: at,
                owner: Some((*owner).to_owned()),
                name: row.name.to_string(),
                line: row.name.span().start().line,
                docs: docs(&row.attrs),
                ty: syn::parse_quote!(Self),
                expr: row.value,
            })),
            Err(_) => self.unknown_macros.push((at, line, called)),
        }
    }
}

pub(crate) fn is_pub(vis: &syn::Visibility) -> bool {
    matches!(vis, syn::Visibility::Public(_))
}

/// Lines of the documentation.
pub(crate) fn docs(attrs: &[syn::Attribute]) -> Vec<String> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident("doc"))
        .filter_map(|attr| match &attr.meta.require_name_value().ok()?.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        })
        .collect()
}

/// `c` of `a::b::c`.
pub(crate) fn last_segment(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
}
