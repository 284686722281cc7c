//! Sizes and offsets as `repr(C)` gives them.

use anyhow::{Context, Result, bail, ensure};
use quote::ToTokens;

use super::{Abi, Struct};

/// Size and alignment in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: u64,
    pub(crate) align: u64,
}

/// A field and its padding.
pub(crate) struct Field<'a> {
    pub(crate) field: &'a syn::Field,
    /// Bytes of padding before it.
    pub(crate) gap: u64,
}

/// An integer type.
#[derive(Clone, Copy)]
pub(super) struct IntType {
    bytes: u32,
    signed: bool,
}

impl IntType {
    pub(super) fn min(self) -> i128 {
        if self.signed {
            -(1 << (self.bytes * 8 - 1))
        } else {
            0
        }
    }

    pub(super) fn max(self) -> i128 {
        (1 << (self.bytes * 8 - u32::from(self.signed))) - 1
    }
}

/// The integer type of that name. `usize` has its width on the supported machines; the rules decide
/// where it is allowed.
pub(super) fn int_type(name: &str) -> Option<IntType> {
    let bytes = match name.strip_prefix(['u', 'i'])? {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" | "size" => 8,
        _ => return None,
    };
    let signed = name.starts_with('i');
    Some(IntType { bytes, signed })
}

impl Abi {
    /// Layout of a type that is written in module `at`.
    pub(crate) fn layout(&self, at: usize, ty: &syn::Type) -> Result<Layout> {
        match ty {
            syn::Type::Path(path) => {
                let name = path.path.segments.last().context("an empty path")?;
                let name = name.ident.to_string();
                if let Some(int) = int_type(&name) {
                    let size = u64::from(int.bytes);
                    return Ok(Layout { size, align: size });
                }
                let item = self.structs.get(&name);
                let item = item.with_context(|| format!("`{name}` is no type of this crate"))?;
                Ok(self.struct_layout(item)?.0)
            }
            syn::Type::Array(array) => {
                let elem = self.layout(at, &array.elem)?;
                let len = self.array_len(at, array)?;
                let size = elem.size.checked_mul(len).context("too large")?;
                Ok(Layout { size, ..elem })
            }
            syn::Type::Ptr(_) | syn::Type::BareFn(_) => Ok(Layout { size: 8, align: 8 }),
            _ => bail!("`{}` has no known layout", ty.to_token_stream()),
        }
    }

    /// Number of elements of an array type that is written in module `at`.
    pub(crate) fn array_len(&self, at: usize, array: &syn::TypeArray) -> Result<u64> {
        Ok(u64::try_from(self.int(at, &array.len)?)?)
    }

    /// Layout of a struct, its fields, and the bytes of padding at its end.
    pub(crate) fn struct_layout<'a>(
        &self,
        of: &'a Struct,
    ) -> Result<(Layout, Vec<Field<'a>>, u64)> {
        let mut fields = Vec::new();
        let (mut end, mut align) = (0u64, align_attribute(&of.item.attrs)?);
        for field in &of.item.fields {
            let layout = self.layout(of.module, &field.ty)?;
            let offset = end.next_multiple_of(layout.align);
            let gap = offset - end;
            fields.push(Field { field, gap });
            end = offset + layout.size;
            align = align.max(layout.align);
        }
        let size = end.next_multiple_of(align);
        Ok((Layout { size, align }, fields, size - end))
    }
}

/// `N` of `repr(align(N))`, or 1.
fn align_attribute(attrs: &[syn::Attribute]) -> Result<u64> {
    let mut align = 1u64;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("repr")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("align") {
                let inner;
                syn::parenthesized!(inner in meta.input);
                align = inner.parse::<syn::LitInt>()?.base10_parse()?;
            }
            Ok(())
        })?;
    }
    ensure!(align.is_power_of_two(), "align({align}) is no power of two");
    Ok(align)
}
