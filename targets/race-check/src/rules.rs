//! The differences between GPUs.

/// Whether an address is in memory that the host accesses, too.
pub type IsMapped = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// The rules of a GPU's memory model, and the words of its reports.
pub struct Rules {
    /// Threads of a warp.
    pub width: u32,
    /// Whether code shows each access that orders others. Otherwise instructions of a workgroup look the same,
    /// whether they synchronise its waves or not; and accesses of different sizes may be atomic all the same.
    pub is_explicit: bool,
    /// Whether an address is in memory that the host accesses, too.
    pub is_mapped: IsMapped,
    /// Whether all mapped memory is [registered](crate::Checker::map).
    pub registers_mapped: bool,
    /// The words for a block and for a thread of it, in reports.
    pub words: [&'static str; 2],
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules")
            .field("width", &self.width)
            .field("is_explicit", &self.is_explicit)
            .finish_non_exhaustive()
    }
}
