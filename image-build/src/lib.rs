//! Builds device images of kernel crates from a build script.
