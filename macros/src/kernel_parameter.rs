//! One parameter of a kernel's definition.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use revoff_declaration::{bare, canonical, named};
use syn::{Error, FnArg, Result, Type, TypePtr, TypeReference};

/// The values passed for a parameter, and the expression that combines them.
pub(crate) struct Parameter {
    /// Names and types of the passed values.
    pub(crate) passed: Vec<(Ident, TokenStream)>,
    /// The parameter, made from them.
    pub(crate) value: TokenStream,
    /// The type as encoded in the signature hash of a kernel without a declaration.
    pub(crate) code: String,
}

impl Parameter {
    /// A parameter of a kernel without a declaration, which is passed unchanged.
    pub(crate) fn raw(_index: usize, input: &FnArg) -> Result<Self> {
        let (name, declared) = named(input)?;
        Ok(Parameter {
            passed: vec![(name.clone(), quote!(#declared))],
            value: quote!(#name),
            code: code(declared)?,
        })
    }

    /// A parameter of a kernel whose declaration determines the passed values. The compiler checks
    /// that the types agree.
    pub(crate) fn declared(index: usize, input: &FnArg) -> Result<Self> {
        let (_, declared) = named(input)?;
        let place = format_ident!("argument_{index}", span = Span::mixed_site());
        let len = format_ident!("len_{index}", span = Span::mixed_site());
        let thin = |ty: TokenStream, value: TokenStream| Parameter {
            passed: vec![(place.clone(), ty)],
            value,
            code: String::new(),
        };
        let wide = |ty: TokenStream, value: TokenStream| Parameter {
            passed: vec![(place.clone(), ty), (len.clone(), quote!(u64))],
            value,
            code: String::new(),
        };
        Ok(match bare(declared) {
            Type::Reference(TypeReference {
                mutability: Some(_),
                ..
            }) => {
                return Err(Error::new_spanned(
                    declared,
                    "all threads of a launch get this memory, so none has it for itself: take `*mut T` or `*mut [T]`",
                ));
            }
            Type::Reference(reference) => match bare(&reference.elem) {
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    wide(
                        quote!(*const #element),
                        quote!(::core::slice::from_raw_parts(#place, #len as usize)),
                    )
                }
                target => thin(quote!(*const #target), quote!(&*#place)),
            },
            Type::Ptr(TypePtr {
                mutability: Some(_),
                elem,
                ..
            }) => match bare(elem) {
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    wide(
                        quote!(*mut #element),
                        quote!(::core::ptr::slice_from_raw_parts_mut(#place, #len as usize)),
                    )
                }
                target => thin(quote!(*mut #target), quote!(#place)),
            },
            value => thin(quote!(#value), quote!(#place)),
        })
    }
}

/// The encoding of a parameter type in the signature hash: the type's name, `*` for every pointer.
fn code(declared: &Type) -> Result<String> {
    const SCALARS: [&str; 12] = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64",
    ];
    let refuse = |why: &str| {
        Err(Error::new_spanned(
            declared,
            format!("{why}; a kernel's parameters are integers, floats and thin raw pointers"),
        ))
    };
    match declared {
        Type::Group(inner) => code(&inner.elem),
        Type::Paren(inner) => code(&inner.elem),
        Type::Ptr(pointer) => match &*pointer.elem {
            Type::Slice(_) | Type::TraitObject(_) => refuse("this pointer is wide"),
            Type::Path(target) if target.path.is_ident("str") => refuse("this pointer is wide"),
            _ => Ok("*".to_owned()),
        },
        Type::Path(path) if SCALARS.iter().any(|scalar| path.path.is_ident(scalar)) => {
            Ok(canonical(declared))
        }
        Type::Reference(_) => refuse("the host cannot vouch for a reference on the device"),
        _ => refuse("this type is not known to the host"),
    }
}
