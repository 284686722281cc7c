//! Mapping, unmapping and updating the data of constructs.

pub(crate) mod map;
pub(crate) mod unmap;
pub(crate) mod update;
