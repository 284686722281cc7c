//! Launches of an emulated GPU, and the OS threads that run their blocks.
//!
//! A *block* is a team of device threads that share memory and barriers. It runs on one OS thread, a
//! *processor*, which runs several blocks in turn. An emulator implements [`Launch`] for its running
//! kernels.
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `processors` | OS threads that run blocks |
//! | `launch` | what an emulator implements |
//! | `progress` | blocks of a launch that have begun and ended, and its result |
//! | `stalled` | whether a block repeats itself without progress |
//! | `activity` | whether anything has happened on the device |

mod activity;
mod launch;
mod processors;
mod progress;
mod stalled;

pub use self::activity::Activity;
pub use self::launch::{Launch, TurnResult};
pub use self::processors::Processors;
pub use self::progress::{OnEnd, Progress};
pub use self::stalled::Stalled;
