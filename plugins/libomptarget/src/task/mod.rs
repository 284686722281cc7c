//! Tasks of libomp's: constructs that go on while their task is away, and dependences between
//! tasks.

pub(crate) mod depend;
pub(crate) mod pending;
