//! Parsing: the declaration of one host function or kernel.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Error, FnArg, Pat, Result, ReturnType, Signature, Token, Type, Visibility};

use crate::form::Form;

/// The kind of a declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DeclarationKind {
    /// `host_functions!`
    HostFunction,
    /// `#[revoff_fn::kernel]`
    Kernel,
}

impl DeclarationKind {
    /// Its name in messages.
    fn name(self) -> &'static str {
        match self {
            DeclarationKind::HostFunction => "host function",
            DeclarationKind::Kernel => "kernel",
        }
    }
}

/// `pub fn name(parameters) -> returns;`
pub struct Declaration {
    /// Its attributes, also the documentation.
    pub attributes: Vec<Attribute>,
    /// Its visibility.
    pub visibility: Visibility,
    /// Only for kernels.
    pub unsafety: Option<Token![unsafe]>,
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `None` for functions without a result.
    pub returns: Option<Type>,
}

/// One parameter of a declaration.
pub struct Parameter {
    /// Its name.
    pub name: Ident,
    /// How it is passed.
    pub form: Form,
    /// The plain type within the form.
    pub plain: Type,
}

impl Declaration {
    /// Parses a declaration up to its semicolon.
    ///
    /// # Errors
    /// The input is no declaration, or one with a part that has no meaning across devices.
    pub fn parse(input: ParseStream<'_>, kind: DeclarationKind) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature: Signature = input.parse()?;
        if input.peek(syn::token::Brace) {
            return Err(input.error(match kind {
                DeclarationKind::HostFunction => {
                    "a host function is declared here and bound on the host: write `;` in place of a body"
                }
                DeclarationKind::Kernel => {
                    "a kernel is declared here and defined in its own crate, with `#[revoff_device::kernel(..)]`: write `;` in place of a body"
                }
            }));
        }
        input.parse::<Token![;]>()?;
        refuse_qualifiers(&signature, kind)?;
        refuse_extern_name(&signature.ident)?;
        let parameters = signature
            .inputs
            .iter()
            .map(parameter)
            .collect::<Result<_>>()?;
        let returns = match kind {
            DeclarationKind::HostFunction => returned(signature.output)?,
            DeclarationKind::Kernel => {
                refuse_return(&signature.output, "take `&mut T` or `Out<T>` for results")?;
                None
            }
        };
        Ok(Declaration {
            attributes,
            visibility,
            parameters,
            returns,
            unsafety: signature.unsafety,
            name: signature.ident,
        })
    }

    /// The name of the type that stands for the declaration: `ReadChunk` for `read_chunk`.
    ///
    /// # Errors
    /// The name does not make a type's name.
    pub fn token(&self) -> Result<Ident> {
        Ok(Ident::new(&camel_case(&self.name)?, self.name.span()))
    }
}

/// Rejects qualifiers and lists that mean nothing across devices.
///
/// # Errors
/// There is one.
pub fn refuse_qualifiers(signature: &Signature, kind: DeclarationKind) -> Result<()> {
    let refuse = |tokens: &dyn quote::ToTokens, why: &str| {
        Err(Error::new_spanned(
            tokens,
            format!("a {} cannot be {why}", kind.name()),
        ))
    };
    if let Some(token) = &signature.constness {
        return refuse(token, "`const`");
    }
    if let Some(token) = &signature.asyncness {
        return refuse(token, "`async`: it runs to its end");
    }
    if kind == DeclarationKind::HostFunction
        && let Some(token) = &signature.unsafety
    {
        return refuse(token, "`unsafe`: its arguments are checked on both sides");
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi, "`extern`: its calling convention is chosen here");
    }
    if !signature.generics.params.is_empty() {
        return refuse(&signature.generics, "generic: it is one symbol");
    }
    if let Some(clause) = &signature.generics.where_clause {
        return refuse(clause, "generic: it is one symbol");
    }
    if let Some(variadic) = &signature.variadic {
        return refuse(variadic, "variadic");
    }
    Ok(())
}

/// Rejects names that device assemblers do not accept in symbols: they must be ASCII.
///
/// # Errors
/// The name is such a name.
pub fn refuse_extern_name(name: &Ident) -> Result<()> {
    if name.unraw().to_string().is_ascii() {
        Ok(())
    } else {
        Err(Error::new_spanned(
            name,
            "the name becomes a symbol: write it in ASCII",
        ))
    }
}

/// Name and type of a parameter whose pattern is a single name.
///
/// # Errors
/// It is another pattern.
pub fn named(input: &FnArg) -> Result<(&Ident, &Type)> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            return Err(Error::new(
                receiver.self_token.span(),
                "there is no `self` here",
            ));
        }
    };
    match &*typed.pat {
        Pat::Ident(pattern)
            if pattern.by_ref.is_none()
                && pattern.mutability.is_none()
                && pattern.subpat.is_none() =>
        {
            Ok((&pattern.ident, &typed.ty))
        }
        pattern => Err(Error::new_spanned(
            pattern,
            "a parameter is a plain name here",
        )),
    }
}

fn parameter(input: &FnArg) -> Result<Parameter> {
    let (name, declared) = named(input)?;
    let (form, plain) = Form::of(declared)?;
    Ok(Parameter {
        name: name.clone(),
        form,
        plain: plain.clone(),
    })
}

/// Rejects a result, since kernels return nothing.
///
/// # Errors
/// There is one; the message suggests `instead`.
pub fn refuse_return(output: &ReturnType, instead: &str) -> Result<()> {
    match output {
        ReturnType::Type(_, returned) => Err(Error::new_spanned(
            returned,
            format!("a kernel returns nothing: {instead}"),
        )),
        ReturnType::Default => Ok(()),
    }
}

fn returned(output: ReturnType) -> Result<Option<Type>> {
    let ReturnType::Type(_, returned) = output else {
        return Ok(None);
    };
    match *returned {
        Type::Reference(_) | Type::Slice(_) => Err(Error::new_spanned(
            returned,
            "a host function returns by value: take `Out<T>` or `Out<[T]>` for anything larger",
        )),
        Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(None),
        other => Ok(Some(other)),
    }
}

/// `ReadChunk` for `read_chunk`.
fn camel_case(name: &Ident) -> Result<String> {
    let mut text = String::new();
    for word in name
        .unraw()
        .to_string()
        .split('_')
        .filter(|word| !word.is_empty())
    {
        let (first, rest) = word.split_at(1);
        text.push_str(&first.to_ascii_uppercase());
        text.push_str(rest);
    }
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Ok(text)
    } else {
        Err(Error::new_spanned(
            name,
            "no type name can be made of this name: start it with a letter",
        ))
    }
}
