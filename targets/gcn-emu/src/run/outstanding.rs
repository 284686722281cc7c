//! Operations of a wave that are not complete, for the race checker.

use race_check::Scope;

use super::counters::{COUNTERS, Counters};
use crate::arch::Arch;

/// The effect of an operation that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Load,
    Store,
    /// Both.
    Update,
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

/// The race checker's state of a wave.
#[derive(Debug)]
pub(super) struct WaveCheck {
    pub(super) arch: Arch,
    pub(super) current: Current,
    /// The oldest first.
    outstanding: Vec<Outstanding>,
    /// By cache: loads before this time were complete when it was last invalidated.
    pub(super) invalidated: [u64; 3],
    /// The time of the last write-back as far as each scope.
    written_back: [u64; 3],
}

impl WaveCheck {
    pub(super) fn new(arch: Arch) -> Self {
        Self {
            arch,
            current: Current::default(),
            outstanding: Vec::new(),
            invalidated: [0; 3],
            written_back: [0; 3],
        }
    }

    /// Notes an operation. Counters count up to some number; then the oldest one is complete.
    pub(super) fn issue(&mut self, operation: Outstanding) {
        const MAX: usize = 64;
        self.outstanding.push(operation);
        if self.outstanding.len() > MAX {
            self.outstanding.remove(0);
        }
    }

    /// Whether a release of a scope requires that caches are written back.
    fn must_write_back(&self, scope: Scope) -> bool {
        match self.arch {
            Arch::Gfx942 => scope >= Scope::Gpu,
            Arch::Gfx90a | Arch::Gfx1201 => scope == Scope::Sys,
            Arch::Gfx906 | Arch::Gfx908 | Arch::Gfx1100 => false,
        }
    }

    /// Caches are written back as far as a scope.
    pub(super) fn write_back(&mut self, scope: Option<Scope>, now: u64) {
        for within in Scope::ALL {
            if Some(within) <= scope {
                self.written_back[within as usize] = now;
            }
        }
    }

    /// The time before which a release of a scope releases accesses.
    pub(super) fn released(&self, scope: Scope, now: u64) -> u64 {
        let is_store = |it| matches!(it, Effect::Store | Effect::Update);
        let stored = self.oldest(is_store, now);
        match self.must_write_back(scope) {
            true => stored.min(self.written_back[scope as usize]),
            false => stored,
        }
    }

    /// The time of the oldest operation that is not complete among some.
    fn oldest(&self, is_counted: impl Fn(Effect) -> bool, now: u64) -> u64 {
        let mut all = self.outstanding.iter();
        all.find(|it| is_counted(it.effect))
            .map_or(now, |it| it.time)
    }

    /// The time before which loads are complete.
    pub(super) fn loaded(&self, now: u64) -> u64 {
        self.oldest(|it| matches!(it, Effect::Load | Effect::Update), now)
    }

    /// Waits until at most so many operations of each counter are outstanding.
    pub(super) fn complete(&mut self, most: [usize; COUNTERS]) {
        for (counter, most) in most.into_iter().enumerate() {
            let counted = |it: &&mut Outstanding| it.counters.has(counter);
            let count = self.outstanding.iter_mut().filter(counted).count();
            let oldest = self.outstanding.iter_mut().filter(counted);
            for it in oldest.take(count.saturating_sub(most)) {
                it.counters.remove(counter);
            }
        }
        self.outstanding.retain(|it| !it.counters.is_empty());
    }
}
