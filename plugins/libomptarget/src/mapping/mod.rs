//! What constructs do with data.

pub(crate) mod begin;
pub(crate) mod end;
pub(crate) mod update;
