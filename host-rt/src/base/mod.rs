//! Utilities for all layers above.

pub(crate) mod addr;
mod chain;
mod display;
pub mod env;
pub(crate) mod lock;
pub(crate) mod output;
pub mod ranges;
pub(crate) mod sleep;

pub use self::chain::Chain;
pub(crate) use self::display::debug_as_display;
