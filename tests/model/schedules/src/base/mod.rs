//! Utilities, as `base` of host-rt.

#[path = "../../../../../host-rt/src/base/addr.rs"]
pub(crate) mod addr;
#[path = "../../../../../host-rt/src/base/catch_panic.rs"]
pub(crate) mod catch_panic;
#[path = "../../../../../host-rt/src/base/display.rs"]
mod display;
pub mod random;
pub(crate) mod sleep;
#[path = "../../../../../host-rt/src/base/span.rs"]
pub(crate) mod span;
pub mod sync;

pub use self::display::Chain;
pub(crate) use self::display::debug_as_display;
