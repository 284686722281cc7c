//! Loading the stand-in instead of ROCr.

use std::io;
use std::path::PathBuf;

use hsa_runtime_sys::LIBRARY;
use standin::loader::Place;

/// ROCr's library, and its replacement.
pub static PLACE: Place = Place {
    wanted: "REVOFF_HSA_STAND_IN",
    library: "libhsa_standin.so",
    folder: "hsa-standin",
    names: &[LIBRARY],
};

/// The number of unfreed resources.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn held() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_held")
}

/// The number of injected failures.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn faults() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_faults")
}

/// The maximum of the host's memory that was allocated at a time, in bytes.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn most_pinned() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_most_pinned")
}

/// Reports an event of a kind, for a GPU; returns the result, if it was reported.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn tell_event(kind: u32, gpu: u32) -> Option<u32> {
    type Tell = extern "C" fn(u32, u32) -> i64;
    // SAFETY: the stand-in's function of this name takes two numbers and returns one.
    let answer = PLACE.call(|library| unsafe {
        let tell = library.get::<Tell>("revoff_hsa_stand_in_tell_event")?;
        Ok(tell(kind, gpu))
    });
    u32::try_from(answer).ok()
}

/// Keeps copies from beginning until it is dropped.
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
/// The stand-in is not loaded.
#[must_use]
pub fn hold_copies() -> HeldCopies {
    set_held(true);
    HeldCopies(())
}

fn set_held(hold: bool) {
    // SAFETY: the stand-in's function of this name takes a truth value.
    PLACE.call(|library| unsafe {
        let held = library.get::<extern "C" fn(bool)>("revoff_hsa_stand_in_hold_copies")?;
        held(hold);
        Ok(())
    });
}

/// The number of unfinished copies.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn copies() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_copies")
}

/// The stand-in's file: see [`Place::file`].
///
/// # Errors
/// It does not exist.
pub fn library() -> io::Result<PathBuf> {
    PLACE.file()
}
