//! The record of eight aligned bytes: their accesses, their messages, and the host's accesses.

use std::collections::HashMap;
use std::sync::Arc;

use super::host_view::View;
use super::party::{Mark, Party, RaceKind, Who};
use super::{Clock, Kind, Operation};
use crate::code::op::Scope;
use crate::memory::is_mapped;

/// Whether accesses may be concurrent with others, and within which scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Strength {
    Weak,
    Strong(Scope),
}

/// Accesses that are represented by the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    who: Who,
    strength: Strength,
    mask: u8,
}

/// A clock that a store passes on within a scope around its block; without `from` it is the
/// host's.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) mask: u8,
    pub(super) from: Option<(u64, u64)>,
    pub(super) scope: Scope,
    pub(super) clock: Arc<Clock>,
}

/// A release that may be meant for the host, but whose scope excludes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) by: Who,
    pub(super) operation: Operation,
    mark: Mark,
}

impl Suspect {
    pub(super) fn party(&self) -> Party {
        Party::Device {
            who: self.by,
            mark: self.mark,
        }
    }
}

/// Another party's access, and the kind of race.
pub(super) struct Found {
    pub(super) race: RaceKind,
    pub(super) party: Party,
}

#[derive(Debug, Default)]
pub(super) struct Cell {
    writes: HashMap<Key, Mark>,
    reads: HashMap<Key, Mark>,
    pub(super) messages: Vec<Message>,
    pub(super) view: Option<Box<View>>,
    pub(super) suspect: Option<Suspect>,
    /// Bytes by which device threads communicate.
    internal: u8,
    /// Bytes with atomic accesses.
    strong: u8,
}

impl Key {
    /// Whether both may be concurrent. Source: the PTX ISA, "Morally strong operations".
    fn is_morally_strong(self, other: Self) -> bool {
        let (Strength::Strong(mine), Strength::Strong(its)) = (self.strength, other.strength)
        else {
            return false;
        };
        self.mask == other.mask && self.who.reaches(mine.min(its), other.who)
    }

    /// The kind of race if the two are not ordered.
    fn race(self, other: Self) -> RaceKind {
        if self.mask != other.mask || self.strength.is_weak() || other.strength.is_weak() {
            RaceKind::Race
        } else {
            RaceKind::Narrow
        }
    }
}

impl Strength {
    fn is_weak(self) -> bool {
        self == Self::Weak
    }
}

impl Cell {
    /// The strength of an access. In texts for old devices a plain access to a word with atomic
    /// accesses is atomic too.
    pub(super) fn strength(&mut self, operation: &Operation) -> Strength {
        let mask = operation.mask();
        let strength = Strength::of(operation.semantics, operation.scope);
        if !strength.is_weak() {
            self.strong |= mask;
        } else if operation.is_old && self.strong & mask != 0 {
            return Strength::Strong(Scope::Sys);
        }
        strength
    }

    /// A conflicting access that must be ordered before this one, and is not: `knows` is whether
    /// this one is ordered after a time of other lanes.
    pub(super) fn unknown_to(
        &self,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
        knows: impl Fn(Who, u64) -> bool,
    ) -> Option<Found> {
        let me = Key {
            who,
            strength,
            mask,
        };
        self.conflicting(mask, wrote).find_map(|(&other, &mark)| {
            let is_fine = me.is_morally_strong(other) || knows(other.who, mark.time);
            (!is_fine).then_some(Found {
                race: me.race(other),
                party: Party::Device {
                    who: other.who,
                    mark,
                },
            })
        })
    }

    /// The same for an access of the host, which is strong at system scope.
    pub(super) fn unknown_to_host(&self, mask: u8, wrote: bool, host: &Clock) -> Option<Found> {
        self.conflicting(mask, wrote).find_map(|(&other, &mark)| {
            let mut threads = other.who.threads();
            let is_fine = other.strength == Strength::Strong(Scope::Sys)
                || threads.any(|thread| host.knows(thread, mark.time));
            (!is_fine).then_some(Found {
                race: match other.strength {
                    Strength::Weak => RaceKind::Race,
                    Strength::Strong(_) => RaceKind::Narrow,
                },
                party: Party::Device {
                    who: other.who,
                    mark,
                },
            })
        })
    }

