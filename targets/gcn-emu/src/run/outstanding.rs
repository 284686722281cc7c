//! Operations of a wave that are not complete, for the race checker.

use race_check::Scope;

use super::counters::{COUNTERS, Counters};
use crate::arch::Arch;

/// What an operation that is not complete does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Load,
    Store,
    /// Both.
    Update,
    WriteBack(Scope),
    /// It is counted only.
    Nothing,
}

/// An operation that is not complete.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) effect: Effect,
    /// A time after everything before it, and at most that of its first access.
    pub(super) time: u64,
    pub(super) counters: Counters,
}

/// The instruction that is being executed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// The time of its first access.
    pub(super) time: Option<u64>,
    /// The scope within which its accesses may be concurrent with others.
    pub(super) scope: Option<Scope>,
    pub(super) is_known_to_lds: bool,
}

/// What the checker needs of a wave.
#[derive(Debug)]
pub(super) struct WaveCheck {
    pub(super) arch: Arch,
    pub(super) current: Current,
    /// The oldest first.
    pub(super) outstanding: Vec<Outstanding>,
    /// By cache: loads before this time were complete when it was last invalidated.
    pub(super) invalidated: [u64; 3],
}

impl WaveCheck {
    pub(super) fn new(arch: Arch) -> Self {
        Self {
            arch,
            current: Current::default(),
            outstanding: Vec::new(),
            invalidated: [0; 3],
        }
    }

    /// The scopes of a release for which caches need not be written back.
    pub(super) fn plain_scopes(&self) -> &'static [Scope] {
        match self.arch {
            Arch::Gfx942 => &[],
            Arch::Gfx90a | Arch::Gfx1201 => &[Scope::Gpu],
            Arch::Gfx906 | Arch::Gfx908 | Arch::Gfx1100 => &[Scope::Gpu, Scope::Sys],
        }
    }

    /// The time of the oldest operation that is not complete among some.
    fn oldest(&self, is_counted: impl Fn(Effect) -> bool, now: u64) -> u64 {
        let mut all = self.outstanding.iter();
        all.find(|it| is_counted(it.effect))
            .map_or(now, |it| it.time)
    }

    /// The time before which stores are complete.
    pub(super) fn stored(&self, now: u64) -> u64 {
        self.oldest(|it| matches!(it, Effect::Store | Effect::Update), now)
    }

    /// The same of loads.
    pub(super) fn loaded(&self, now: u64) -> u64 {
        self.oldest(|it| matches!(it, Effect::Load | Effect::Update), now)
    }

    /// Waits until at most so many operations of each counter are outstanding. Returns the write-backs that are then
    /// complete.
    pub(super) fn complete(&mut self, most: [usize; COUNTERS]) -> Vec<(Scope, u64)> {
        for (counter, most) in most.into_iter().enumerate() {
            let counted = |it: &&mut Outstanding| it.counters.has(counter);
            let count = self.outstanding.iter_mut().filter(counted).count();
            let oldest = self.outstanding.iter_mut().filter(counted);
            for it in oldest.take(count.saturating_sub(most)) {
                it.counters.remove(counter);
            }
        }
        let done = self.outstanding.extract_if(.., |it| it.counters.is_empty());
        done.filter_map(|it| match it.effect {
            Effect::WriteBack(scope) => Some((scope, it.time)),
            _ => None,
        })
        .collect()
    }
}
