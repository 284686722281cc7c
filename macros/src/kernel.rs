//! `#[kernel]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Error, ItemFn, Result, ReturnType, Type};

use crate::declaration::{named, refuse_extern_name, refuse_qualifiers};
use crate::fnv::fnv1a;
use crate::type_name;

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`#[kernel]` takes no arguments",
        ));
    }
    let kernel = Kernel::check(syn::parse2(item)?)?;
    let gpu = kernel.gpu();
    let host = kernel.host();
    let information = kernel.information();
    // Code for one architecture belongs into `device-rt`'s own modules. A kernel's
    // calling convention cannot live there: it is part of the item that the user
    // writes, in the user's crate, so the choice has to be made in place. (rustc's
    // name for the architecture of its amdgcn target is `amdgpu`.)
    Ok(quote! {
        #[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
        #gpu
        #[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
        #host
        #information
    })
}

/// A kernel whose parameters are fit for one.
struct Kernel {
    function: ItemFn,
    names: Vec<Ident>,
    types: Vec<Type>,
    /// The types as the signature hash has them.
    codes: Vec<String>,
}

impl Kernel {
    fn check(function: ItemFn) -> Result<Kernel> {
        refuse_qualifiers(&function.sig, "kernel")?;
        refuse_extern_name(&function.sig.ident)?;
        if let ReturnType::Type(_, returned) = &function.sig.output {
            return Err(Error::new_spanned(
                returned,
                "a kernel returns nothing: write results through a pointer parameter",
            ));
        }
        let (mut names, mut types, mut codes) = (Vec::new(), Vec::new(), Vec::new());
        for input in &function.sig.inputs {
            let (name, declared) = named(input)?;
            codes.push(code(declared)?);
            names.push(name.clone());
            types.push(declared.clone());
        }
        Ok(Kernel {
            function,
            names,
            types,
            codes,
        })
    }

    /// The parameters as they are, in the convention of GPU kernels.
    fn gpu(&self) -> TokenStream {
        let ItemFn {
            attrs,
            vis,
            sig,
            block,
        } = &self.function;
        let (name, unsafety, inputs) = (&sig.ident, &sig.unsafety, &sig.inputs);
        quote! {
            #(#attrs)*
            #[unsafe(no_mangle)]
            #vis #unsafety extern "gpu-kernel" fn #name(#inputs) #block
        }
    }

    /// An array of pointers to the parameters, as the `host` device passes them.
    fn host(&self) -> TokenStream {
        let ItemFn {
            attrs,
            vis,
            sig,
            block,
        } = &self.function;
        let (name, unsafety, inputs) = (&sig.ident, &sig.unsafety, &sig.inputs);
        let attributes: Vec<&Attribute> = attrs
            .iter()
            .filter(|attribute| !attribute.path().is_ident("doc"))
            .collect();
        let body = Ident::new("body", Span::mixed_site());
        let params = Ident::new("params", Span::mixed_site());
        let (names, types) = (&self.names, &self.types);
        let reads = types.iter().enumerate().map(
            |(index, declared)| quote!((*#params.add(#index)).cast::<#declared>().read_unaligned()),
        );
        let call = if names.is_empty() && unsafety.is_none() {
            quote!(let _ = #params; #body();)
        } else {
            quote! {
                // SAFETY: the caller's promise, see above.
                unsafe {
                    let _ = #params;
                    #(let #names = #reads;)*
                    #body(#(#names),*)
                }
            }
        };
        quote! {
            #(#attrs)*
            ///
            /// # Safety
            ///
            /// `params[i]` points to the value of parameter `i`. Beyond that, what the
            /// kernel itself asks of its parameters.
            #[unsafe(no_mangle)]
            #vis unsafe extern "C" fn #name(#params: *const *const ::core::ffi::c_void) {
                #(#attributes)*
                #unsafety fn #body(#inputs) #block
                #call
            }
        }
    }

    /// The data symbol that describes the kernel.
    fn information(&self) -> TokenStream {
        let ItemFn { vis, sig, .. } = &self.function;
        let name = sig.ident.unraw();
        let symbol = format_ident!("__revoff_kernel_{name}", span = Span::call_site());
        let doc = format!("Describes the kernel [`{name}`] to the host.");
        let types = &self.types;
        let params = u32::try_from(types.len()).unwrap_or(u32::MAX);
        let signature = fnv1a(self.codes.join(",").as_bytes());
        quote! {
            #[doc = #doc]
            #[unsafe(no_mangle)]
            #vis static #symbol: ::device_rt::shared_abi::image::KernelInfo =
                ::device_rt::shared_abi::image::KernelInfo {
                    params: #params,
                    bytes: (0 #(+ ::core::mem::size_of::<#types>())*) as u32,
                    signature: #signature,
                };
        }
    }
}

/// What the signature hash has for a parameter type: the type's name, `*` for
/// every pointer.
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
            Ok(type_name::canonical(declared))
        }
        Type::Reference(_) => refuse("the host cannot vouch for a reference on the device"),
        _ => refuse("this type is not known to the host"),
    }
}
