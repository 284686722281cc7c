//! Copies argument data that the host cannot reach.

#[cfg(feature = "gcc-wires")]
pub(crate) mod gcc;
pub mod native;
