//! The executions of a single thread, for all values of its loads.

use std::collections::BTreeSet;

use super::{Action, Domain, REGISTERS, Scope, Semantics, Step, Term, Test, Update, Value};

/// The action of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Write,
    Fence,
}

/// A part of a step: an atomic operation has two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) does: Does,
    pub(super) word: usize,
    pub(super) value: u64,
    /// `None` if weak.
    pub(super) scope: Option<Scope>,
    pub(super) semantics: Semantics,
    /// A write of an atomic operation, whose read is the event before.
    pub(super) is_update: bool,
    /// The reads of the thread that it depends on, bit by bit.
    pub(super) depends: u64,
}

/// An execution of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Local {
    pub(super) events: Vec<Event>,
    /// Registers and the reads that they depend on.
    pub(super) registers: Vec<(u64, u64)>,
    /// Reads on which the control flow depends.
    control: u64,
}

/// All executions of each thread.
pub(super) fn executions(test: &Test) -> Vec<Vec<Local>> {
    // Numbers that occur in the test: a value that only justifies itself is for the axioms.
    let mut domain: Domain = vec![numbers(test); test.words.len()];
    // Tests are short, so values that depend on each other forever show as a large domain.
    for _ in 0..16 {
        let all: Vec<Vec<Local>> = (0..test.threads.len())
            .map(|thread| run(test, thread, &domain))
            .collect();
        let before = domain.clone();
        for event in all.iter().flatten().flat_map(|local| &local.events) {
            if event.does == Does::Write {
                domain[event.word].insert(event.value);
            }
        }
        let largest = domain.iter().map(BTreeSet::len).max();
        if domain == before || largest > Some(8) {
            return all;
        }
    }
    Vec::new()
}

fn numbers(test: &Test) -> BTreeSet<u64> {
    let steps = test.threads.iter().flat_map(|thread| &thread.steps);
    let guards = steps.filter_map(|step| step.guard.map(|(_, value)| value));
    let outcome = test.exists.iter().map(|term| match *term {
        Term::Register { value, .. } | Term::Word { value, .. } => value,
    });
    guards.chain(outcome).chain([0]).collect()
}

fn run(test: &Test, number: usize, domain: &Domain) -> Vec<Local> {
    let thread = &test.threads[number];
    let start = Local {
        registers: vec![(0, 0); REGISTERS],
        ..Local::default()
    };
    let mut done = Vec::new();
    let mut open = vec![(0, start)];
    while let Some((at, local)) = open.pop() {
        match thread.steps.get(at) {
            None => done.push(local),
            Some(step) => {
                let next = step.run(local, domain);
                open.extend(next.into_iter().map(|local| (at + 1, local)));
            }
        }
    }
    done
}

impl Step {
    fn run(&self, mut local: Local, domain: &Domain) -> Vec<Local> {
        if let Some((register, value)) = self.guard {
            let (is, depends) = local.registers[register];
            local.control |= depends;
            if is != value {
                return vec![local];
            }
        }
        match self.action {
            Action::Fence => {
                let event = self.event(Does::Fence, 0, 0, local.control);
                local.events.push(event);
                vec![local]
            }
            Action::Store { word, value } => {
                let (value, depends) = local.value(value);
                let event = self.event(Does::Write, word, value, depends | local.control);
                local.events.push(event);
                vec![local]
            }
            Action::Load { to, word } => self.read(&local, to, word, domain),
            Action::Atomic { to, word, update } => {
                let mut all = self.read(&local, to, word, domain);
                for local in &mut all {
                    self.update(local, to, word, update);
                }
                all
            }
        }
    }

    fn event(&self, does: Does, word: usize, value: u64, depends: u64) -> Event {
        Event {
            does,
            word,
            value,
            scope: match self.semantics {
                Semantics::Weak => None,
                Semantics::Volatile => Some(Scope::Sys),
                _ => Some(self.scope),
            },
            semantics: self.semantics,
            is_update: false,
            depends,
        }
    }

    fn read(&self, local: &Local, to: usize, word: usize, domain: &Domain) -> Vec<Local> {
        let each = |&value: &u64| {
            let mut local = local.clone();
            let event = self.event(Does::Read, word, value, local.control);
            local.registers[to] = (value, 1 << local.events.len());
            local.events.push(event);
            local
        };
        domain[word].iter().map(each).collect()
    }

    fn update(&self, local: &mut Local, to: usize, word: usize, update: Update) {
        let (old, by_read) = local.registers[to];
        let (left, depends) = match update {
            Update::Add(value) => {
                let (value, depends) = local.value(value);
                (old.wrapping_add(value), depends | by_read)
            }
            Update::Exchange(value) => local.value(value),
            Update::CompareAndSwap(compare, value) => {
                let (compare, on) = local.value(compare);
                if compare != old {
                    return;
                }
                let (value, depends) = local.value(value);
                (value, depends | on | by_read)
            }
        };
        let mut event = self.event(Does::Write, word, left, depends | local.control);
        event.is_update = true;
        local.events.push(event);
    }
}

impl Local {
    fn value(&self, value: Value) -> (u64, u64) {
        match value {
            Value::Number(number) => (number, 0),
            Value::Register(register, more) => {
                let (value, depends) = self.registers[register];
                (value.wrapping_add(more), depends)
            }
        }
    }
}
