//! Messages for users, locations in the source, and the profile.

pub(crate) mod message;
pub(crate) mod profile;
pub(crate) mod source;
