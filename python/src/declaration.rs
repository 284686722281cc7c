//! Declarations of host functions and kernels, as text in the syntax of `host_functions!` and
//! `#[revoff_fn::kernel]`.

use std::fmt;

use proc_macro2::{TokenStream, TokenTree};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quote::quote;
use revoff_declaration::{DeclarationKind, bare};
use revoff_fn::Parameters;
use revoff_fn::signature::{Form, Signature};
use revoff_host::shared_abi::image::KernelInfo;
use syn::Type;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};

use crate::data_type::{DataType, DataTypeError};
use crate::error;

/// A declaration whose types are known.
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// `None` for functions without a result, and for kernels.
    pub(crate) returns: Option<DataType>,
}

/// A parameter of a declaration.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// Whether it is a pointer, which passes any number of values as their address alone.
    pub(crate) is_pointer: bool,
    pub(crate) ty: DataType,
}

/// A text is no declaration.
#[derive(Debug, thiserror::Error)]
#[error("declaration `{text}`: {fault}")]
pub(crate) struct DeclarationError {
    text: String,
    fault: Fault,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    /// Its syntax is invalid.
    #[error("{0}; write it like \"read_chunk(offset: u64, buffer: Out<[u8]>) -> u32\"")]
    Syntax(#[from] syn::Error),
    /// A type cannot be used here.
    #[error("{0}")]
    Type(#[from] DataTypeError),
    /// A kernel takes a structure or an array by value.
    #[error(
        "kernels take only numbers by value, and `{parameter}` is a `{ty}`: declare it as `&{ty}`"
    )]
    Value {
        /// The parameter.
        parameter: String,
        /// Its type.
        ty: String,
    },
    /// A kernel with a declaration has no pointers.
    #[error(
        "`{parameter}` is a pointer: declare it as a reference or a slice, as the kernel does, or pass \
         `unchecked=True` for a kernel in C"
    )]
    Pointer {
        /// The parameter.
        parameter: String,
    },
    /// The elements of a slice have no bytes.
    #[error("the elements of `{parameter}`, of type `{ty}`, have no bytes")]
    NoBytes {
        /// The parameter.
        parameter: String,
        /// Their type.
        ty: String,
    },
}

impl From<DeclarationError> for PyErr {
    fn from(invalid: DeclarationError) -> Self {
        error::DeclarationError::new_err(invalid.to_string())
    }
}

