//! The body of a macro that makes constants.

use syn::parse::{Parse, ParseStream};

/// A list of `#[doc = ..] NAME = value;`.
pub(super) struct Table(pub(super) Vec<Row>);

pub(super) struct Row {
    pub(super) attrs: Vec<syn::Attribute>,
    pub(super) name: syn::Ident,
    pub(super) value: syn::Expr,
}

impl Parse for Table {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut rows = Vec::new();
        while !input.is_empty() {
            let attrs = input.call(syn::Attribute::parse_outer)?;
            let name = input.parse()?;
            input.parse::<syn::Token![=]>()?;
            let value = input.parse()?;
            input.parse::<syn::Token![;]>()?;
            rows.push(Row { attrs, name, value });
        }
        Ok(Table(rows))
    }
}
