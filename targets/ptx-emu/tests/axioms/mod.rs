//! Litmus tests: a few threads of a few accesses each, and whether an outcome is allowed.
//!
//! A test is text, one column per thread, in PTX's own words:
//!
//! ```text
//! test MP+release.gpu+acquire.gpu
//! block 0                | block 1
//! st.weak [x], 1         | ld.acquire.gpu r0, [y]
//! st.release.gpu [y], 1  | @r0=1 ld.weak r1, [x]
//! exists 1:r0=1 & 1:r1=0
//! expect forbidden clean
//! ```
//!
//! Threads are of a `block`, of a `gpu 1 block 0` if there are several, or of the `host`.
//! Words are 0 at first. Instructions are `ld`, `st`, `atom` with `add`, `exch` and `cas`,
//! `fence` and `membar`; what is stored is a number, a register, or `r0+1`. `@r0=1` lets
//! an instruction be executed in that case only. `exists` asks for registers of threads
//! by their number, and for words at the end. `expect` says `allowed` or `forbidden`, and
//! `clean`, `race` or `narrow`, which [`Test::judge`] finds out.
//!
//! Source of the axioms: Lustig, Sahasrabuddhe and Giroux, "A Formal Analysis of the NVIDIA
//! PTX Memory Consistency Model", ASPLOS 2019, and the PTX ISA, "Memory Consistency
//! Model". Accesses are all of one size and of one proxy, and there are no barriers.

mod local;
mod model;
mod parse;
mod relation;

use std::collections::BTreeSet;

/// Which threads an operation orders accesses for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Cta,
    Gpu,
    Sys,
}

/// The order of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Semantics {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
}

impl Semantics {
    const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::Sc)
    }

    const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::Sc)
    }
}

/// The position of a thread: its block and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// On a device.
    Device {
        /// Which one.
        device: u32,
        /// In which block of it.
        block: u32,
    },
    /// On the host.
    Host,
}

impl Agent {
    /// Whether a scope around this one has another one in it.
    fn reaches(self, scope: Scope, other: Self) -> bool {
        match (scope, self, other) {
            (Scope::Sys, ..) => true,
            (Scope::Gpu, Self::Device { device: a, .. }, Self::Device { device: b, .. }) => a == b,
            _ => self == other,
        }
    }
}

/// A stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number.
    Number(u64),
    /// A register plus a number.
    Register(usize, u64),
}

/// The update of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// The sum.
    Add(Value),
    /// Something else.
    Exchange(Value),
    /// Something else, if there was the first.
    CompareAndSwap(Value, Value),
}

/// An access or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// From a word to a register.
    Load {
        /// The register.
        to: usize,
        /// The word.
        word: usize,
    },
    /// To a word.
    Store {
        /// The word.
        word: usize,
        /// The value.
        value: Value,
    },
    /// Both.
    Atomic {
        /// The register for the old value.
        to: usize,
        /// The word.
        word: usize,
        /// The new value.
        update: Update,
    },
    /// Neither.
    Fence,
}

/// An instruction of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its action.
    pub(crate) action: Action,
    /// Its order.
    pub(crate) semantics: Semantics,
    /// For whom.
    pub(crate) scope: Scope,
    /// The register and its value without which it is not executed.
    pub(crate) guard: Option<(usize, u64)>,
    /// Its line in the text, from 1.
    pub(crate) line: u32,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Its position.
    pub(crate) agent: Agent,
    /// Its action.
    pub(crate) steps: Vec<Step>,
}

/// A part of an outcome; all of them must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// A thread's register.
    Register {
        /// The thread.
        thread: usize,
        /// The register.
        register: usize,
        /// The final value.
        value: u64,
    },
    /// A word.
    Word {
        /// The word.
        word: usize,
        /// The final value.
        value: u64,
    },
}

/// Whether accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Races {
    /// None does.
    Clean,
    /// Some that conflict are not ordered, and one of them is weak.
    Race,
    /// Some that conflict are not ordered, both are strong, but one's scope is without
    /// the other's thread.
    Narrow,
}

/// The verdict of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Whether the outcome is allowed.
    pub(crate) allowed: bool,
    /// The races in all executions; the last of [`Races`] that occurs.
    pub(crate) races: Races,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// Its name.
    pub(crate) name: String,
    /// Its threads.
    pub(crate) threads: Vec<Thread>,
    /// Names of its words.
    pub(crate) words: Vec<String>,
    /// The outcome.
    pub(crate) exists: Vec<Term>,
    /// The expected verdict.
    pub(crate) expect: Option<Verdict>,
}

impl Test {
    /// Reads tests, one after the other.
    pub(crate) fn parse(text: &str) -> Result<Vec<Self>, String> {
        parse::tests(text)
    }

    /// Decides by all possible executions.
    pub(crate) fn judge(&self) -> Verdict {
        let mut verdict = Verdict {
            allowed: false,
            races: Races::Clean,
        };
        let locals: Vec<_> = local::executions(self);
        let mut chosen = vec![0; locals.len()];
        loop {
            let picked: Vec<_> = locals.iter().zip(&chosen).map(|(l, &at)| &l[at]).collect();
            model::decide(self, &picked, &mut verdict);
            // The next combination.
            let mut thread = 0;
            while thread < chosen.len() {
                chosen[thread] += 1;
                if chosen[thread] < locals[thread].len() {
                    break;
                }
                chosen[thread] = 0;
                thread += 1;
            }
            if thread == chosen.len() {
                return verdict;
            }
        }
    }
}

/// Registers of a thread.
const REGISTERS: usize = 16;

/// Values that a word may have.
type Domain = Vec<BTreeSet<u64>>;
