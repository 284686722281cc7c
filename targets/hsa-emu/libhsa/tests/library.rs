//! The library, as programs load it.

use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hsa_runtime_sys::{HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_agent_t, hsa_status_t};
use libloading::Library;

fn path() -> PathBuf {
    let test = std::env::current_exe().expect("this test's path");
    test.with_file_name("libhsa_emulated.so")
}

/// Debian's library.
const ROCR: &str = "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1";

/// Counts agents.
unsafe extern "C" fn count(_: hsa_agent_t, agents: *mut c_void) -> hsa_status_t {
    // SAFETY: the test's counter.
    unsafe { *agents.cast::<u32>() += 1 };
    0
}

/// All functions are there under their names, also after the library was closed: its threads go on.
#[test]
fn every_function_is_exported() {
    // SAFETY: the library has no initialisers.
    let library = unsafe { Library::new(path()) }.expect("cargo builds it for this test");
    let mut functions = 0;
    for name in hsa_emu::functions::names() {
        // SAFETY: a symbol is an address, whatever is there.
        let found = unsafe { library.get::<*const u8>(name) };
        assert!(found.is_ok(), "{name}");
        functions += 1;
    }
    assert!(functions > 240, "{functions} functions");
    type Start = extern "C" fn() -> u32;
    type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;
    type Iterate = extern "C" fn(Callback, *mut c_void) -> u32;
    let mut agents = 0u32;
    let data = (&raw mut agents).cast();
    // SAFETY: the functions have these types.
    unsafe {
        let iterate = library.get::<Iterate>("hsa_iterate_agents").unwrap();
        assert_eq!(iterate(count, data), HSA_STATUS_ERROR_NOT_INITIALIZED);
        assert_eq!(library.get::<Start>("hsa_init").unwrap()(), 0);
        assert_eq!(iterate(count, data), 0);
        assert_eq!(library.get::<Start>("hsa_shut_down").unwrap()(), 0);
        assert_eq!(iterate(count, data), HSA_STATUS_ERROR_NOT_INITIALIZED);
    }
    assert_eq!(agents, 1, "a processor; the environment names no GPU");
    library.close().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains("libhsa_emulated.so"), "it was unloaded");
}

/// The functions that a library exports.
fn exported(library: &Path) -> Option<Vec<String>> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let symbols = text.lines().filter_map(|line| line.split_once(" T "));
    let names = symbols.map(|(_, name)| name.split('@').next().unwrap_or(name).to_owned());
    Some(names.filter(|name| name.starts_with("hsa_")).collect())
}

#[test]
fn it_has_all_functions_of_rocr() {
    let Some(theirs) = exported(Path::new(ROCR)) else {
        println!(
            "SKIPPED comparison with ROCr: no {ROCR} (libhsa-runtime64-1), or no nm (binutils)"
        );
        return;
    };
    let ours: Vec<&str> = hsa_emu::functions::names().collect();
    let missing: Vec<_> = theirs
        .iter()
        .filter(|name| !ours.contains(&&***name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(theirs.len() > 200, "{} functions", theirs.len());
}
