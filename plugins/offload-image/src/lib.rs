//! Embeds an image into a Rust program.
//!
//! rustc's `-Zoffload=Test` compiles the host's side of an offloaded function: the copies of its
//! data, the launch, and an entry with the kernel's name. But it registers a descriptor without
//! images and entries, so that no library can launch anything. [`embed!`] embeds an image,
//! registers it with the program's entries before `main`, and unregisters it when the program ends:
//!
//! ```ignore
//! offload_image::embed!("../kernels.so");
//! ```
//!
//! For the host's processor an image is a shared object with a function for each kernel, with the
//! kernel's name. Its parameters are a pointer for the runtime and then the kernel's arguments,
//! each as one word of 64 bits: `void kernel_1(void *, double *x, uint64_t n)`.
//!
//! Use it once per executable or shared library. It has no dependencies: no `std`, and of the C
//! library only `atexit`.
//!
//! # How to link
//!
//! Link the program with LLVM's or our `libomptarget`. rustc passes `--gc-sections` to the linker,
//! and LLVM's linker, which nightly and newer stable Rust use, then drops the entries: `undefined
//! hidden symbol: __start_llvm_offload_entries`. This option keeps them:
//!
//! ```text
//! -Clink-arg=-Wl,-z,nostart-stop-gc
//! ```
//!
//! Put it into `RUSTFLAGS`, or into the program's build script as
//! `cargo::rustc-link-arg-bins=-Wl,-z,nostart-stop-gc`. A library cannot pass it on behalf of its
//! users. GNU's linker keeps the entries anyway, and ignores an unknown option. A program that
//! offloads nothing has no entries, and does not link either.
#![no_std]

use core::ffi::{c_int, c_void};

/// An image: `__tgt_device_image`.
#[repr(C)]
pub struct Image {
    begin: *const u8,
    end: *const u8,
    entries: *const c_void,
    entries_end: *const c_void,
}

// SAFETY: it points to memory that is never written: an image's bytes, and entries that the linker
// collected.
unsafe impl Sync for Image {}

/// A registration: `__tgt_bin_desc`.
#[repr(C)]
pub struct Descriptor {
    count: i32,
    images: *const Image,
    entries: *const c_void,
    entries_end: *const c_void,
}

// SAFETY: it points to statics that are never written.
unsafe impl Sync for Descriptor {}

/// An image's bytes, aligned so that a loader may read them in place.
#[doc(hidden)]
#[repr(C, align(64))]
pub struct Aligned<const N: usize>(pub [u8; N]);

unsafe extern "C" {
    // The linker's symbols around the section `llvm_offload_entries`, which compilers fill.
    static __start_llvm_offload_entries: u8;
    static __stop_llvm_offload_entries: u8;

    fn __tgt_register_lib(descriptor: *const Descriptor);
    fn __tgt_unregister_lib(descriptor: *const Descriptor);
    fn atexit(function: extern "C" fn()) -> c_int;
}

impl Image {
    /// An image with all entries of the program.
    #[doc(hidden)]
    #[must_use]
    pub const fn new<const N: usize>(bytes: &'static Aligned<N>) -> Self {
        let range = bytes.0.as_ptr_range();
        Self {
            begin: range.start,
            end: range.end,
            entries: (&raw const __start_llvm_offload_entries).cast(),
            entries_end: (&raw const __stop_llvm_offload_entries).cast(),
        }
    }
}

impl Descriptor {
    /// A descriptor of an image.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(image: &'static Image) -> Self {
        Self {
            count: 1,
            images: image,
            entries: image.entries,
            entries_end: image.entries_end,
        }
    }
}

/// Registers a descriptor until the program ends.
///
/// # Safety
/// It is registered once. `unregister` reverses this registration, and stays loaded until the
/// program, or the library that it is part of, is unloaded.
#[doc(hidden)]
pub unsafe fn register(descriptor: &'static Descriptor, unregister: extern "C" fn()) {
    // SAFETY: the descriptor, its image and the entries are statics, with the library's layout
    // (checked by this crate's test), and never change. The rest is the caller's promise.
    unsafe {
        __tgt_register_lib(descriptor);
        // If it cannot be registered, the library frees the image at its own end.
        let _ = atexit(unregister);
    }
}

/// Unregisters a descriptor.
///
/// # Safety
/// It was registered, and is unregistered once.
#[doc(hidden)]
pub unsafe fn unregister(descriptor: &'static Descriptor) {
    // SAFETY: the caller's promise.
    unsafe { __tgt_unregister_lib(descriptor) };
}

/// Embeds an image into the program, and registers it before `main`.
///
/// The path is that of `include_bytes!`: relative to the file with the macro call.
#[macro_export]
macro_rules! embed {
    ($path:expr $(,)?) => {
        const _: () = {
            const BYTES: &[u8] = ::core::include_bytes!($path);
            static ALIGNED: $crate::Aligned<{ BYTES.len() }> =
                $crate::Aligned(*::core::include_bytes!($path));
            static IMAGE: $crate::Image = $crate::Image::new(&ALIGNED);
            static DESCRIPTOR: $crate::Descriptor = $crate::Descriptor::new(&IMAGE);

            extern "C" fn unregister() {
                // SAFETY: only `register` below can name this function, and has it called once, at
                // the end.
                unsafe { $crate::unregister(&DESCRIPTOR) };
            }

            extern "C" fn register() {
                // SAFETY: `REGISTER` has this called once, before `main`. `unregister` belongs to
                // the same program or library, and the C library calls it before it is unloaded.
                unsafe { $crate::register(&DESCRIPTOR, unregister) };
            }

            // SAFETY: functions in this section are called once, without arguments, before `main`;
            // this one needs no later initialisation.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static REGISTER: extern "C" fn() = register;
        };
    };
}
