//! What goes along with a request: the bytes that the host cannot reach itself.

pub(crate) mod gcc;
pub mod native;
