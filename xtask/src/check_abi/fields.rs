//! Rules about a struct and its fields.

use quote::ToTokens;
use syn::Type;

use super::{Findings, POINTERS};
use crate::abi::{self, Struct};
use crate::source::is_cfg;

pub(super) fn check(found: &mut Findings<'_>, item: &Struct) {
    check_shape(found, item);
    let pointers = found.abi.modules[item.module].is_under(POINTERS);
    for (at, field) in item.item.fields.iter().enumerate() {
        let name = name_of(at, field);
        let mut say = |message: String| {
            found.add_field(item.module, field, format!("field `{name}` {message}"));
        };
        if !abi::is_pub(&field.vis) {
            say("is not pub: both sides write every word (rule 6)".to_owned());
        }
        if abi::docs(&field.attrs).is_empty() {
            say("is not documented (rule 6)".to_owned());
        }
        if is_cfg(&field.attrs) {
            say("is there in some builds only (rule 1)".to_owned());
        }
        if let Some(why) = refuse(found.abi, pointers, &field.ty) {
            let message = format!("field `{name}`: {why}");
            found.add(item.module, &field.ty, message);
        }
    }
    check_padding(found, item);
}

fn check_shape(found: &mut Findings<'_>, item: &Struct) {
    let strukt = &item.item;
    let mut reprs: Vec<String> = Vec::new();
    for attr in strukt.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        // Only names and `align(N)` parse; the rest stays as text.
        let list = attr.meta.require_list().map(|list| list.tokens.to_string());
        reprs.extend(
            list.unwrap_or_default()
                .split(',')
                .map(|r| r.trim().to_owned()),
        );
    }
    match reprs.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["C"] | ["transparent"] => {}
        ["C", align] if align.starts_with("align") => {}
        _ => found.add_struct(
            item,
            "is neither repr(C), repr(C, align(N)) nor repr(transparent) (rule 1)",
        ),
    }
    if !abi::is_pub(&strukt.vis) {
        found.add_struct(item, "is not pub (rule 6)");
    }
    if abi::docs(&strukt.attrs).is_empty() {
        found.add_struct(item, "is not documented (rule 6)");
    }
    if is_cfg(&strukt.attrs) {
        found.add_struct(item, "is there in some builds only (rule 1)");
    }
    if !strukt.generics.params.is_empty() {
        found.add_struct(item, "is generic: it has no one layout (rule 1)");
    }
    if strukt.fields.is_empty() {
        found.add_struct(item, "has no fields: C has no empty struct (rule 1)");
    }
}

/// The reason why a field may not have this type.
fn refuse(abi: &abi::Abi, pointers: bool, ty: &Type) -> Option<String> {
    let written = ty.to_token_stream().to_string();
    match ty {
        Type::Array(array) => refuse(abi, pointers, &array.elem),
        Type::Path(path) => {
            let name = path.path.segments.last()?.ident.to_string();
            match name.as_str() {
                "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" => None,
                "usize" | "isize" => Some(format!(
                    "`{written}` has a width of its own on each side; use u32 or u64 (rule 3)"
                )),
                "bool" | "char" => Some(format!(
                    "`{written}` has values that the other side must not send; use an \
                     integer (rule 3)"
                )),
                _ if abi.structs.contains_key(&name) => None,
                _ => Some(format!(
                    "`{written}` is neither a fixed-width integer nor a boundary type (rule 3)"
                )),
            }
        }
        Type::Reference(_) => Some(format!(
            "`{written}` is a reference: nothing vouches for it on the other side (rule 4)"
        )),
        Type::Ptr(_) => Some(format!(
            "`{written}` is a pointer: a device address is a u64 (rule 4)"
        )),
        Type::BareFn(function) if pointers => refuse_function(function),
        Type::BareFn(_) => Some(format!(
            "a function pointer outside `{POINTERS}`: an address is a u64 (rule 4)"
        )),
        _ => Some(format!(
            "`{written}` is neither a fixed-width integer nor a boundary type (rule 3)"
        )),
    }
}

fn refuse_function(function: &syn::TypeBareFn) -> Option<String> {
    let abi = function.abi.as_ref().and_then(|abi| abi.name.as_ref());
    let plain = function.unsafety.is_some() && abi.is_some_and(|abi| abi.value() == "C");
    (!plain).then(|| "a function pointer is `unsafe extern \"C\" fn` (rule 4)".to_owned())
}

/// Rule 5. Bytes without a name have no value that both sides agree on.
fn check_padding(found: &mut Findings<'_>, item: &Struct) {
    let (_, fields, tail) = match found.abi.struct_layout(item) {
        Ok(layout) => layout,
        Err(error) => {
            found.add_struct(item, &format!("has no known layout: {error:#} (rule 5)"));
            return;
        }
    };
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| field.gap > 0) {
        let message = format!(
            "{} bytes of padding before field `{}`: name them `reserved` (rule 5)",
            field.gap,
            name_of(at, field.field)
        );
        found.add_field(item.module, field.field, message);
    }
    if tail > 0 {
        let message = format!("ends in {tail} bytes of padding: name them `reserved` (rule 5)");
        found.add_struct(item, &message);
    }
}

pub(super) fn name_of(at: usize, field: &syn::Field) -> String {
    field
        .ident
        .as_ref()
        .map_or_else(|| at.to_string(), syn::Ident::to_string)
}
