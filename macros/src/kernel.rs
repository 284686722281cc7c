//! `#[revoff_device::kernel]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use revoff_declaration::{DeclarationKind, refuse_extern_name, refuse_qualifiers, refuse_return};
use syn::ext::IdentExt;
use syn::{Attribute, Error, ItemFn, Path, Result};

use crate::fnv::fnv1a;
use crate::kernel_parameter::Parameter;

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let kernel = Kernel::check(declaration(arguments)?, syn::parse2(item)?)?;
    let gpu = kernel.gpu();
    let host = kernel.host();
    let information = kernel.information();
    // Code for one architecture belongs in `device-rt`'s modules, except for a kernel's calling
    // convention: it is part of the item that the user writes, in the user's crate. (rustc's name
    // for the architecture of its amdgcn target is `amdgpu`.)
    Ok(quote! {
        #[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
        #gpu
        #[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
        #host
        #information
    })
}

/// The declaration that the kernel defines, if any.
fn declaration(arguments: TokenStream) -> Result<Option<Path>> {
    if arguments.is_empty() {
        return Ok(None);
    }
    syn::parse2(arguments.clone()).map(Some).map_err(|_| {
        Error::new_spanned(
            arguments,
            "write `#[kernel]`, or `#[kernel(Name)]` with the type that `#[revoff_fn::kernel]` made",
        )
    })
}

/// A kernel whose parameters are valid.
struct Kernel {
    declaration: Option<Path>,
    function: ItemFn,
    parameters: Vec<Parameter>,
}

impl Kernel {
    fn check(declaration: Option<Path>, function: ItemFn) -> Result<Kernel> {
        refuse_qualifiers(&function.sig, DeclarationKind::Kernel)?;
        refuse_extern_name(&function.sig.ident)?;
        refuse_return(
            &function.sig.output,
            "write results through a pointer parameter",
        )?;
        let of = match declaration {
            Some(_) => Parameter::declared,
            None => Parameter::raw,
        };
        let inputs = function.sig.inputs.iter().enumerate();
        let parameters = inputs
            .map(|(index, input)| of(index, input))
            .collect::<Result<_>>()?;
        Ok(Kernel {
            declaration,
            function,
            parameters,
        })
    }

