//! Putting the stand-in in the driver's place.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that decides: `1` for the stand-in even where there is a
/// driver.
pub const WANTED: &str = "REVOFF_STAND_IN";

/// Its value in processes where the stand-in is in the driver's place.
const LOADED: &str = "loaded";

/// The names by which programs look for the driver.
const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// Whether the stand-in is in the driver's place in this process.
#[must_use]
pub fn is_loaded() -> bool {
    std::env::var_os(WANTED).is_some_and(|value| value == LOADED)
}

/// Whether the environment asks for it.
#[must_use]
pub fn is_wanted() -> bool {
    std::env::var_os(WANTED).is_some_and(|value| value == "1")
}

/// The variables of a process that has the stand-in in the driver's place.
///
/// # Errors
/// The library is not beside this program, where cargo puts it, or its folder cannot
/// be made.
pub fn environment() -> io::Result<[(&'static str, OsString); 2]> {
    let mut folders = OsString::from(folder()?);
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.push(":");
        folders.push(others);
    }
    Ok([("LD_LIBRARY_PATH", folders), (WANTED, LOADED.into())])
}

/// Begins this program anew with the stand-in in the driver's place. Returns why it
/// cannot.
#[must_use]
pub fn run_again() -> io::Error {
    let again = || {
        let environment = environment()?;
        let mut program = Command::new(std::env::current_exe()?);
        Ok(program
            .args(std::env::args_os().skip(1))
            .envs(environment)
            .exec())
    };
    again().unwrap_or_else(|error| error)
}

/// How much contexts still held when they were destroyed.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn leaks() -> u64 {
    ask(b"revoff_stand_in_leaks")
}

/// How many contexts there are.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn contexts() -> u64 {
    ask(b"revoff_stand_in_contexts")
}

/// How many calls have failed because they were to.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn faults() -> u64 {
    ask(b"revoff_stand_in_faults")
}

fn ask(function: &[u8]) -> u64 {
    // SAFETY: the stand-in has no initialisers; its functions of these names take
    // nothing and return a number.
    let answer = unsafe {
        let library = libloading::Library::new(NAMES[0]);
        library.and_then(|library| Ok(library.get::<extern "C" fn() -> u64>(function)?()))
    };
    answer.unwrap_or_else(|error| panic!("the stand-in is not loaded: {error}"))
}

/// A folder with the stand-in under the driver's names, and nothing else.
fn folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let beside = program.parent().unwrap_or(Path::new("."));
    let library = beside.join("libcuda_standin.so");
    fs::metadata(&library)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", library.display())))?;
    let folder = beside.join("cuda-standin");
    fs::create_dir_all(&folder)?;
    for name in NAMES {
        // In one step: other tests may look for it at the same time.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        symlink(&library, &new)?;
        fs::rename(&new, folder.join(name))?;
    }
    Ok(folder)
}
