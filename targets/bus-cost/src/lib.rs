//! Counts of a kernel's operations on the bus between device and host, and an estimate of their time.
//!
//! An emulator fills in [`Costs`]: the [`Counts`] of a launch, and those of its [`Calls`] to the host.
//! A [`Bus`] turns the averages of a call into an [`Estimate`]. The counts are exact, except for
//! polling and spinning. The estimate is a model of hardware that nothing here has run on: compare
//! estimates with each other, and not with a clock.
//!
//! ```
//! use bus_cost::{BUSES, Calls};
//!
//! let mut calls = Calls {
//!     entry: "call".to_owned(),
//!     warp_calls: 1,
//!     lane_calls: 32,
//!     ..Calls::default()
//! };
//! // 32 lanes store 16 bytes each, side by side.
//! let lanes: Vec<_> = (0..32).map(|lane| (0x1000 + 16 * lane, 16)).collect();
//! calls.counts.stores.add(&lanes);
//! calls.counts.exchanges = 1;
//!
//! let call = calls.per_warp_call().expect("there was a call");
//! for bus in &BUSES {
//!     assert!(bus.estimate(&call).total_ns() > bus.two_flag().total_ns());
//! }
//! ```
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `report` | tables for people |
//! | [`record`] | recording what a warp does, for emulators |
//! | `bus` | the model, its parameters and their sources |
//! | `counts` | counts of a launch and of its calls |
//! | `traffic` | accesses of warps to mapped memory, grouped into transactions |

mod bus;
mod counts;
pub mod record;
mod report;
mod traffic;

pub use self::bus::{BUSES, Bus, Estimate};
pub use self::counts::{Calls, Costs, CountCosts, Counts, ENTRY, Fences, PerCall, Sink};
pub use self::report::{BusEstimate, Report};
pub use self::traffic::Traffic;