    fn conflicting(&self, mask: u8, wrote: bool) -> impl Iterator<Item = (&Key, &Mark)> {
        let reads = wrote.then_some(&self.reads).into_iter().flatten();
        let all = self.writes.iter().chain(reads);
        all.filter(move |(key, _)| key.mask & mask != 0)
    }

    /// An access of the host that must be ordered before this one, and is not, if this one is
    /// ordered after the host's tick `known`.
    pub(super) fn against_host(
        &self,
        mask: u8,
        strength: Strength,
        wrote: bool,
        known: u64,
    ) -> Option<(RaceKind, Party)> {
        let race = match strength {
            Strength::Strong(Scope::Sys) => return None,
            Strength::Strong(_) => RaceKind::Narrow,
            Strength::Weak => RaceKind::Race,
        };
        let party = self.view.as_ref()?.unknown(mask, wrote, known)?;
        Some((race, party))
    }

    /// An atomic operation continues the host's release.
    pub(super) fn take_from_host(&mut self, mask: u8, clock: Arc<Clock>) {
        self.hand_on(Message {
            mask,
            from: None,
            scope: Scope::Sys,
            clock,
        });
    }

    /// A write leaves `messages`; an atomic one also keeps earlier ones.
    pub(super) fn put(&mut self, mask: u8, kind: Kind, messages: Vec<Message>) {
        self.messages
            .retain(|m| m.mask & mask == 0 || (kind == Kind::Atomic && m.mask == mask));
        for message in messages {
            self.hand_on(message);
        }
    }

    fn hand_on(&mut self, message: Message) {
        let key = |m: &Message| (m.mask, m.from, m.scope);
        match self.messages.iter_mut().find(|m| key(m) == key(&message)) {
            Some(there) => Arc::make_mut(&mut there.clock).join(&message.clock),
            None => self.messages.push(message),
        }
    }

    /// Records an access that is ordered after all conflicting ones, or may be concurrent with them.
    pub(super) fn record(
        &mut self,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
        mark: Mark,
    ) {
        if wrote && strength.is_weak() {
            // A race with one of those is a race with this one too.
            self.writes.retain(|key, _| key.mask & !mask != 0);
            self.reads.retain(|key, _| key.mask & !mask != 0);
        }
        let to = if wrote {
            &mut self.writes
        } else {
            &mut self.reads
        };
        let key = Key {
            who,
            strength,
            mask,
        };
        to.insert(key, mark);
    }

    /// Records that device threads communicate by these bytes: one reads what another one wrote, or
    /// they have atomic accesses, which mapped memory need not support.
    pub(super) fn consumed(&mut self, who: Who, mask: u8, strength: Strength, kind: Kind) {
        let is_others =
            |suspect: &Suspect| suspect.operation.mask() & mask != 0 && !who.is_among(suspect.by);
        let is_heard = !strength.is_weak() && self.suspect.as_ref().is_some_and(is_others);
        if is_heard || kind == Kind::Atomic {
            self.internal |= mask;
        }
        if let Some(suspect) = &self.suspect
            && self.internal & suspect.operation.mask() != 0
        {
            self.suspect = None;
        }
    }

    /// Records a store that releases to the device only, and for which the host may wait.
    pub(super) fn suspect(
        &mut self,
        who: Who,
        operation: &Operation,
        strength: Strength,
        mark: Mark,
    ) -> bool {
        let mask = operation.mask();
        let mut reads = self.reads.keys();
        let is_awaited = reads
            .any(|key| key.mask & mask != 0 && !key.strength.is_weak() && !key.who.is_among(who));
        let is_suspect = is_mapped(operation.address)
            && operation.kind == Kind::Store
            && operation.semantics.releases()
            && strength != Strength::Strong(Scope::Sys)
            && self.internal & mask == 0
            && !is_awaited;
        if is_suspect {
            self.suspect = Some(Suspect {
                by: who,
                operation: *operation,
                mark,
            });
        }
        is_suspect
    }
}
