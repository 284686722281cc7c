//! Programs that use reverse offload: see the folders beside this file.
//!
//! This library is empty. The programs are cargo examples, whose images a build
//! script makes; a build script belongs to a package, and cargo takes no package
//! without a library or a binary.
