//! Putting the stand-in in ROCr's place.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use hsa_runtime_sys::LIBRARY;

/// The environment variable that decides: `1` for the stand-in even where there is a GPU.
pub const WANTED: &str = "REVOFF_HSA_STAND_IN";

/// Its value in processes where the stand-in is in ROCr's place.
const LOADED: &str = "loaded";

/// Whether the stand-in is in ROCr's place in this process.
#[must_use]
pub fn is_loaded() -> bool {
    std::env::var_os(WANTED).is_some_and(|value| value == LOADED)
}

/// Whether the environment asks for it.
#[must_use]
pub fn is_wanted() -> bool {
    std::env::var_os(WANTED).is_some_and(|value| value == "1")
}

/// Begins this program anew with the stand-in in ROCr's place. Returns why it cannot.
#[must_use]
pub fn run_again() -> io::Error {
    let again = || {
        let mut folders = OsString::from(folder()?);
        if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
            folders.push(":");
            folders.push(others);
        }
        Ok(Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env("LD_LIBRARY_PATH", folders)
            .env(WANTED, LOADED)
            .exec())
    };
    again().unwrap_or_else(|error| error)
}

/// How much was made and not given back.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn held() -> u64 {
    ask(b"revoff_hsa_stand_in_held")
}

/// How many calls have failed because they were to.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn faults() -> u64 {
    ask(b"revoff_hsa_stand_in_faults")
}

/// Most bytes of the host's memory that were allocated at a time.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn most_pinned() -> u64 {
    ask(b"revoff_hsa_stand_in_most_pinned")
}

/// Tells of an event of a kind, of a GPU; what was answered, if anybody was told.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn tell_event(kind: u32, gpu: u32) -> Option<u32> {
    type Tell = extern "C" fn(u32, u32) -> i64;
    // SAFETY: the stand-in's function of this name takes two numbers and returns one.
    let answer = call(|library| unsafe {
        let tell = library.get::<Tell>(b"revoff_hsa_stand_in_tell_event")?;
        Ok(tell(kind, gpu))
    });
    u32::try_from(answer).ok()
}

/// Copies that are kept from beginning until this is dropped.
#[derive(Debug)]
pub struct HeldCopies(());

impl Drop for HeldCopies {
    fn drop(&mut self) {
        set_held(false);
    }
}

/// Keeps copies from beginning.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn hold_copies() -> HeldCopies {
    set_held(true);
    HeldCopies(())
}

fn set_held(hold: bool) {
    // SAFETY: the stand-in's function of this name takes a truth value.
    call(|library| unsafe {
        let held = library.get::<extern "C" fn(bool)>(b"revoff_hsa_stand_in_hold_copies")?;
        held(hold);
        Ok(())
    });
}

/// How many copies are not done.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn copies() -> u64 {
    ask(b"revoff_hsa_stand_in_copies")
}

fn ask(function: &[u8]) -> u64 {
    // SAFETY: the stand-in's functions of these names take nothing and return a number.
    call(|library| unsafe { Ok(library.get::<extern "C" fn() -> u64>(function)?()) })
}

/// Calls something of the stand-in's.
fn call<T>(run: impl FnOnce(&libloading::Library) -> Result<T, libloading::Error>) -> T {
    // SAFETY: the stand-in has no initialisers.
    let library = unsafe { libloading::Library::new(LIBRARY) };
    let answer = library.and_then(|library| run(&library));
    answer.unwrap_or_else(|error| panic!("the stand-in is not loaded: {error}"))
}

/// The stand-in's file: beside the program that is running, a test of a crate that depends on
/// this one.
///
/// # Errors
/// It is not there.
pub fn library() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let library = program.with_file_name("libhsa_standin.so");
    fs::metadata(&library)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", library.display())))?;
    Ok(library)
}

/// A folder with the stand-in under ROCr's name, and nothing else.
fn folder() -> io::Result<PathBuf> {
    let library = library()?;
    let folder = library.with_file_name("hsa-standin");
    fs::create_dir_all(&folder)?;
    // In one step: other tests may look for it at the same time.
    let new = folder.join(format!("{LIBRARY}.{}", std::process::id()));
    symlink(&library, &new)?;
    fs::rename(&new, folder.join(LIBRARY))?;
    Ok(folder)
}
