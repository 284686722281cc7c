//! Loading the stand-in instead of the driver.

use standin::loader::Place;

/// The driver's library, and its replacement.
pub static PLACE: Place = Place {
    wanted: "REVOFF_STAND_IN",
    library: "libcuda_standin.so",
    folder: "cuda-standin",
    names: &["libcuda.so", "libcuda.so.1"],
};

/// The number of resources that contexts still held when they were destroyed.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn leaks() -> u64 {
    PLACE.ask("revoff_stand_in_leaks")
}

/// The number of contexts.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn contexts() -> u64 {
    PLACE.ask("revoff_stand_in_contexts")
}

/// The number of injected failures.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn faults() -> u64 {
    PLACE.ask("revoff_stand_in_faults")
}

/// The number of calls of `cuStreamQuery`: host-rt makes one for each queue that is returned.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn stream_queries() -> u64 {
    PLACE.ask("revoff_stand_in_stream_queries")
}

/// The number of calls of `cuStreamSynchronize`.
///
/// # Panics
/// The stand-in is not loaded.
#[must_use]
pub fn stream_waits() -> u64 {
    PLACE.ask("revoff_stand_in_stream_waits")
}
