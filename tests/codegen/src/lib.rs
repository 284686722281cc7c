//! What our device code compiles to: reading the compiler's assembly, and judging it.
//!
//! | module | job |
//! |---|---|
//! | [`workbench`] | builds crates, each once for an architecture |
//! | [`listing`] | functions and instructions of assembly |
//! | [`golden`] | instructions as golden files have them |
//! | [`shared`] | what touches memory that others see, or orders it |
//! | [`lint`] | finds what device code must not contain |

pub mod golden;
pub mod lint;
pub mod listing;
pub mod shared;
pub mod workbench;
