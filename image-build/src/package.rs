//! The folders of an installed package, below the one in which it is installed.

/// The plugins.
pub const LIBRARIES: &str = "lib/revoff";

/// The emulated drivers.
pub const EMULATED: &str = "lib/revoff/emulated";

/// The pieces that other compilers link into images.
pub const PIECES: &str = "lib/revoff/pieces";

/// The sources.
pub const SOURCES: &str = "share/revoff/src";
