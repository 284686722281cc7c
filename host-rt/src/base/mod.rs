//! Utilities for all layers above.

pub(crate) mod addr;
mod display;
pub mod env;
pub(crate) mod lock;
pub(crate) mod output;
pub mod ranges;
pub(crate) mod sleep;

pub(crate) use self::display::{Chain, debug_as_display};
