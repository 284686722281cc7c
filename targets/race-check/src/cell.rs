//! The record of eight aligned bytes: their accesses, their messages, and the host's accesses.

use std::collections::HashMap;
use std::sync::Arc;

use device_arena::AccessKind;

use super::host_view::View;
use super::party::{Mark, Party, RaceKind, Who};
use super::{Clock, Operation, Scope};

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

/// A write, and the first time at which each observer did so without learning it from a message:
/// what comes later to the same bytes is ordered after the write.
#[derive(Debug)]
struct Write {
    mark: Mark,
    observers: HashMap<Who, u64>,
}

#[derive(Debug, Default)]
pub(super) struct Cell {
    writes: HashMap<Key, Write>,
    reads: HashMap<Key, Mark>,
    /// The strong writes that a strong load observes: the one that it reads, which comes last, and
    /// those that this one observed as an atomic operation. Source: the PTX ISA, "Observation order".
    chain: Vec<Key>,
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
    /// Without `mixes` only if they have the same size.
    fn is_morally_strong(self, other: Self, mixes: bool) -> bool {
        let (Strength::Strong(mine), Strength::Strong(its)) = (self.strength, other.strength)
        else {
            return false;
        };
        (mixes || self.mask == other.mask) && self.who.reaches(mine.min(its), other.who)
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

/// Whether a load of some bytes reads from a write: of the same ones, or with `mixes` of any of them.
fn meets(written: u8, read: u8, mixes: bool) -> bool {
    written == read || mixes && written & read != 0
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
        (who, mixes): (Who, bool),
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
        self.conflicting(mask, wrote, |other, mark, observers| {
            let mut observers = observers.into_iter().flatten();
            let is_fine = me.is_morally_strong(other, mixes)
                || knows(other.who, mark.time)
                || observers.any(|(&observer, &time)| knows(observer, time));
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
        self.conflicting(mask, wrote, |other, mark, _| {
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

    /// The first race that `find` finds in the accesses that conflict, each with its observers.
    fn conflicting(
        &self,
        mask: u8,
        wrote: bool,
        mut find: impl FnMut(Key, Mark, Option<&HashMap<Who, u64>>) -> Option<Found>,
    ) -> Option<Found> {
        let writes = self.writes.iter();
        let writes = writes.map(|(key, write)| (key, write.mark, Some(&write.observers)));
        let reads = wrote.then_some(&self.reads).into_iter().flatten();
        let reads = reads.map(|(key, &mark)| (key, mark, None));
        let mut all = writes.chain(reads).filter(|(key, ..)| key.mask & mask != 0);
        all.find_map(|(&key, mark, observers)| find(key, mark, observers))
    }

    /// A strong load at `time` observes writes; `knows` is whether it is ordered after a time of
    /// other lanes anyway. Returns whether it observes any, whose chain an atomic operation continues.
    pub(super) fn observe(
        &mut self,
        (who, mixes): (Who, bool),
        mask: u8,
        strength: Strength,
        time: u64,
        knows: impl Fn(Who, u64) -> bool,
    ) -> bool {
        let me = Key {
            who,
            strength,
            mask,
        };
        let meets = |write: &&Key| meets(write.mask, mask, mixes);
        let last = self.chain.iter().rfind(meets);
        if !last.is_some_and(|&last| me.is_morally_strong(last, mixes)) {
            return false;
        }
        for key in self.chain.iter().filter(meets) {
            if let Some(write) = self.writes.get_mut(key)
                && !knows(key.who, write.mark.time)
            {
                write.observers.entry(who).or_insert(time);
            }
        }
        true
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

    /// The messages of a load of these bytes.
    pub(super) fn messages_to(&self, mask: u8, mixes: bool) -> impl Iterator<Item = &Message> {
        let messages = self.messages.iter();
        messages.filter(move |message| meets(message.mask, mask, mixes))
    }

    /// A write leaves `messages`; an atomic one also keeps earlier ones. With `mixes` others keep those of the
    /// bytes that it leaves.
    pub(super) fn put(
        &mut self,
        (mask, mixes): (u8, bool),
        kind: AccessKind,
        messages: Vec<Message>,
    ) {
        let is_atomic = kind == AccessKind::Atomic;
        if mixes && !is_atomic {
            for message in &mut self.messages {
                message.mask &= !mask;
            }
            self.messages.retain(|message| message.mask != 0);
        } else if !mixes {
            self.messages
                .retain(|m| m.mask & mask == 0 || (is_atomic && m.mask == mask));
        }
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
    /// `continues` is whether it is an atomic operation that observed writes.
    pub(super) fn record(
        &mut self,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
        continues: bool,
        mark: Mark,
    ) {
        if wrote && strength.is_weak() {
            // A race with one of those is a race with this one too.
            self.writes.retain(|key, _| key.mask & !mask != 0);
            self.reads.retain(|key, _| key.mask & !mask != 0);
        }
        let key = Key {
            who,
            strength,
            mask,
        };
        if !wrote {
            self.reads.insert(key, mark);
            return;
        }
        let write = Write {
            mark,
            observers: HashMap::new(),
        };
        self.writes.insert(key, write);
        self.chain.retain(|write| {
            write.mask & mask == 0 || (continues && write.mask == mask && *write != key)
        });
        if !strength.is_weak() {
            self.chain.push(key);
        }
    }

    /// Records that device threads communicate by these bytes: one reads what another one wrote, or
    /// they have atomic accesses, which mapped memory need not support.
    pub(super) fn consumed(&mut self, who: Who, mask: u8, strength: Strength, kind: AccessKind) {
        let is_others =
            |suspect: &Suspect| suspect.operation.mask() & mask != 0 && !who.is_among(suspect.by);
        let is_heard = !strength.is_weak() && self.suspect.as_ref().is_some_and(is_others);
        if is_heard || kind == AccessKind::Atomic {
            self.internal |= mask;
        }
        if let Some(suspect) = &self.suspect
            && self.internal & suspect.operation.mask() != 0
        {
            self.suspect = None;
        }
    }

    /// Records a store to mapped memory that releases to the device only, and for which the host may wait.
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
        let is_suspect = operation.kind == AccessKind::Store
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
