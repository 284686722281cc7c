//! Values of constant expressions. Only the kinds that shared-abi uses are supported; others are
//! errors.

use anyhow::{Context, Result, anyhow, bail};
use quote::ToTokens;
use syn::{BinOp, Expr, Lit};

use super::{Abi, Const, last_segment, layout};

/// Value of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i128),
    Text(String),
}

impl Abi {
    /// The value of a constant.
    pub(crate) fn value(&self, constant: &Const) -> Result<Value> {
        if let Expr::Lit(syn::ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &constant.expr
        {
            return Ok(Value::Text(text.value()));
        }
        self.int(constant.module, &constant.expr).map(Value::Int)
    }

    /// The value of an integer expression in module `at`.
    pub(super) fn int(&self, at: usize, expr: &Expr) -> Result<i128> {
        let unknown = || anyhow!("cannot evaluate `{}`", expr.to_token_stream());
        match expr {
            Expr::Lit(syn::ExprLit {
                lit: Lit::Int(value),
                ..
            }) => Ok(value.base10_parse()?),
            Expr::Paren(inner) => self.int(at, &inner.expr),
            Expr::Group(inner) => self.int(at, &inner.expr),
            // Only conversions between widths that hold the value; rustc checks the rest.
            Expr::Cast(cast) => self.int(at, &cast.expr),
            Expr::Unary(syn::ExprUnary {
                op: syn::UnOp::Neg(_),
                expr,
                ..
            }) => Ok(-self.int(at, expr)?),
            Expr::Binary(both) => {
                let (a, b) = (self.int(at, &both.left)?, self.int(at, &both.right)?);
                let result = match both.op {
                    BinOp::Add(_) => a.checked_add(b),
                    BinOp::Sub(_) => a.checked_sub(b),
                    BinOp::Mul(_) => a.checked_mul(b),
                    BinOp::Div(_) => a.checked_div(b),
                    BinOp::BitOr(_) => Some(a | b),
                    BinOp::Shl(_) => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
                    _ => None,
                };
                result.with_context(unknown)
            }
            Expr::Path(path) => self.named(at, &path.path).with_context(unknown),
            Expr::Call(call) => self.call(at, call).with_context(unknown),
            _ => Err(unknown()),
        }
    }

    fn named(&self, at: usize, path: &syn::Path) -> Result<i128> {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let name = names.last().context("an empty path")?;
        let before = names.len().checked_sub(2).map(|i| names[i].as_str());
        if let Some(int) = before.and_then(layout::int_type) {
            return match name.as_str() {
                "MIN" => Ok(int.min()),
                "MAX" => Ok(int.max()),
                _ => bail!("unknown constant of an integer type"),
            };
        }
        let constant = self.consts.iter().find(|c| {
            c.name == *name
                && match before {
                    None => c.owner.is_none() && c.module == at,
                    Some(before) => {
                        c.owner.as_deref() == Some(before)
                            || c.owner.is_none()
                                && self.modules[c.module]
                                    .path
                                    .last()
                                    .is_some_and(|m| m == before)
                    }
                }
        });
        let constant = constant.context("no such public constant")?;
        self.int(constant.module, &constant.expr)
    }

    fn call(&self, at: usize, call: &syn::ExprCall) -> Result<i128> {
        let Expr::Path(syn::ExprPath { path, .. }) = &*call.func else {
            bail!("a call of something unnamed");
        };
        let last = path.segments.last().context("an empty path")?;
        match (last.ident.to_string().as_str(), call.args.first()) {
            ("size_of", None) => {
                let syn::PathArguments::AngleBracketed(of) = &last.arguments else {
                    bail!("size_of without a type");
                };
                let Some(syn::GenericArgument::Type(ty)) = of.args.first() else {
                    bail!("size_of without a type");
                };
                Ok(i128::from(self.layout(at, ty)?.size))
            }
            ("from_le_bytes", Some(Expr::Unary(bytes))) => match &*bytes.expr {
                Expr::Lit(syn::ExprLit {
                    lit: Lit::ByteStr(bytes),
                    ..
                }) => {
                    let bytes: [u8; 8] = bytes.value().as_slice().try_into()?;
                    Ok(i128::from(u64::from_le_bytes(bytes)))
                }
                _ => bail!("not a byte string"),
            },
            // A newtype's value is its inner value.
            (name, Some(inner)) if self.newtype_of(name).is_some() => self.int(at, inner),
            _ => bail!("unknown function"),
        }
    }

    /// The integer type that a constant has, through a newtype if there is one;
    /// `None` for text and lists.
    pub(crate) fn int_name(&self, constant: &Const) -> Option<String> {
        let mut name = last_segment(&constant.ty)?;
        if name == "Self" {
            name = constant.owner.clone()?;
        }
        if layout::int_type(&name).is_some() {
            return Some(name);
        }
        last_segment(self.newtype_of(&name)?)
    }

    /// The inner type of the `repr(transparent)` struct of that name.
    fn newtype_of(&self, name: &str) -> Option<&syn::Type> {
        match &self.structs.get(name)?.item.fields {
            syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                Some(&fields.unnamed[0].ty)
            }
            _ => None,
        }
    }
}
