//! Gives a Rust program its image.
//!
//! rustc's `-Zoffload=Test` compiles the host's side of an offloaded function: the data's way
//! to the device and back, the launch, and an entry with the kernel's name. But it registers a
//! descriptor with no image and no entries, so that no library knows what to launch.
//! [`embed!`] puts an image into the program and registers it with the entries that the
//! program has, before `main`, and takes it back when the program ends:
//!
//! ```ignore
//! offload_image::embed!("../kernels.so");
//! ```
//!
//! For the processor of the host an image is a shared object that has a function under each
//! kernel's name. It is called with a pointer that is for the runtime, then with the kernel's
//! arguments, each as one word of 64 bits: `void kernel_1(void *, double *x, uint64_t n)`.
//!
//! It is to be used once in an executable or shared library, and has no dependencies: no
//! `std`, and of C's library only `atexit`.
//!
//! # How to link
//!
//! The program is linked with `libomptarget`, whoever's it is. rustc hands `--gc-sections` to
//! the linker, and LLVM's linker, which nightly and newer stable Rust use, takes the entries
//! for garbage then: `undefined hidden symbol: __start_llvm_offload_entries`. They stay with
//!
//! ```text
//! -Clink-arg=-Wl,-z,nostart-stop-gc
//! ```
//!
//! in `RUSTFLAGS`, or where the program's build script says
//! `cargo::rustc-link-arg-bins=-Wl,-z,nostart-stop-gc`. A library cannot ask for that on behalf
//! of its users. GNU's linker keeps them anyway, and ignores the option where it does not
//! know it. A program that offloads nothing has no entries, and does not link either.
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

// SAFETY: it points to what is never written: an image's bytes, and entries that the linker
// gathered.
unsafe impl Sync for Image {}

/// What is registered: `__tgt_bin_desc`.
#[repr(C)]
pub struct Descriptor {
    count: i32,
    images: *const Image,
    entries: *const c_void,
    entries_end: *const c_void,
}

// SAFETY: as for `Image`.
unsafe impl Sync for Descriptor {}

/// An image's bytes, placed so that a loader may look at them where they are.
#[doc(hidden)]
#[repr(C, align(64))]
pub struct Aligned<const N: usize>(pub [u8; N]);

unsafe extern "C" {
    // The linker's, around what compilers put into the section `llvm_offload_entries`.
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
/// It is registered once. `unregister` takes this descriptor back, and is there until the
/// program, or the library that it is part of, is gone.
#[doc(hidden)]
pub unsafe fn register(descriptor: &'static Descriptor, unregister: extern "C" fn()) {
    // SAFETY: the descriptor, its image and the entries are statics, laid out as the library
    // has them (checked by this crate's test), and stay as they are. The rest is the caller's
    // promise.
    unsafe {
        __tgt_register_lib(descriptor);
        // Without room for it the library finds the image at its own end, and lets go of it.
        let _ = atexit(unregister);
    }
}

/// Takes a descriptor back.
///
/// # Safety
/// It was registered, and this is the only time that it is taken back.
#[doc(hidden)]
pub unsafe fn unregister(descriptor: &'static Descriptor) {
    // SAFETY: the caller's promise.
    unsafe { __tgt_unregister_lib(descriptor) };
}

/// Puts an image into the program, and registers it before `main`.
///
/// The path is that of `include_bytes!`: relative to the file that says it.
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
                // SAFETY: nobody can name this function but `register` below, which has it
                // called once, at the end.
                unsafe { $crate::unregister(&DESCRIPTOR) };
            }

            extern "C" fn register() {
                // SAFETY: `REGISTER` has this called once, before `main`. `unregister` is of
                // the same program or library, which has the C library call it before it goes.
                unsafe { $crate::register(&DESCRIPTOR, unregister) };
            }

            // SAFETY: functions in this section are called once, without arguments, before
            // `main`; this one needs nothing that is made later.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static REGISTER: extern "C" fn() = register;
        };
    };
}
