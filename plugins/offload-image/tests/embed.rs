//! An image is registered before the tests run, with the entries of the program.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

offload_image::embed!("image.bin");

/// An entry for a function, in compilers' layout (`__tgt_offload_entry`).
#[repr(C)]
struct Entry([usize; 7]);

#[used]
// SAFETY: only this test uses the section.
#[unsafe(link_section = "llvm_offload_entries")]
static ENTRY: Entry = Entry([0, 0x1_0001, 7, 0, 0, 0, 0]);

/// The registered descriptor, word by word (`__tgt_bin_desc`).
static REGISTERED: AtomicPtr<[usize; 4]> = AtomicPtr::new(ptr::null_mut());

// SAFETY: the program has no other function of this name, since it is linked without libomptarget.
#[unsafe(no_mangle)]
extern "C" fn __tgt_register_lib(descriptor: *mut [usize; 4]) {
    let before = REGISTERED.swap(descriptor, Ordering::SeqCst);
    assert!(before.is_null(), "registered once");
}

// SAFETY: the program has no other function of this name, since it is linked without libomptarget.
#[unsafe(no_mangle)]
extern "C" fn __tgt_unregister_lib(descriptor: *mut [usize; 4]) {
    if REGISTERED.load(Ordering::SeqCst) != descriptor {
        // Too late for a test to fail in another way.
        std::process::abort();
    }
}

#[test]
fn the_image_is_registered_with_the_entries() {
    let descriptor = REGISTERED.load(Ordering::SeqCst);
    assert!(!descriptor.is_null(), "before main");
    // SAFETY: a descriptor has four words and is never written.
    let [count, images, entries, entries_end] = unsafe { *descriptor };
    assert_eq!(count as u32, 1);
    assert_eq!(entries, (&raw const ENTRY).addr());
    assert_eq!(entries_end - entries, size_of::<Entry>());
    // SAFETY: the descriptor has one image, of four words, that is never written.
    let image = unsafe { *ptr::with_exposed_provenance::<[usize; 4]>(images) };
    assert_eq!(image[2..], [entries, entries_end]);
    let wanted = include_bytes!("image.bin");
    assert_eq!(image[1] - image[0], wanted.len());
    assert_eq!(image[0] % 64, 0);
    // SAFETY: the image's bytes lie between these addresses, as `embed!` placed them.
    let bytes = unsafe {
        std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(image[0]), wanted.len())
    };
    assert_eq!(bytes, wanted);
}
