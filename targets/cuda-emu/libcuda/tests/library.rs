//! The library, as programs load it.

use std::ffi::c_int;
use std::fs;
use std::path::PathBuf;

use libloading::Library;

fn path() -> PathBuf {
    let test = std::env::current_exe().expect("this test's path");
    test.with_file_name("libcuda_emulated.so")
}

/// All functions are there under their names, also after the library was closed: its threads go on.
#[test]
fn every_function_is_exported() {
    // SAFETY: the library has no initialisers.
    let library = unsafe { Library::new(path()) }.expect("cargo builds it for this test");
    let mut count = 0;
    for name in cuda_emu::functions::names() {
        // SAFETY: a symbol is an address, whatever is there.
        let found = unsafe { library.get::<*const u8>(name) };
        assert!(found.is_ok(), "{name}");
        count += 1;
    }
    assert!(count > 500, "{count} functions");
    type Init = extern "C" fn(u32) -> u32;
    type Count = extern "C" fn(&mut c_int) -> u32;
    let mut devices = 0;
    // SAFETY: the functions have these types.
    unsafe {
        let before = library.get::<Count>("cuDeviceGetCount").unwrap()(&mut devices);
        assert_eq!(before, 3, "not initialised");
        assert_eq!(library.get::<Init>("cuInit").unwrap()(0), 0);
        assert_eq!(
            library.get::<Count>("cuDeviceGetCount").unwrap()(&mut devices),
            0
        );
    }
    assert_eq!(devices, 1);
    library.close().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains("libcuda_emulated.so"), "it was unloaded");
}
