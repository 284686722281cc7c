//! The forms that a parameter of a host function or a kernel can have.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Error, GenericArgument, PathArguments, Result, Type};

/// The form of a parameter, without its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `T`
    Value,
    /// `&T`
    To,
    /// `&[T]`
    ToSlice,
    /// `&mut T`
    ToFrom,
    /// `&mut [T]`
    ToFromSlice,
    /// `Out<T>`
    From,
    /// `Out<[T]>`
    FromSlice,
}

impl Form {
    /// Splits a declared type into its form and the plain type within.
    ///
    /// # Errors
    /// It is no type of a parameter, such as `&str`.
    pub fn of(declared: &Type) -> Result<(Form, &Type)> {
        let declared = bare(declared);
        if let Type::Reference(reference) = declared {
            if let Some(lifetime) = &reference.lifetime {
                return Err(Error::new_spanned(
                    lifetime,
                    "remove the lifetime: the reference is borrowed only for the call",
                ));
            }
            refuse_str(&reference.elem)?;
            return Ok(match (bare(&reference.elem), reference.mutability) {
                (Type::Slice(slice), None) => (Form::ToSlice, &*slice.elem),
                (Type::Slice(slice), Some(_)) => (Form::ToFromSlice, &*slice.elem),
                (target, None) => (Form::To, target),
                (target, Some(_)) => (Form::ToFrom, target),
            });
        }
        if let Some(target) = out_target(declared)? {
            return Ok(match target {
                Type::Slice(slice) => (Form::FromSlice, &*slice.elem),
                target => (Form::From, target),
            });
        }
        if let Type::Slice(_) = declared {
            return Err(Error::new_spanned(
                declared,
                "a slice is passed as `&[T]`, `&mut [T]` or `Out<[T]>`",
            ));
        }
        Ok((Form::Value, declared))
    }

    /// The function of `Entry`, `Args` and `Argument` that handles this form.
    #[must_use]
    pub fn method(self) -> Ident {
        let name = match self {
            Form::Value => "value",
            Form::To => "to",
            Form::ToSlice => "to_slice",
            Form::ToFrom => "tofrom",
            Form::ToFromSlice => "tofrom_slice",
            Form::From => "from",
            Form::FromSlice => "from_slice",
        };
        Ident::new(name, Span::mixed_site())
    }

    /// The variant of `revoff_fn::signature::Form`.
    #[must_use]
    pub fn variant(self) -> Ident {
        let name = match self {
            Form::Value => "Value",
            Form::To => "To",
            Form::ToSlice => "ToSlice",
            Form::ToFrom => "ToFrom",
            Form::ToFromSlice => "ToFromSlice",
            Form::From => "From",
            Form::FromSlice => "FromSlice",
        };
        Ident::new(name, Span::mixed_site())
    }

    /// The type of the parameter in the code that calls and in the host function.
    #[must_use]
    pub fn rust_type(self, plain: &Type) -> TokenStream {
        match self {
            Form::Value => quote!(#plain),
            Form::To => quote!(&#plain),
            Form::ToSlice => quote!(&[#plain]),
            Form::ToFrom | Form::From => quote!(&mut #plain),
            Form::ToFromSlice | Form::FromSlice => quote!(&mut [#plain]),
        }
    }

    /// Like [`rust_type`](Self::rust_type), with references of this lifetime.
    #[must_use]
    pub fn rust_type_for(self, plain: &Type, lifetime: &TokenStream) -> TokenStream {
        match self {
            Form::Value => quote!(#plain),
            Form::To => quote!(&#lifetime #plain),
            Form::ToSlice => quote!(&#lifetime [#plain]),
            Form::ToFrom | Form::From => quote!(&#lifetime mut #plain),
            Form::ToFromSlice | Form::FromSlice => quote!(&#lifetime mut [#plain]),
        }
    }

    /// The type of the parameter in a kernel, whose threads share the memory that it writes.
    #[must_use]
    pub fn kernel_type(self, plain: &Type) -> TokenStream {
        match self {
            Form::Value | Form::To | Form::ToSlice => self.rust_type(plain),
            Form::ToFrom | Form::From => quote!(*mut #plain),
            Form::ToFromSlice | Form::FromSlice => quote!(*mut [#plain]),
        }
    }

    /// The expression from which an entry of this form is made, given the parameter.
    #[must_use]
    pub fn argument(self, name: &Ident) -> TokenStream {
        match self {
            Form::Value => quote!(&#name),
            _ => quote!(#name),
        }
    }
}

/// `declared` without parentheses and without the invisible groups that another macro adds to a
/// type.
#[must_use]
pub fn bare(declared: &Type) -> &Type {
    match declared {
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        other => other,
    }
}

fn refuse_str(target: &Type) -> Result<()> {
    match bare(target) {
        Type::Path(path) if path.path.is_ident("str") => Err(Error::new_spanned(
            target,
            "any bytes may arrive, and a `str` is not any: pass its bytes, as a slice of `u8`",
        )),
        _ => Ok(()),
    }
}

/// `X` for `Out<X>`.
fn out_target(declared: &Type) -> Result<Option<&Type>> {
    let Type::Path(path) = declared else {
        return Ok(None);
    };
    let Some(last) = path.path.segments.last() else {
        return Ok(None);
    };
    if last.ident != "Out" {
        return Ok(None);
    }
    if let PathArguments::AngleBracketed(arguments) = &last.arguments
        && arguments.args.len() == 1
        && let Some(GenericArgument::Type(target)) = arguments.args.first()
    {
        return Ok(Some(bare(target)));
    }
    Err(Error::new_spanned(declared, "write `Out<T>` or `Out<[T]>`"))
}
