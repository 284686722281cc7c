//! The weak memory mode's options.

use std::num::NonZero;

/// Weak memory mode: stores are delayed and loads find old content as far as the memory model allows it,
/// so that code without the waits and invalidations that it needs gives wrong results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weak {
    /// A seed of random numbers.
    pub seed: NonZero<u64>,
    /// Instructions that have no effect, to see whether tests notice that they are missing.
    pub ignored: Option<Ignored>,
}

/// Instructions that the weak memory mode can ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Waits, as far as they wait for stores.
    StoreWaits,
    /// Invalidations of caches.
    Invalidations,
}

impl Ignored {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::StoreWaits, Self::Invalidations];

    /// Its name in [`Weak::parse`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StoreWaits => "store-waits",
            Self::Invalidations => "invalidations",
        }
    }
}

impl Weak {
    /// The syntax of [`parse`](Self::parse), for errors.
    pub const EXPECTED: &str =
        "a whole number from 1 on, alone or with `,store-waits` or `,invalidations`";

    /// The mode that a text describes: a seed from 1 on, then perhaps what is ignored, as in
    /// `7,store-waits`. None if the text describes none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (seed, ignored) = match text.split_once(',') {
            Some((seed, name)) => {
                let mut all = Ignored::ALL.into_iter();
                (seed, Some(all.find(|ignored| ignored.name() == name)?))
            }
            None => (text, None),
        };
        Some(Self {
            seed: seed.parse().ok()?,
            ignored,
        })
    }

    /// Whether these instructions have no effect.
    pub(crate) fn ignores(self, what: Ignored) -> bool {
        self.ignored == Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_describe_modes() {
        let seed = NonZero::new(7).unwrap();
        let mode = |ignored| Some(Weak { seed, ignored });
        assert_eq!(Weak::parse("7"), mode(None));
        for ignored in Ignored::ALL {
            let text = format!("7,{}", ignored.name());
            assert_eq!(Weak::parse(&text), mode(Some(ignored)));
        }
        for wrong in [
            "",
            "0",
            "-1",
            "7,",
            "7,waits",
            ",store-waits",
            "store-waits",
        ] {
            assert_eq!(Weak::parse(wrong), None, "{wrong}");
        }
    }
}
