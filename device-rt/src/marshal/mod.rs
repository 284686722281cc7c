//! Copies argument data that the host cannot reach.

pub(crate) mod gcc;
pub mod native;
