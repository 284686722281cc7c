//! How a request ended.

/// Outcome of a reverse-offload call. A newtype, not an enum: the other side of
/// the wire is not trusted to send one of the values below.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(
    /// The value on the wire.
    pub u32,
);

impl Status {
    /// No answer: the value of a caller's status word before the call, and after it if the device
    /// runtime reports no status (GCC's own).
    pub const NONE: Status = Status(0);
    /// The host function ran and its results are in place.
    pub const DONE: Status = Status(1);
    /// The function word names no function that the host knows.
    pub const NO_SUCH_FUNCTION: Status = Status(2);
    /// An argument could not be mapped; the function did not run.
    pub const REFUSED_MAPPING: Status = Status(3);
    /// The function ran and failed or panicked; nothing was copied back.
    pub const FUNCTION_FAILED: Status = Status(4);
    /// The host runtime is shutting down; the function did not run.
    pub const SHUTTING_DOWN: Status = Status(5);
    /// Not a request to the host (another device number, a null function) or no
    /// wire: the early return of `GOMP_target_ext`.
    pub const NOT_OFFLOADED: Status = Status(6);
    /// The host has aborted the launch. If the function runs, its results will not be copied back.
    pub const ABORTED: Status = Status(7);

    /// Too many calls that do not block are in flight; this one was not made. Not on a wire.
    pub const TOO_MANY: Status = Status(8);

    /// Short text for messages; for unknown values too.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NONE => "no status reported",
            Self::DONE => "done",
            Self::NO_SUCH_FUNCTION => "no such host function",
            Self::REFUSED_MAPPING => "argument mapping refused",
            Self::FUNCTION_FAILED => "host function failed",
            Self::SHUTTING_DOWN => "host runtime shutting down",
            Self::NOT_OFFLOADED => "not offloaded",
            Self::ABORTED => "launch aborted",
            Self::TOO_MANY => {
                "too many started calls in flight: wait for some, or increase REVOFF_SLOTS"
            }
            _ => "unknown status",
        }
    }
}

impl core::fmt::Debug for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Status({}: {})", self.0, self.describe())
    }
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.describe())
    }
}

const _: () = assert!(size_of::<Status>() == 4 && align_of::<Status>() == 4);
