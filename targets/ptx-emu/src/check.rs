//! A checker for accesses that nothing orders.

use crate::code::op::{Scope, Semantics};
use crate::error::Place;

/// A device thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub(crate) launch: u64,
    pub(crate) block: u64,
    pub(crate) thread: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Atomic,
}

/// One access to one element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
    /// What was there before, and what is there after.
    pub(crate) seen: u64,
    pub(crate) left: u64,
}

/// Where an access stands, cheaply: module, function, instruction.
pub(crate) type Site = (u64, u32, u32);

/// Follows what synchronisation orders.
#[derive(Debug, Default)]
pub(crate) struct Checker;

impl Checker {
    /// Notes an access; what is wrong with it.
    pub(crate) fn access(
        &self,
        thread: Thread,
        operation: Operation,
        site: Site,
        place: &dyn Fn() -> Place,
    ) -> Option<String> {
        let _ = (thread, operation, site, place);
        None
    }

    /// Notes a fence.
    pub(crate) fn fence(&self, thread: Thread, semantics: Semantics, scope: Scope) {
        let _ = (thread, semantics, scope);
    }
}
