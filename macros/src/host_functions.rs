//! `host_functions!`: the code generated for each declaration.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use revoff_declaration::{Declaration, DeclarationKind, Form, Parameter, canonical};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Result};

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let Declarations { exported, all } = syn::parse2(input)?;
    all.iter()
        .map(|declaration| expand_one(declaration, exported.as_ref()))
        .collect()
}

struct Declarations {
    /// Where the symbols are exported, as in `cfg`; everywhere if there is nothing.
    exported: Option<TokenStream>,
    all: Vec<Declaration>,
}

/// The predicate of `#![export_if(..)]`.
fn export_if(attributes: Vec<Attribute>) -> Result<Option<TokenStream>> {
    let mut exported = None;
    for attribute in attributes {
        let list = attribute.meta.require_list()?;
        if !list.path.is_ident("export_if") || exported.is_some() {
            return Err(Error::new_spanned(
                list,
                "write `#![export_if(..)]`, once, with a predicate as in `#[cfg(..)]`",
            ));
        }
        exported = Some(list.tokens.clone());
    }
    Ok(exported)
}

impl Parse for Declarations {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let exported = export_if(Attribute::parse_inner(input)?)?;
        let mut declarations = Vec::new();
        while !input.is_empty() {
            declarations.push(Declaration::parse(input, DeclarationKind::HostFunction)?);
        }
        Ok(Declarations {
            exported,
            all: declarations,
        })
    }
}

