//! `#[revoff_fn::kernel]`: the code generated for a kernel's declaration.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use revoff_declaration::{Declaration, DeclarationKind, Parameter, canonical};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Error, Result};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "a kernel's declaration takes no arguments: `#[revoff_fn::kernel]`",
        ));
    }
    let parse =
        |input: syn::parse::ParseStream<'_>| Declaration::parse(input, DeclarationKind::Kernel);
    let declaration = parse.parse2(item)?;
    let token = declaration.token()?;
    let kind = kind(&declaration, &token);
    let launch = launch(&declaration, &token);
    Ok(quote!(#kind #launch))
}

/// The kernel's type, and the description that image and host compare.
fn kind(declaration: &Declaration, token: &Ident) -> TokenStream {
    let Declaration {
        attributes,
        visibility,
        unsafety,
        name,
        parameters,
        ..
    } = declaration;
    let text = name.unraw().to_string();
    let hashed = parameters.iter().map(|Parameter { form, plain, .. }| {
        let variant = form.variant();
        let written = canonical(plain);
        quote!(.parameter::<#plain>(::revoff_fn::signature::Form::#variant, #written))
    });
    let passed = parameters.iter().map(|Parameter { form, plain, .. }| {
        let variant = form.variant();
        quote!(.parameter::<#plain>(::revoff_fn::signature::Form::#variant))
    });
    let defined: Vec<_> = parameters
        .iter()
        .map(|Parameter { form, plain, .. }| form.kernel_type(plain))
        .collect();
    let other_name = format!(
        "this is declared as the kernel `{text}`: give the function that name, or name another declaration"
    );
    let is_unsafe = unsafety.is_some();
    let other_safety = match is_unsafe {
        false => format!(
            "the kernel `{text}` is declared as safe to launch, with any arguments: define it as `fn`, or declare it as `unsafe fn`"
        ),
        true => format!(
            "the kernel `{text}` is declared as `unsafe fn`: define it as `unsafe fn`, or declare it as `fn`"
        ),
    };
    let launcher = launcher();
    quote! {
        #(#attributes)*
        ///
        /// Stands for the kernel. A host program binds it to an image that has the kernel, and then
        /// can launch it.
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #visibility struct #token<#launcher = ()> {
            launcher: #launcher,
        }

        impl #token {
            /// The kernel's name.
            pub const NAME: &'static str = #text;
            /// Hash of the declaration, see [`revoff_fn::signature`](::revoff_fn::signature).
            pub const SIGNATURE: u64 =
                ::revoff_fn::signature::Signature::new(#text) #(#hashed)* .finish();

            /// For `#[revoff_device::kernel]`: the image's description of the kernel, given its
            /// definition's name, whether it is an `unsafe fn`, and its type.
            #[doc(hidden)]
            #[must_use]
            pub const fn defined_by(
                name: &str,
                is_unsafe: bool,
                _definition: unsafe fn(#(#defined),*),
            ) -> ::revoff_fn::__private::KernelInfo {
                ::core::assert!(::revoff_fn::__private::same(name, Self::NAME), #other_name);
                ::core::assert!(is_unsafe == #is_unsafe, #other_safety);
                <Self as ::revoff_fn::Kernel>::INFO
            }
        }

        impl ::revoff_fn::Kernel for #token {
            const NAME: &'static str = Self::NAME;
            const INFO: ::revoff_fn::__private::KernelInfo =
                ::revoff_fn::__private::Parameters::new() #(#passed)* .info(Self::SIGNATURE);

            type Bound<#launcher: ::revoff_fn::Launcher> = #token<#launcher>;

            unsafe fn bound<#launcher: ::revoff_fn::Launcher>(
                launcher: #launcher,
            ) -> #token<#launcher> {
                #token { launcher }
            }
        }
    }
}

/// The function that launches it, with the parameters by name.
fn launch(declaration: &Declaration, token: &Ident) -> TokenStream {
    let Declaration {
        attributes,
        unsafety,
        parameters,
        ..
    } = declaration;
    let types = parameters.iter().map(|Parameter { name, form, plain }| {
        let lent = form.rust_type(plain);
        quote!(#name: #lent)
    });
    let arguments = parameters.iter().map(|Parameter { name, form, plain }| {
        let method = form.method();
        let argument = form.argument(name);
        quote!(::revoff_fn::__private::Argument::#method::<#plain>(#argument))
    });
    let count = Literal::usize_unsuffixed(parameters.len());
    let launcher = launcher();
    // Hygienic: a parameter may be called `grid` too.
    let grid = Ident::new("grid", Span::mixed_site());
    let documented = attributes.iter().filter(|a| a.path().is_ident("doc"));
    let safety = unsafety.map(|_| {
        quote! {
            ///
            /// # Safety
            ///
            /// The conditions that the declaration states.
        }
    });
    quote! {
        impl<#launcher: ::revoff_fn::Launcher> #token<#launcher> {
            #(#documented)*
            ///
            /// Copies arguments to the device, runs the kernel to its end, and copies back the
            /// memory that it may have written.
            #safety
            ///
            /// # Errors
            ///
            /// The kernel could not be launched or failed; then nothing is copied back. Or copying
            /// back failed; then the memory that was to be copied back has unspecified contents.
            #[allow(clippy::too_many_arguments, reason = "as many as were declared")]
            pub #unsafety fn launch(
                &self,
                #grid: <#launcher as ::revoff_fn::Launcher>::Grid,
                #(#types),*
            ) -> ::core::result::Result<
                <#launcher as ::revoff_fn::Launcher>::Report,
                <#launcher as ::revoff_fn::Launcher>::Error,
            > {
                let arguments: [::revoff_fn::__private::Argument<'_>; #count] = [#(#arguments),*];
                // SAFETY: these are arguments of the declared forms and types, not used otherwise
                // meanwhile. The launcher is this kernel's, as the caller of `bound` promised.
                unsafe { self.launcher.launch(#grid, &arguments) }
            }
        }
    }
}

/// The type parameter for the launcher, with a name that no type of a parameter has.
fn launcher() -> Ident {
    format_ident!("__Launcher", span = Span::mixed_site())
}
