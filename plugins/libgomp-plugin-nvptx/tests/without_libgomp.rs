//! The plugin in a process without libgomp: nothing hangs, and calls that cannot continue print a
//! message.

#[path = "../../libgomp-plugin/tests/alone/mod.rs"]
mod alone;

use std::ffi::{c_int, c_uint, c_void};
use std::process::Output;
use std::ptr::null;

// Linked for the functions below, which libgomp looks up by name.
use gomp_plugin_nvptx as _;

use alone::{alone, is_alone};

unsafe extern "C" {
    safe fn GOMP_OFFLOAD_version() -> c_uint;
    safe fn GOMP_OFFLOAD_get_caps() -> c_uint;
    safe fn GOMP_OFFLOAD_get_num_devices(requires: c_uint) -> c_int;
    safe fn GOMP_OFFLOAD_init_device(ord: c_int) -> bool;
    safe fn GOMP_OFFLOAD_fini_device(ord: c_int) -> bool;
    safe fn GOMP_OFFLOAD_alloc(ord: c_int, size: usize) -> *mut c_void;
    safe fn GOMP_OFFLOAD_free(ord: c_int, ptr: *mut c_void) -> bool;
    safe fn GOMP_OFFLOAD_memset(ord: c_int, ptr: *mut c_void, val: c_int, n: usize) -> bool;
    safe fn GOMP_OFFLOAD_is_accessible_ptr(ord: c_int, ptr: *const c_void, size: usize) -> c_int;
    safe fn GOMP_OFFLOAD_unload_image(ord: c_int, version: c_uint, data: *const c_void) -> bool;
    safe fn GOMP_OFFLOAD_get_uid(ord: c_int) -> *const std::ffi::c_char;
    fn GOMP_OFFLOAD_dev2host(ord: c_int, dst: *mut c_void, src: *const c_void, n: usize) -> bool;
    fn GOMP_OFFLOAD_host2dev(ord: c_int, dst: *mut c_void, src: *const c_void, n: usize) -> bool;
    fn GOMP_OFFLOAD_load_image(
        ord: c_int,
        version: c_uint,
        data: *const c_void,
        table: *mut *mut c_void,
        reverse: *mut *mut u64,
        indirect: *const u64,
    ) -> c_int;
    fn GOMP_OFFLOAD_run(
        ord: c_int,
        function: *mut c_void,
        vars: *mut c_void,
        args: *mut *mut c_void,
    );
}

#[track_caller]
fn assert_contains(output: &Output, text: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(text), "{text}: {said}");
}

#[test]
fn memory_is_there_without_libgomp() {
    if !is_alone() {
        let output = alone(
            "memory_is_there_without_libgomp",
            &[("REVOFF_DEVICE", "emu:sm_60,nonsense")],
        );
        assert!(output.status.success(), "{output:?}");
        for text in [
            "libgomp-plugin-nvptx: REVOFF_DEVICE=emu:sm_60,nonsense: `nonsense` runs no images",
            "libgomp-plugin-nvptx: allocating device memory: device 0 is not initialised",
            "libgomp-plugin-nvptx: opening a device: no device 1: there are 1",
            "libgomp-plugin-nvptx: freeing device memory: ",
            "libgomp-plugin-nvptx: copying to the device: ",
            "libgomp-plugin-nvptx: loading an image: the image is of version 2 for NVIDIA GPUs",
        ] {
            assert_contains(&output, text);
        }
        return;
    }
    assert_eq!((GOMP_OFFLOAD_version(), GOMP_OFFLOAD_get_caps()), (3, 4));
    assert_eq!(GOMP_OFFLOAD_get_num_devices(0x80), 1);
    // This machine's devices do not share all memory with the host.
    assert_eq!(GOMP_OFFLOAD_get_num_devices(0x20), -1);
    assert!(GOMP_OFFLOAD_alloc(0, 64).is_null());
    assert!(!GOMP_OFFLOAD_init_device(1) && !GOMP_OFFLOAD_init_device(-1));
    assert!(GOMP_OFFLOAD_init_device(0));

    let memory = GOMP_OFFLOAD_alloc(0, 64);
    assert!(!memory.is_null());
    let accessible = |offset, bytes| {
        let at = memory.cast_const().wrapping_byte_add(offset);
        GOMP_OFFLOAD_is_accessible_ptr(0, at, bytes)
    };
    assert_eq!(
        (accessible(0, 64), accessible(63, 1), accessible(63, 0)),
        (1, 1, 1)
    );
    assert_eq!(
        (
            accessible(1, 64),
            accessible(64, 1),
            accessible(0, usize::MAX)
        ),
        (0, 0, 0)
    );
    assert_eq!(GOMP_OFFLOAD_is_accessible_ptr(0, null(), 0), 0);
    assert!(GOMP_OFFLOAD_memset(0, memory, 7, 64));
    assert!(GOMP_OFFLOAD_memset(0, memory, 7, 0));
    let mut back = [0u8; 64];
    let at = back.as_mut_ptr().cast();
    // SAFETY: `back` has this many bytes; copies of no bytes access nothing.
    unsafe {
        assert!(GOMP_OFFLOAD_dev2host(0, at, memory, 64));
        assert!(GOMP_OFFLOAD_host2dev(0, memory, null(), 0));
        // Addresses that are not device memory.
        assert!(!GOMP_OFFLOAD_host2dev(0, 8 as *mut c_void, at, 64));
    }
    assert_eq!(back, [7; 64]);
    assert!(GOMP_OFFLOAD_free(0, memory) && !GOMP_OFFLOAD_free(0, memory));

    let (mut table, mut reverse) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: nothing is read of an image of an unknown version.
    let loaded =
        unsafe { GOMP_OFFLOAD_load_image(0, 0x3_0002, null(), &mut table, &mut reverse, null()) };
    assert_eq!(loaded, -1);
    assert!(!GOMP_OFFLOAD_unload_image(0, 0x3_0001, null()));
    assert!(GOMP_OFFLOAD_fini_device(0) && GOMP_OFFLOAD_fini_device(0));
    assert!(!GOMP_OFFLOAD_memset(0, memory, 7, 64));
}

/// Checks that the test `name` ends its process with a message.
fn assert_ends(name: &str, call: impl FnOnce()) {
    if is_alone() {
        assert!(GOMP_OFFLOAD_init_device(0));
        call();
        return;
    }
    let output = alone(name, &[("REVOFF_DEVICE", "emu:sm_60")]);
    assert!(!output.status.success(), "{output:?}");
    assert_contains(
        &output,
        "libgomp-plugin-nvptx: this is a plugin of libgomp's",
    );
}

#[test]
fn what_libgomp_would_free_needs_libgomp() {
    assert_ends("what_libgomp_would_free_needs_libgomp", || {
        GOMP_OFFLOAD_get_uid(0);
    });
}

#[test]
fn a_failed_region_needs_libgomp() {
    assert_ends("a_failed_region_needs_libgomp", || {
        let nothing = std::ptr::null_mut();
        // SAFETY: there is no such function, so the other arguments are not used.
        unsafe { GOMP_OFFLOAD_run(0, 8 as *mut c_void, nothing, std::ptr::null_mut()) };
    });
}
