//! One suite for every device and wire.
//!
//! The suite itself is `tests/suite`: bodies that are generic over a [`Target`], run for each. This
//! library supports it.
//!
//! | module | job |
//! |---|---|
//! | [`target`] | the devices and wires |
//! | [`watchdog`] | ends a test that hangs, with a message |
//! | [`captured`] | captures this process's output |
//! | [`child`] | tests in separate processes |
//! | [`process`] | resources of this process |
//! | [`emulated`] | resources of emulated GPUs |

pub mod captured;
pub mod child;
pub mod emulated;
pub mod process;
pub mod target;
pub mod watchdog;

pub use target::{DEVICES, DEVICES_OF_SELECTION, Target};
