//! The plugin's devices, in processes without libgomp.

#[path = "../../libgomp-plugin/tests/alone/mod.rs"]
mod alone;

use std::ffi::{CStr, c_char, c_int, c_uint};

// Linked for the functions below, which libgomp looks up by name.
use gomp_plugin_gcn as _;

use alone::{alone, is_alone};

unsafe extern "C" {
    safe fn GOMP_OFFLOAD_version() -> c_uint;
    safe fn GOMP_OFFLOAD_get_name() -> *const c_char;
    safe fn GOMP_OFFLOAD_get_type() -> c_int;
    safe fn GOMP_OFFLOAD_get_num_devices(requires: c_uint) -> c_int;
    safe fn GOMP_OFFLOAD_init_device(ord: c_int) -> bool;
}

/// Checks that `devices` names no device, with `words` in the message.
fn has_none(name: &str, devices: &str, words: Option<&str>) {
    if is_alone() {
        assert_eq!(GOMP_OFFLOAD_get_num_devices(0x80), 0);
        // No device lacks required features.
        assert_eq!(GOMP_OFFLOAD_get_num_devices(0x20), 0);
        assert!(!GOMP_OFFLOAD_init_device(0));
        return;
    }
    let log = ("REVOFF_LOG", "nonsense===");
    let output = alone(name, &[("REVOFF_DEVICE", devices), log]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("libgomp-plugin-gcn: opening a device: no device 0"));
    // The process continues.
    let log =
        "libgomp-plugin-gcn: environment variable REVOFF_LOG=\"nonsense===\": a level expected";
    assert!(said.contains(log), "{said}");
    match words {
        Some(words) => assert!(said.contains(words), "{said}"),
        None => assert!(!said.contains("REVOFF_DEVICE"), "{said}"),
    }
}

#[test]
fn it_is_the_one_for_amd() {
    // SAFETY: a C string that stays.
    let name = unsafe { CStr::from_ptr(GOMP_OFFLOAD_get_name()) };
    assert_eq!((name, GOMP_OFFLOAD_get_type()), (c"gcn", 8));
    assert_eq!(GOMP_OFFLOAD_version(), 3);
}

#[test]
fn devices_of_the_other_plugin_are_left_to_it() {
    let name = "devices_of_the_other_plugin_are_left_to_it";
    has_none(name, "cuda:0,emu:sm_60", None);
}

#[test]
fn what_is_no_device_is_named() {
    let words =
        "REVOFF_DEVICE=host: `host` runs no images of GCC's; expected one of emu, cuda, hsa, one";
    has_none("what_is_no_device_is_named", "host", Some(words));
}

#[test]
fn a_list_without_a_name_is_no_list() {
    let words = "REVOFF_DEVICE= ,: it names no device; expected one of emu, cuda, hsa, one";
    has_none("a_list_without_a_name_is_no_list", " ,", Some(words));
}

#[test]
fn a_gpu_that_is_not_there_is_named() {
    // Without ROCr, the message says that it is missing; with it, that the GPU is.
    let words = "REVOFF_DEVICE=hsa:4096: ";
    has_none("a_gpu_that_is_not_there_is_named", "hsa:4096", Some(words));
}
