//! Counters of a scope.

/// The activity of a scope so far, and its pending tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Spawned tasks.
    pub spawned: u64,
    /// Tasks that have not ended.
    pub pending: u64,
    /// Pending tasks that are in a queue of a device.
    pub queued: u64,
    /// Tasks that succeeded.
    pub done: u64,
    /// Tasks that failed, depended on one that failed, or were cancelled.
    pub failed: u64,
    /// Waits of target tasks for others that went through the host.
    pub host_waits: u64,
    /// Target tasks that were queued again because of an unrelated earlier failure in their queue.
    pub repeated: u64,
    /// Queues of devices in use.
    pub queues: usize,
    /// Threads for host tasks.
    pub threads: usize,
}
