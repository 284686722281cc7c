//! Stand-in for the services of `std`, which take no part.

/// No error.
#[derive(Debug, thiserror::Error)]
pub enum ServicesError {}
