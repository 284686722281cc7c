//! What users are told, and where in the source it happened.

pub(crate) mod message;
pub(crate) mod profile;
pub(crate) mod source;