fn expand_one(declaration: &Declaration, exported: Option<&TokenStream>) -> Result<TokenStream> {
    let symbol = information(declaration, exported);
    let stub = stub(declaration);
    let token_type = token(declaration)?;
    let start = start(declaration)?;
    Ok(quote!(#symbol #stub #token_type #start))
}

fn symbol_name(declaration: &Declaration) -> Ident {
    // `call_site`, because other crates and handwritten code refer to it.
    format_ident!(
        "__revoff_fn_{}",
        declaration.name.unraw(),
        span = Span::call_site()
    )
}

/// The data symbol whose address is the function word.
fn information(declaration: &Declaration, exported: Option<&TokenStream>) -> TokenStream {
    let Declaration {
        visibility, name, ..
    } = declaration;
    let symbol = symbol_name(declaration);
    let text = name.unraw().to_string();
    let doc = format!("Stands for [`{text}`] in requests, by its address.");
    let parameters = declaration
        .parameters
        .iter()
        .map(|Parameter { form, plain, .. }| {
            let variant = form.variant();
            let written = canonical(plain);
            quote!(.parameter::<#plain>(::revoff_fn::signature::Form::#variant, #written))
        });
    let returns = match &declaration.returns {
        Some(returned) => {
            let written = canonical(returned);
            quote!(.returns::<#returned>(#written))
        }
        None => quote!(.returns::<()>("()")),
    };
    let export = match exported {
        Some(predicate) => quote! {
            #[cfg_attr(#predicate, unsafe(no_mangle))]
            #[allow(non_upper_case_globals, reason = "a symbol, even where it is not exported")]
        },
        None => quote!(#[unsafe(no_mangle)]),
    };
    quote! {
        #[doc = #doc]
        #export
        #visibility static #symbol: ::revoff_fn::__private::FunctionInfo =
            ::revoff_fn::__private::FunctionInfo {
                signature: ::revoff_fn::signature::Signature::new(#text) #(#parameters)* #returns
                    .finish(),
            };
    }
}

/// The function for device code.
fn stub(declaration: &Declaration) -> TokenStream {
    let Declaration {
        attributes,
        visibility,
        name,
        ..
    } = declaration;
    let symbol = symbol_name(declaration);
    let returns = return_type(declaration);
    let parameters = declaration
        .parameters
        .iter()
        .map(|Parameter { name, form, plain }| {
            let seen = form.rust_type(plain);
            quote!(#name: #seen)
        });
    let entries = declaration
        .parameters
        .iter()
        .map(|Parameter { name, form, plain }| {
            let method = form.method();
            let argument = form.argument(name);
            quote!(::revoff_fn::__private::Entry::#method::<#plain>(#argument))
        });
    // Generated names are hygienic: a parameter may be called `reply` too.
    let reply = Ident::new("reply", Span::mixed_site());
    let status = Ident::new("status", Span::mixed_site());
    quote! {
        #(#attributes)*
        ///
        /// For device code: runs on the host, and returns when the host has answered.
        ///
        /// # Errors
        ///
        /// The host sent no result; the error has the status of the call.
        // `inline`, so that a program that depends on the declaration without calling it has no
        // reference to `GOMP_target_ext`.
        #[inline]
        #[allow(clippy::too_many_arguments, reason = "as many as were declared")]
        #visibility fn #name(#(#parameters),*)
            -> ::core::result::Result<#returns, ::revoff_fn::CallError>
        {
            let mut #reply = ::revoff_fn::__private::Reply::<#returns>::pending();
            let #status = ::revoff_fn::__private::call(
                &#symbol,
                [#(#entries,)* #reply.entry()],
            );
            #reply.result(#status)
        }
    }
}

/// The functions for device code that do not block.
fn start(declaration: &Declaration) -> Result<TokenStream> {
    let name = declaration.name.unraw().to_string();
    let (token, symbol) = (declaration.token()?, symbol_name(declaration));
    let returns = return_type(declaration);
    let parameters = &declaration.parameters;
    let writes = |form: &Form| !matches!(form, Form::Value | Form::To | Form::ToSlice);
    let has_outputs = parameters.iter().any(|parameter| writes(&parameter.form));
    let (lifetimes, call) = if has_outputs {
        (quote!(<'call>), quote!('call))
    } else {
        (quote!(), quote!('static))
    };
    let typed: Vec<_> = parameters
        .iter()
        .map(|Parameter { name, form, plain }| {
            let seen = if writes(form) {
                form.rust_type_for(plain, &call)
            } else {
                form.rust_type(plain)
            };
            quote!(#name: #seen)
        })
        .collect();
    let entries: Vec<_> = parameters
        .iter()
        .map(|Parameter { name, form, plain }| {
            let (method, argument) = (form.method(), form.argument(name));
            quote!(::revoff_fn::__private::Entry::#method::<#plain>(#argument))
        })
        .collect();
    let count = Literal::usize_unsuffixed(parameters.len() + 1);
    let reply = Ident::new("reply", Span::mixed_site());
    let status = Ident::new("status", Span::mixed_site());
    let posts = Ident::new("posts", Span::mixed_site());
    let started = quote! {
        ::revoff_fn::__private::start::<#returns, #count>(
            &#symbol,
            |#reply| [#(#entries.into(),)* #reply.entry().into()],
            ::core::marker::PhantomData,
        )
    };
    let post = (declaration.returns.is_none() && !has_outputs).then(|| {
        let doc = format!(
            "For device code: calls [`{name}`] without waiting for it, as one of the calls of `posts`."
        );
        quote! {
            #[doc = #doc]
            ///
            /// It waits for the oldest of these calls if there are too many, and for this call if it does
            /// not fit a slot or no slot is free. Requires `device-rt`'s feature `start`.
            #[inline]
            #[allow(clippy::too_many_arguments, reason = "as many as were declared")]
            pub fn post<const CALLS: usize>(
                #posts: &mut ::revoff_fn::Posts<CALLS>,
                #(#typed),*
            ) {
                ::revoff_fn::__private::post(#posts, || #started, || {
                    let mut #reply = ::revoff_fn::__private::Reply::<#returns>::pending();
                    let #status = ::revoff_fn::__private::call(
                        &#symbol,
                        [#(#entries,)* #reply.entry()],
                    );
                    #reply.result(#status)
                })
            }
        }
    });
    let doc = format!("For device code: calls [`{name}`] and returns while it runs.");
    Ok(quote! {
        impl #token {
            #[doc = #doc]
            ///
            /// Values, and data that the host only reads, are copied. Requires `device-rt`'s feature
            /// `start`.
            ///
            /// # Errors
            /// The arguments do not fit a slot (`REFUSED_MAPPING`), or the calls in flight that do not
            /// block take half of the slots (`TOO_MANY`). The call was not made.
            #[inline]
            #[allow(clippy::too_many_arguments, reason = "as many as were declared")]
            pub fn start #lifetimes(#(#typed),*) -> ::core::result::Result<
                ::revoff_fn::Started<#call, #returns, #count>,
                ::revoff_fn::CallError,
            > {
                #started
            }

            #post
        }
    })
}

/// The type by which a host binds a closure to the declaration.
fn token(declaration: &Declaration) -> Result<TokenStream> {
    let Declaration {
        visibility, name, ..
    } = declaration;
    let symbol = symbol_name(declaration);
    let text = name.unraw().to_string();
    let token = declaration.token()?;
    let returns = return_type(declaration);
    let types: Vec<_> = declaration
        .parameters
        .iter()
        .map(|Parameter { form, plain, .. }| form.rust_type(plain))
        .collect();
    let locals: Vec<_> = (0..types.len())
        .map(|index| format_ident!("argument_{index}", span = Span::mixed_site()))
        .collect();
    let takes = declaration
        .parameters
        .iter()
        .map(|Parameter { form, plain, .. }| {
            let method = form.method();
            quote!(#method::<#plain>)
        });
    let takes: Vec<_> = takes.collect();
    let asynchronous: Vec<_> = declaration
        .parameters
        .iter()
        .map(|Parameter { form, plain, .. }| form.rust_type_for(plain, &quote!('call)))
        .collect();
    // A lifetime that appears in no parameter cannot appear in the result.
    let borrows = declaration
        .parameters
        .iter()
        .any(|Parameter { form, .. }| *form != Form::Value);
    let (for_call, call) = if borrows {
        (quote!(for<'call>), quote!('call))
    } else {
        (quote!(), quote!('static))
    };
    // One more entry than parameters: the reply.
    let count = Literal::usize_unsuffixed(types.len() + 1);
    // Binds a closure `function`; `result` is its future's output as a `Result`.
    let bind = |result: TokenStream| {
        quote! {
            ::revoff_fn::__private::bind_async(
                Self::NAME,
                Self::SIGNATURE,
                #count,
                move |arguments| {
                    #(let #locals = arguments.#takes()?;)*
                    let reply = arguments.reply::<#returns>()?;
                    let future = function(#(#locals),*);
                    ::core::result::Result::Ok(::revoff_fn::__private::Box::pin(async move {
                        ::revoff_fn::__private::finish(reply, #result)
                    }))
                },
            )
        }
    };
    let bind_fallible = bind(quote!(future.await));
    let bind_infallible = bind(quote! {
        ::core::result::Result::<_, ::core::convert::Infallible>::Ok(future.await)
    });
    let doc =
        format!("The host side of [`{text}`]: binds the function that runs when it is called.");
    Ok(quote! {
        #[doc = #doc]
        #visibility enum #token {}

        impl #token {
            /// The function's name.
            pub const NAME: &'static str = #text;
            /// Hash of the declaration, see [`revoff_fn::signature`](::revoff_fn::signature).
            pub const SIGNATURE: u64 = #symbol.signature;

            /// Binds a function that cannot fail.
            pub fn bind<F>(function: F) -> ::revoff_fn::Bound<impl ::revoff_fn::Adapter>
            where
                F: ::core::ops::Fn(#(#types),*) -> #returns
                    + ::core::marker::Send + ::core::marker::Sync + 'static,
            {
                Self::try_bind(move |#(#locals),*| {
                    ::core::result::Result::<#returns, ::core::convert::Infallible>::Ok(
                        function(#(#locals),*)
                    )
                })
            }

            /// Binds a function that may fail. Its error ends the call with a status, and the host
            /// reports the error's text.
            pub fn try_bind<F, E>(function: F) -> ::revoff_fn::Bound<impl ::revoff_fn::Adapter>
            where
                F: ::core::ops::Fn(#(#types),*) -> ::core::result::Result<#returns, E>
                    + ::core::marker::Send + ::core::marker::Sync + 'static,
                E: ::core::fmt::Display,
            {
                ::revoff_fn::__private::bind(
                    Self::NAME,
                    Self::SIGNATURE,
                    #count,
                    move |arguments: &mut ::revoff_fn::__private::Args<'_>,
                          message: &mut dyn ::core::fmt::Write| {
                        #(let #locals = arguments.#takes()?;)*
                        let reply = arguments.reply::<#returns>()?;
                        reply.finish(function(#(#locals),*), message)
                    },
                )
            }
        }

        ::revoff_fn::__if_async! {
            impl #token {
                /// Binds an asynchronous function that cannot fail: a closure that returns
                /// `Box::pin(async move { .. })`. No host thread waits for the future.
                #[allow(clippy::type_complexity, reason = "as many as were declared")]
                pub fn bind_async<F>(function: F) -> ::revoff_fn::BoundAsync<impl ::revoff_fn::AsyncAdapter>
                where
                    F: #for_call ::core::ops::Fn(#(#asynchronous),*)
                            -> ::revoff_fn::BoxFuture<#call, #returns>
                        + ::core::marker::Send + ::core::marker::Sync + 'static,
                {
                    #bind_infallible
                }

                /// [`bind_async`](Self::bind_async) for a function that may fail. Its error ends the
                /// call with a status, and the host reports the error's text.
                #[allow(clippy::type_complexity, reason = "as many as were declared")]
                pub fn try_bind_async<F, E>(
                    function: F,
                ) -> ::revoff_fn::BoundAsync<impl ::revoff_fn::AsyncAdapter>
                where
                    F: #for_call ::core::ops::Fn(#(#asynchronous),*)
                            -> ::revoff_fn::BoxFuture<#call, ::core::result::Result<#returns, E>>
                        + ::core::marker::Send + ::core::marker::Sync + 'static,
                    E: ::core::fmt::Display + 'static,
                {
                    #bind_fallible
                }
            }
        }
    })
}

fn return_type(declaration: &Declaration) -> TokenStream {
    match &declaration.returns {
        Some(returned) => quote!(#returned),
        None => quote!(()),
    }
}