    /// The kernel with its own parameters, in the convention of GPU kernels.
    fn gpu(&self) -> TokenStream {
        let ItemFn {
            attrs,
            vis,
            sig,
            block,
        } = &self.function;
        let (name, unsafety, inputs) = (&sig.ident, &sig.unsafety, &sig.inputs);
        if self.declaration.is_none() {
            return quote! {
                #(#attrs)*
                #[unsafe(no_mangle)]
                #vis #unsafety extern "gpu-kernel" fn #name(#inputs) #block
            };
        }
        let (body, call, information) = (self.body(), self.call(), self.defined());
        let passed = self.parameters.iter().flat_map(|parameter| {
            let passed = parameter.passed.iter();
            passed.map(|(name, ty)| quote!(#name: #ty))
        });
        quote! {
            #(#attrs)*
            #[unsafe(no_mangle)]
            #vis unsafe extern "gpu-kernel" fn #name(#(#passed),*) {
                #body
                #information
                // SAFETY: the host sends parameters of this declaration: for slices address and
                // length, all valid as long as the kernel runs. The caller promises the rest.
                unsafe { #call }
            }
        }
    }

    /// The kernel with an array of pointers to its parameters, as the `host` device passes them.
    fn host(&self) -> TokenStream {
        let ItemFn {
            attrs, vis, sig, ..
        } = &self.function;
        let (name, unsafety) = (&sig.ident, &sig.unsafety);
        let params = Ident::new("params", Span::mixed_site());
        let (body, call) = (self.body(), self.call());
        let information = self.declaration.as_ref().map(|_| self.defined());
        let passed: Vec<_> = self.parameters.iter().flat_map(|p| &p.passed).collect();
        let reads = passed.iter().enumerate().map(|(index, (name, ty))| {
            quote!(let #name = (*#params.add(#index)).cast::<#ty>().read_unaligned();)
        });
        let run = if passed.is_empty() && unsafety.is_none() {
            quote!(let _ = #params; #call;)
        } else {
            quote! {
                // SAFETY: the caller promises that each `params[i]` points to the parameter's
                // value.
                unsafe {
                    let _ = #params;
                    #(#reads)*
                    #call
                }
            }
        };
        quote! {
            #(#attrs)*
            ///
            /// # Safety
            ///
            /// `params[i]` points to the value of parameter `i`; a slice is two, address and
            /// length. Beyond that, the kernel's own conditions hold.
            #[unsafe(no_mangle)]
            #vis unsafe extern "C" fn #name(#params: *const *const ::core::ffi::c_void) {
                #body
                #information
                #run
            }
        }
    }

    /// The function as written, within the exported one.
    fn body(&self) -> TokenStream {
        let ItemFn {
            attrs, sig, block, ..
        } = &self.function;
        let attributes: Vec<&Attribute> = attrs
            .iter()
            .filter(|attribute| !attribute.path().is_ident("doc"))
            .collect();
        let (body, unsafety, inputs) = (self.body_name(), &sig.unsafety, &sig.inputs);
        let inline = self.declaration.as_ref().map(|_| quote!(#[inline(always)]));
        quote! {
            #(#attributes)*
            #inline
            #unsafety fn #body(#inputs) #block
        }
    }

    /// A call of it, with parameters built from the received values.
    fn call(&self) -> TokenStream {
        let body = self.body_name();
        let values = self.parameters.iter().map(|parameter| &parameter.value);
        quote!(#body(#(#values),*))
    }

    fn body_name(&self) -> Ident {
        match self.declaration {
            // Messages about the declaration point to its name.
            Some(_) => Ident::new(
                &self.function.sig.ident.to_string(),
                Span::mixed_site().located_at(self.function.sig.ident.span()),
            ),
            None => Ident::new("body", Span::mixed_site()),
        }
    }

    /// The data symbol that describes the kernel, from its own parameters; `None` if
    /// there is a declaration.
    fn information(&self) -> Option<TokenStream> {
        if self.declaration.is_some() {
            return None;
        }
        let passed: Vec<_> = self.parameters.iter().flat_map(|p| &p.passed).collect();
        let types = passed.iter().map(|(_, ty)| ty);
        let params = u32::try_from(passed.len()).unwrap_or(u32::MAX);
        let codes: Vec<_> = self.parameters.iter().map(|p| p.code.as_str()).collect();
        let signature = fnv1a(codes.join(",").as_bytes());
        Some(self.symbol(&quote! {
            ::revoff_device::shared_abi::image::KernelInfo {
                params: #params,
                bytes: (0 #(+ ::core::mem::size_of::<#types>())*) as u32,
                signature: #signature,
            }
        }))
    }

    /// The same from the declaration, which rejects a function of another type, or one that is
    /// `unsafe` if the launch is not. Emitted beside [`body`](Self::body).
    fn defined(&self) -> TokenStream {
        let (declaration, body) = (&self.declaration, self.body_name());
        let sig = &self.function.sig;
        let (name, is_unsafe) = (sig.ident.unraw().to_string(), sig.unsafety.is_some());
        self.symbol(&quote!(<#declaration>::defined_by(#name, #is_unsafe, #body)))
    }

    fn symbol(&self, information: &TokenStream) -> TokenStream {
        let ItemFn { vis, sig, .. } = &self.function;
        let name = sig.ident.unraw();
        let symbol = format_ident!("__revoff_kernel_{name}", span = Span::call_site());
        let doc = format!("Describes the kernel [`{name}`] to the host.");
        quote! {
            #[doc = #doc]
            #[unsafe(no_mangle)]
            #vis static #symbol: ::revoff_device::shared_abi::image::KernelInfo = #information;
        }
    }
}
