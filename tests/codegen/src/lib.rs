//! The compiled form of our device code: reading the compiler's assembly, and checking it.
//!
//! | module | job |
//! |---|---|
//! | [`workbench`] | builds crates, each once for an architecture |
//! | [`listing`] | functions and instructions of assembly |
//! | [`golden`] | instructions in the form of golden files |
//! | [`shared`] | instructions that access or order shared memory |
//! | [`lint`] | finds instructions that device code must not contain |

pub mod golden;
pub mod lint;
pub mod listing;
pub mod shared;
pub mod workbench;
