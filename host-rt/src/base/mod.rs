//! Utilities for all layers above.

pub(crate) mod addr;
pub(crate) mod catch_panic;
mod display;
pub mod env;
pub(crate) mod lock;
pub(crate) mod number;
pub(crate) mod outer_ranges;
pub(crate) mod output;
pub mod ranges;
pub(crate) mod sleep;
pub(crate) mod span;
pub(crate) mod sync;

pub use self::display::Chain;
pub(crate) use self::display::debug_as_display;
