//! Eight aligned bytes: who used them, what was handed on there, what the host did.

use std::collections::HashMap;
use std::sync::Arc;

use super::host::View;
use super::report::{Party, Trouble};
use super::strand::Strands;
use super::{Clock, Kind, Operation, Site};
use crate::alu::Mask;
use crate::code::op::Scope;
use crate::memory::is_mapped;

/// Lanes of a warp that did something at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) launch: u64,
    pub(super) block: u64,
    pub(super) warp: u32,
    pub(super) lanes: Mask,
}

/// Whether accesses may meet others, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Strength {
    Weak,
    Strong(Scope),
}

/// Accesses of which the last one stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    who: Who,
    strength: Strength,
    mask: u8,
}

/// An access: when, in its block's time, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) time: u64,
    pub(super) site: Site,
    pub(super) kind: Kind,
}

/// What a store hands on to those within a scope around its block; `from` nowhere is
/// the host.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) mask: u8,
    pub(super) from: Option<(u64, u64)>,
    pub(super) scope: Scope,
    pub(super) clock: Arc<Clock>,
}

/// A release that may have been meant for the host and leaves it out.
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

/// Somebody else's access, and why it must not be.
pub(super) struct Found {
    pub(super) trouble: Trouble,
    pub(super) party: Party,
}

#[derive(Debug, Default)]
pub(super) struct Cell {
    writes: HashMap<Key, Mark>,
    reads: HashMap<Key, Mark>,
    pub(super) messages: Vec<Message>,
    pub(super) view: Option<Box<View>>,
    pub(super) suspect: Option<Suspect>,
    /// Bytes by which device threads talk among themselves.
    internal: u8,
    /// Bytes that were accessed as atomic ones.
    strong: u8,
}

impl Key {
    /// Whether both may happen at the same time. Source: the PTX ISA, "Morally strong
    /// operations".
    fn is_morally_strong(self, other: Self) -> bool {
        let (Strength::Strong(mine), Strength::Strong(its)) = (self.strength, other.strength)
        else {
            return false;
        };
        self.mask == other.mask && self.who.reaches(mine.min(its), other.who)
    }

    /// What is wrong if nothing orders the two.
    fn trouble(self, other: Self) -> Trouble {
        if self.mask != other.mask || self.strength.is_weak() || other.strength.is_weak() {
            Trouble::Race
        } else {
            Trouble::Narrow
        }
    }
}

impl Strength {
    fn is_weak(self) -> bool {
        self == Self::Weak
    }
}

impl Cell {
    /// How strong an access is. In texts for old devices a plain one to a word that is
    /// accessed as an atomic one elsewhere is an atomic one, too.
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

    /// A conflicting access that is not ordered before this one, and must be.
    pub(super) fn unknown_to(
        &self,
        strands: &Strands,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
    ) -> Option<Found> {
        let me = Key {
            who,
            strength,
            mask,
        };
        self.conflicting(mask, wrote).find_map(|(&other, &mark)| {
            let is_fine = me.is_morally_strong(other) || strands.knows(who, other.who, mark.time);
            (!is_fine).then_some(Found {
                trouble: me.trouble(other),
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
                trouble: match other.strength {
                    Strength::Weak => Trouble::Race,
                    Strength::Strong(_) => Trouble::Narrow,
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

    /// Whether the host did something that is not ordered before this access, and must
    /// be.
    pub(super) fn against_host(
        &self,
        strands: &Strands,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
    ) -> Option<(Trouble, Party)> {
        let trouble = match strength {
            Strength::Strong(Scope::Sys) => return None,
            Strength::Strong(_) => Trouble::Narrow,
            Strength::Weak => Trouble::Race,
        };
        let known = strands.host(who);
        let party = self.view.as_ref()?.unknown(mask, wrote, known)?;
        Some((trouble, party))
    }

    /// An atomic operation goes on with what the host handed on.
    pub(super) fn take_from_host(&mut self, mask: u8, clock: Arc<Clock>) {
        self.hand_on(Message {
            mask,
            from: None,
            scope: Scope::Sys,
            clock,
        });
    }

    /// A write hands on `messages`; an atomic one also what was there.
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

    /// Notes an access that is ordered behind all that conflict with it, or may meet
    /// them.
    pub(super) fn record(
        &mut self,
        who: Who,
        mask: u8,
        strength: Strength,
        wrote: bool,
        mark: Mark,
    ) {
        if wrote && strength.is_weak() {
            // Who races with one of those races with this one, too.
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

    /// Notes that device threads talk by these bytes: one reads what another one wrote,
    /// or they are for atomic operations, which mapped memory need not have.
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

    /// Notes a store that releases to the device alone what the host may wait for.
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

impl Who {
    /// Whether all of these are among others.
    fn is_among(self, other: Self) -> bool {
        (self.launch, self.block, self.warp) == (other.launch, other.block, other.warp)
            && self.lanes & !other.lanes == 0
    }
}
