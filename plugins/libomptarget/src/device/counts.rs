//! Reference counts of mapped data.

use std::fmt;

/// A reference count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Times(u64),
    /// It is never unmapped: a variable of an image, or data that the program associated.
    Always,
}

impl Count {
    pub(crate) fn increment(&mut self) {
        if let Self::Times(times) = self {
            *times += 1;
        }
    }

    pub(crate) fn decrement(&mut self) {
        if let Self::Times(times) = self {
            *times = times.saturating_sub(1);
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        self == Self::Times(0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => times.fmt(f),
            Self::Always => f.pad("INF"),
        }
    }
}

/// The two counts: of `map` clauses, and of those with `ompx_hold`. Data stays mapped while either
/// is not zero, and `delete` resets the first only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) dynamic: Count,
    pub(crate) hold: Count,
}

impl Counts {
    pub(crate) fn new(is_hold: bool) -> Self {
        let (mut dynamic, mut hold) = (Count::Times(1), Count::Times(0));
        if is_hold {
            std::mem::swap(&mut dynamic, &mut hold);
        }
        Self { dynamic, hold }
    }

    pub(crate) fn of(&mut self, is_hold: bool) -> (&mut Count, Count) {
        if is_hold {
            (&mut self.hold, self.dynamic)
        } else {
            (&mut self.dynamic, self.hold)
        }
    }

    pub(crate) fn are_zero(self) -> bool {
        self.dynamic.is_zero() && self.hold.is_zero()
    }

    /// Whether exactly one construct has it mapped.
    pub(crate) fn are_one(self) -> bool {
        matches!(
            (self.dynamic, self.hold),
            (Count::Times(1), Count::Times(0)) | (Count::Times(0), Count::Times(1))
        )
    }

    /// For messages, with the change of one of them.
    pub(crate) fn shown(self, is_hold: bool, action: &str) -> String {
        let (to_dynamic, to_hold) = if is_hold { ("", action) } else { (action, "") };
        let Self { dynamic, hold } = self;
        format!("DynRefCount={dynamic}{to_dynamic}, HoldRefCount={hold}{to_hold}")
    }
}
