//! Putting the stand-in in the driver's place.

use standin::loader::Place;

/// The driver's place.
pub static PLACE: Place = Place {
    wanted: "REVOFF_STAND_IN",
    library: "libcuda_standin.so",
    folder: "cuda-standin",
    names: &["libcuda.so", "libcuda.so.1"],
};

/// How much contexts still held when they were destroyed.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn leaks() -> u64 {
    PLACE.ask("revoff_stand_in_leaks")
}

/// How many contexts there are.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn contexts() -> u64 {
    PLACE.ask("revoff_stand_in_contexts")
}

/// How many calls have failed because they were to.
///
/// # Panics
/// The stand-in is not in the driver's place.
#[must_use]
pub fn faults() -> u64 {
    PLACE.ask("revoff_stand_in_faults")
}
