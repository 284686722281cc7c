//! Rule 7: size, alignment and offsets are asserted with literal numbers, which the compiler checks
//! and a reader sees. rustc checks their values; this checks that none is missing.

use std::collections::BTreeSet;

use quote::ToTokens;

use super::Findings;
use super::fields::name_of;
use crate::abi::Struct;
use crate::source::{Module, is_cfg};

/// The left sides of a module's `assert!(LEFT == LITERAL && ..)` at compile
/// time, without spaces: `size_of::<T>()`, `offset_of!(T,field)`.
pub(super) struct Asserts(BTreeSet<String>);

impl Asserts {
    /// `width`: whether assertions for one pointer width count.
    pub(super) fn of(module: &Module, width: bool) -> Asserts {
        let mut asserts = Asserts(BTreeSet::new());
        for item in &module.items {
            if let syn::Item::Const(item) = item
                && item.ident == "_"
                && (width || !is_cfg(&item.attrs))
            {
                asserts.read(&item.expr);
            }
        }
        asserts
    }

    fn read(&mut self, expr: &syn::Expr) {
        match expr {
            syn::Expr::Block(block) => {
                for statement in &block.block.stmts {
                    match statement {
                        syn::Stmt::Macro(call) => self.read_macro(&call.mac),
                        syn::Stmt::Expr(expr, _) => self.read(expr),
                        _ => {}
                    }
                }
            }
            syn::Expr::Macro(call) => self.read_macro(&call.mac),
            _ => {}
        }
    }

    fn read_macro(&mut self, mac: &syn::Macro) {
        if mac.path.is_ident("assert")
            && let Ok(condition) = mac.parse_body::<syn::Expr>()
        {
            self.read_condition(&condition);
        }
    }

    fn read_condition(&mut self, condition: &syn::Expr) {
        let syn::Expr::Binary(both) = condition else {
            return;
        };
        match both.op {
            syn::BinOp::And(_) => {
                self.read_condition(&both.left);
                self.read_condition(&both.right);
            }
            syn::BinOp::Eq(_) if matches!(*both.right, syn::Expr::Lit(_)) => {
                let left = both.left.to_token_stream().to_string().replace(' ', "");
                let plain = left.trim_start_matches("core::mem::");
                self.0.insert(plain.to_owned());
            }
            _ => {}
        }
    }

    pub(super) fn check(&self, found: &mut Findings<'_>, item: &Struct) {
        let ident = &item.item.ident;
        for what in ["size_of", "align_of"] {
            if !self.0.contains(&format!("{what}::<{ident}>()")) {
                let message = format!("has no `assert!({what}::<{ident}>() == N)` (rule 7)");
                found.add_struct(item, &message);
            }
        }
        // `repr(transparent)` puts a newtype's one field at 0.
        if matches!(item.item.fields, syn::Fields::Unnamed(_)) && item.item.fields.len() == 1 {
            return;
        }
        for (at, field) in item.item.fields.iter().enumerate() {
            let name = name_of(at, field);
            if !self.0.contains(&format!("offset_of!({ident},{name})")) {
                let message = format!("no `assert!(offset_of!({ident}, {name}) == N)` (rule 7)");
                found.add_field(item.module, field, message);
            }
        }
    }
}
