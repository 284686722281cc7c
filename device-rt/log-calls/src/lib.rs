//! The host functions behind the log of device code, which every host provides.

#![no_std]

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

revoff_fn::host_functions! {
    // Hosts that are libraries, such as plugins, export only what they are asked for.
    #![export_if(feature = "image")]

    /// Logs a record: its target, its source file and the end of its message. All three are UTF-8.
    pub fn revoff_log(origin: Origin, target: &[u8], file: &[u8], message: &[u8]);
    /// The most verbose level that the host logs, as in [`Origin::level`]; 0 if it logs nothing.
    pub fn revoff_log_level() -> u32;
}

/// The functions' names.
pub const FUNCTIONS: [&str; 2] = [RevoffLog::NAME, RevoffLogLevel::NAME];

/// The origin of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Origin {
    /// The number of the pieces with which the message begins
    /// (`PIECE` of the function that prints); 0 if there are none.
    pub pieces: u64,
    /// The level: 1 (error), 2 (warn), 3 (info), 4 (debug) or 5 (trace), as in the crate `log`.
    pub level: u32,
    /// The line in the source file; 0 if it is unknown.
    pub line: u32,
    /// The team of the device thread.
    pub team: u32,
    /// The thread within its team.
    pub thread: u32,
}
