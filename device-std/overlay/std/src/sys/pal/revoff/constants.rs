//! Constants of calls to the host, for the platform layer and for the crate `std-calls`.

/// A time in nanoseconds since 1970 that is unknown, or that is not to be set.
pub const NO_TIME: i64 = i64::MIN;

/// The error number of [`std_look_up`](crate::std_look_up) for a name without addresses, which has
/// no number on Linux.
pub const LOOKUP_FAILED: i32 = 0x1_0000;

/// The result of [`std_wait_child`](crate::std_wait_child) for a child that has not ended.
pub const RUNNING: i64 = 1 << 32;

/// Options of [`std_open`](crate::std_open), as bits.
pub mod open {
    /// To read.
    pub const READ: u32 = 1;
    /// To write.
    pub const WRITE: u32 = 2;
    /// To write at the end.
    pub const APPEND: u32 = 4;
    /// Removes the contents.
    pub const TRUNCATE: u32 = 8;
    /// Creates the file if it is not there.
    pub const CREATE: u32 = 16;
    /// Creates the file, and fails if it is there.
    pub const CREATE_NEW: u32 = 32;
}

/// Operations of [`std_lock`](crate::std_lock).
pub mod lock {
    /// Waits for a lock that excludes all others.
    pub const EXCLUSIVE: u32 = 0;
    /// Waits for a lock that excludes exclusive ones.
    pub const SHARED: u32 = 1;
    /// As [`EXCLUSIVE`], without waiting.
    pub const TRY_EXCLUSIVE: u32 = 2;
    /// As [`SHARED`], without waiting.
    pub const TRY_SHARED: u32 = 3;
    /// Removes the lock.
    pub const UNLOCK: u32 = 4;
}

/// Options of sockets, with their values. A switch is 0 or 1.
pub mod socket_option {
    /// The time after which a read fails, in nanoseconds; 0 is never.
    pub const READ_TIMEOUT: u32 = 0;
    /// The time after which a write fails, likewise.
    pub const WRITE_TIMEOUT: u32 = 1;
    /// The time that closing the socket waits for its data to be sent, in seconds and one more; 0 is
    /// the default, to send the data later.
    pub const LINGER: u32 = 2;
    /// Sends small data immediately: a switch.
    pub const NO_DELAY: u32 = 3;
    /// The time to live of packets.
    pub const TTL: u32 = 4;
    /// Only IPv6: a switch.
    pub const ONLY_V6: u32 = 5;
    /// No operation waits: a switch, which can only be set.
    pub const NONBLOCKING: u32 = 6;
    /// The socket may send to broadcast addresses: a switch.
    pub const BROADCAST: u32 = 7;
    /// IPv4 packets to a group come back: a switch.
    pub const MULTICAST_LOOP_V4: u32 = 8;
    /// The time to live of IPv4 packets to a group.
    pub const MULTICAST_TTL_V4: u32 = 9;
    /// IPv6 packets to a group come back: a switch.
    pub const MULTICAST_LOOP_V6: u32 = 10;
    /// The number of the socket's pending error, which reading clears; 0 if there is none.
    pub const ERROR: u32 = 11;
}

/// The directions that [`std_shutdown`](crate::std_shutdown) closes.
pub mod shutdown {
    /// Reading.
    pub const READ: u32 = 0;
    /// Writing.
    pub const WRITE: u32 = 1;
    /// Both.
    pub const BOTH: u32 = 2;
}
