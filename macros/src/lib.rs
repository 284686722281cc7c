//! Procedural macros of `host-fn` and `device-rt`, which re-export them: use them
//! as `revoff_fn::host_functions!` and `#[revoff_device::kernel]`.

mod fnv;
mod host_functions;
mod kernel;
mod kernel_declaration;
mod kernel_parameter;

use proc_macro::TokenStream;

/// Declares functions that run on the host and are called on a device.
///
/// ```ignore
/// revoff_fn::host_functions! {
///     /// Reads up to `buf.len()` bytes of `file` at `offset`; returns how many.
///     pub fn read_chunk(file: u32, offset: u64, buf: Out<[u8]>) -> u32;
/// }
/// ```
///
/// | parameter | on the device | mapped | in the host function |
/// |---|---|---|---|
/// | `&T`, `&[T]` | the same | to the host | the same |
/// | `&mut T`, `&mut [T]` | the same | both ways | the same |
/// | `Out<T>`, `Out<[T]>` | `&mut T`, `&mut [T]` | from the host | `&mut T`, `&mut [T]` of zeroes |
/// | `T` | the same | a copy | the same |
///
/// `T` and the return type are plain data, see `revoff_fn::Plain`.
///
/// For `read_chunk` this gives
/// - a function `read_chunk` for device code, which returns
///   `Result<u32, revoff_fn::CallError>`;
/// - a type `ReadChunk` for the host, with `bind(f)` for a closure that returns
///   `u32` and `try_bind(f)` for one that returns `Result<u32, impl Display>`;
/// - the data symbol `__revoff_fn_read_chunk`, whose address stands for the
///   function in requests.
#[proc_macro]
pub fn host_functions(input: TokenStream) -> TokenStream {
    host_functions::expand(input.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Declares a kernel, for the crate that kernel and host program share. Used as
/// `#[revoff_fn::kernel]`.
///
/// ```ignore
/// /// y[i] += a * x[i]
/// #[revoff_fn::kernel]
/// pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
/// ```
///
/// | parameter | at the launch | copied | in the kernel |
/// |---|---|---|---|
/// | `&T`, `&[T]` | the same | to the device | the same |
/// | `&mut T`, `&mut [T]` | the same | both ways | `*mut T`, `*mut [T]` |
/// | `Out<T>`, `Out<[T]>` | `&mut T`, `&mut [T]` | from the device | `*mut T`, `*mut [T]` to zeroes |
/// | a number | the same | by value | the same |
///
/// `T` is plain data, see `revoff_fn::Plain`; numbers are integers and floats of at most eight bytes.
/// The generated type `Saxpy` stands for the kernel:
/// - the kernel crate defines it with `#[revoff_device::kernel(Saxpy)]`, which rejects
///   another signature;
/// - a host program binds it with `program.bind::<Saxpy>()?`, which compares the hash of
///   the declaration with the image's, and launches the result with
///   `launch(grid, a, &x, &mut y)`.
///
/// A declaration as `pub unsafe fn` makes the launch and the definition `unsafe` too: for a kernel
/// with conditions on its arguments or grid that their types do not express.
#[proc_macro_attribute]
pub fn kernel_declaration(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel_declaration::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a function a kernel, which a host can launch on a device.
///
/// ```ignore
/// #[revoff_device::kernel]
/// pub fn digest(files: u32, buffers: *mut u8, scale: f64) { /* ... */ }
/// ```
///
/// Parameters are integers, floats and thin raw pointers; nothing is returned.
/// On a GPU the function is exported under its name as an `extern "gpu-kernel"`
/// (the crate needs `#![feature(abi_gpu_kernel)]` there); elsewhere as an
/// `extern "C" fn(params: *const *const c_void)`, the form of the `host` device.
/// The data symbol `__revoff_kernel_digest` describes its parameters.
///
/// With a declaration (`#[revoff_fn::kernel]`) the function has the declared parameters:
///
/// ```ignore
/// #[revoff_device::kernel(shared::Saxpy)]
/// pub fn saxpy(a: f32, x: &[f32], y: *mut [f32]) { /* ... */ }
/// ```
///
/// A slice takes two parameters, address and length. The function is `unsafe` if its declaration
/// is. Otherwise it must be sound for all arguments and grids, given that each `&` and `*mut` is
/// valid as long as it runs; all threads of a launch share the latter. Only a launch can call it.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
