//! Putting the stand-in in ROCr's place.

use std::io;
use std::path::PathBuf;

use hsa_runtime_sys::LIBRARY;
use standin::loader::Place;

/// ROCr's place.
pub static PLACE: Place = Place {
    wanted: "REVOFF_HSA_STAND_IN",
    library: "libhsa_standin.so",
    folder: "hsa-standin",
    names: &[LIBRARY],
};

/// How much was made and not given back.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn held() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_held")
}

/// How many calls have failed because they were to.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn faults() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_faults")
}

/// Most bytes of the host's memory that were allocated at a time.
///
/// # Panics
/// The stand-in is not in ROCr's place.
#[must_use]
pub fn most_pinned() -> u64 {
    PLACE.ask("revoff_hsa_stand_in_most_pinned")
}

/// Tells of an event of a kind, of a GPU; what was answered, if anybody was told.
///
/// # Panics
/// The stand-in is not in ROCr's place.
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
    PLACE.call(|library| unsafe {
        let held = library.get::<extern "C" fn(bool)>("revoff_hsa_stand_in_hold_copies")?;
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
    PLACE.ask("revoff_hsa_stand_in_copies")
}

/// The stand-in's file: see [`Place::file`].
///
/// # Errors
/// It is not there.
pub fn library() -> io::Result<PathBuf> {
    PLACE.file()
}
