//! shared-abi's types in the form that cbindgen reads, with C names and numeric lengths.

use anyhow::{Context, Result};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::Type;
use syn::visit_mut::VisitMut;

use super::names::Names;
use crate::abi::{self, Abi, Struct};

pub(super) fn flatten(abi: &Abi, names: &Names) -> Result<String> {
    let mut out = TokenStream::new();
    for item in abi.in_order() {
        out.extend(one(abi, names, item)?);
    }
    Ok(out.to_string())
}

fn one(abi: &Abi, names: &Names, of: &Struct) -> Result<TokenStream> {
    let mut item = of.item.clone();
    let name = item.ident.to_string();
    let c_name = names
        .of_type(&name)
        .with_context(|| format!("no name for `{name}`"))?;
    item.ident = format_ident!("{c_name}");
    item.attrs = attributes(names, &item.attrs);
    let mut types = Types {
        abi,
        names,
        module: of.module,
        error: None,
    };
    for field in &mut item.fields {
        field.attrs = attributes(names, &field.attrs);
        types.visit_type_mut(&mut field.ty);
    }
    match types.error {
        None => Ok(item.to_token_stream()),
        Some(error) => Err(error.context(format!("fields of `{name}`"))),
    }
}

/// The layout attributes, and the documentation with C names.
fn attributes(names: &Names, attrs: &[syn::Attribute]) -> Vec<syn::Attribute> {
    let reprs = attrs.iter().filter(|attr| attr.path().is_ident("repr"));
    let docs = names.docs(&abi::docs(attrs));
    let docs = docs.iter().map(|line| syn::parse_quote!(#[doc = #line]));
    reprs.cloned().chain(docs).collect()
}

struct Types<'a> {
    abi: &'a Abi,
    names: &'a Names,
    module: usize,
    error: Option<anyhow::Error>,
}

impl VisitMut for Types<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Array(array) = ty {
            match self.abi.array_len(self.module, array) {
                Ok(len) => {
                    let len = Literal::u64_unsuffixed(len);
                    array.len = syn::parse_quote!(#len);
                }
                Err(error) => self.error = Some(error),
            }
            self.visit_type_mut(&mut array.elem);
            return;
        }
        if let Some(name) = abi::last_segment(ty).and_then(|name| self.names.of_type(&name)) {
            let name = format_ident!("{name}");
            *ty = Type::Verbatim(quote!(#name));
            return;
        }
        syn::visit_mut::visit_type_mut(self, ty);
    }
}
