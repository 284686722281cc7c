//! What a scope has done.

/// What has happened so far, and what is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Tasks that were spawned.
    pub spawned: u64,
    /// Those of them that have not ended.
    pub pending: u64,
    /// Those of these that are in a queue of a device.
    pub queued: u64,
    /// Tasks that ended well.
    pub done: u64,
    /// Tasks that failed, were given up for one that failed, or were cancelled.
    pub failed: u64,
    /// How often a target task had to wait for another one by way of the host.
    pub host_waits: u64,
    /// Target tasks that were queued once more, since something that they did not depend on
    /// had failed before them in a queue.
    pub repeated: u64,
    /// Queues of devices in use.
    pub queues: usize,
    /// Threads for host tasks.
    pub threads: usize,
}
