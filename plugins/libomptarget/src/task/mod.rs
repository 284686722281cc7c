//! Tasks of libomp: constructs that continue while their task is suspended, and dependences between
//! tasks.

pub(crate) mod depend;
pub(crate) mod pending;