impl Declaration {
    /// Reads the declaration of a host function. `types` describes structures.
    pub(crate) fn of_function(
        text: &str,
        types: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Self, DeclarationError> {
        Self::read(text, DeclarationKind::HostFunction, false, types, py)
    }

    /// Reads the declaration of a kernel, which may take pointers if it is `unchecked`. `types` describes structures.
    pub(crate) fn of_kernel(
        text: &str,
        unchecked: bool,
        types: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Self, DeclarationError> {
        Self::read(text, DeclarationKind::Kernel, unchecked, types, py)
    }

    fn read(
        text: &str,
        kind: DeclarationKind,
        takes_pointers: bool,
        types: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Self, DeclarationError> {
        let read = || {
            let syntax = parse(text, kind)?;
            let mut parameters = Vec::new();
            for parameter in &syntax.parameters {
                let name = parameter.name.unraw().to_string();
                let pointer = match bare(&parameter.plain) {
                    Type::Ptr(pointer) if takes_pointers => Some(pointer),
                    Type::Ptr(_) if kind == DeclarationKind::Kernel => {
                        return Err(Fault::Pointer { parameter: name });
                    }
                    _ => None,
                };
                let (form, plain) = match pointer {
                    Some(pointer) if pointer.mutability.is_some() => (Form::ToFrom, &*pointer.elem),
                    Some(pointer) => (Form::To, &*pointer.elem),
                    None => (form(parameter.form), &parameter.plain),
                };
                let parameter = Parameter {
                    name,
                    form,
                    is_pointer: pointer.is_some(),
                    ty: DataType::of(plain, types, py)?,
                };
                parameters.push(parameter.checked(kind)?);
            }
            let returns = syntax.returns.as_ref();
            let returns = returns.map(|returned| DataType::of(returned, types, py));
            Ok(Self {
                name: syntax.name.unraw().to_string(),
                parameters,
                returns: returns.transpose()?,
            })
        };
        read().map_err(|fault| DeclarationError {
            text: text.trim().to_owned(),
            fault,
        })
    }

    /// The hash of the declaration of a function.
    pub(crate) fn function_signature(&self) -> u64 {
        let signature = self.parameters_signature();
        let signature = match &self.returns {
            Some(returned) => signature.returns_of(&returned.name, returned.layout),
            None => signature.returns::<()>("()"),
        };
        signature.finish()
    }

    /// The description of the kernel in an image with the same declaration.
    pub(crate) fn kernel_info(&self) -> KernelInfo {
        let mut parameters = Parameters::new();
        for parameter in &self.parameters {
            parameters = parameters.parameter_of(parameter.form, parameter.ty.layout);
        }
        parameters.info(self.parameters_signature().finish())
    }

    fn parameters_signature(&self) -> Signature {
        let mut signature = Signature::new(&self.name);
        for Parameter { form, ty, .. } in &self.parameters {
            signature = signature.parameter_of(*form, &ty.name, ty.layout);
        }
        signature
    }
}

/// As it is declared: `x: &[f32]`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = &self.ty.name;
        write!(f, "{}: ", self.name)?;
        match self.form {
            Form::To if self.is_pointer => write!(f, "*const {ty}"),
            Form::ToFrom if self.is_pointer => write!(f, "*mut {ty}"),
            Form::Value => write!(f, "{ty}"),
            Form::To => write!(f, "&{ty}"),
            Form::ToSlice => write!(f, "&[{ty}]"),
            Form::ToFrom => write!(f, "&mut {ty}"),
            Form::ToFromSlice => write!(f, "&mut [{ty}]"),
            Form::From => write!(f, "Out<{ty}>"),
            Form::FromSlice => write!(f, "Out<[{ty}]>"),
        }
    }
}

impl Parameter {
    fn checked(self, kind: DeclarationKind) -> Result<Self, Fault> {
        let (parameter, ty) = (self.name.clone(), self.ty.name.clone());
        if kind == DeclarationKind::Kernel && self.form == Form::Value && self.ty.scalar.is_none() {
            return Err(Fault::Value { parameter, ty });
        }
        if self.takes_many() && self.ty.layout.size() == 0 {
            return Err(Fault::NoBytes { parameter, ty });
        }
        Ok(self)
    }

    /// Whether it takes any number of values.
    pub(crate) fn takes_many(&self) -> bool {
        self.is_pointer || self.form.is_slice()
    }
}

/// Parses a declaration in full (`pub fn f(..);`) or without its first and last words (`f(..)`).
fn parse(text: &str, kind: DeclarationKind) -> Result<revoff_declaration::Declaration, Fault> {
    let text = text.trim().trim_end_matches(';');
    let tokens: TokenStream = text.parse().map_err(syn::Error::from)?;
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "fn");
    let tokens = if tokens.clone().into_iter().any(|token| is_fn(&token)) {
        quote!(#tokens;)
    } else {
        quote!(fn #tokens;)
    };
    let parse = |input: ParseStream<'_>| revoff_declaration::Declaration::parse(input, kind);
    Ok(parse.parse2(tokens)?)
}

fn form(form: revoff_declaration::Form) -> Form {
    use revoff_declaration::Form as Written;
    match form {
        Written::Value => Form::Value,
        Written::To => Form::To,
        Written::ToSlice => Form::ToSlice,
        Written::ToFrom => Form::ToFrom,
        Written::ToFromSlice => Form::ToFromSlice,
        Written::From => Form::From,
        Written::FromSlice => Form::FromSlice,
    }
}
