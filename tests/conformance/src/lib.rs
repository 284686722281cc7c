//! One suite for every device and wire.
//!
//! The suite itself is `tests/suite`: bodies that are generic over a [`Target`],
//! run for each. Here is what it stands on.
//!
//! | module | job |
//! |---|---|
//! | [`target`] | the devices and wires |
//! | [`watchdog`] | a test that hangs ends, and says so |
//! | [`captured`] | what this process prints |
//! | [`child`] | tests that have a process of their own |
//! | [`stand_in`] | what stands in for the drivers of GPUs |
//! | [`process`] | what this process uses |

pub mod captured;
pub mod child;
pub mod process;
pub mod stand_in;
pub mod target;
pub mod watchdog;

pub use target::{DEVICES, Target};
