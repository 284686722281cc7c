//! The axioms. Names are the paper's.

use super::local::{Does, Event, Local};
use super::relation::Relation;
use super::{Agent, Races, Semantics, Term, Test, Verdict};

/// Events of all threads, behind a write for each word's first value.
struct Events<'a> {
    test: &'a Test,
    picked: &'a [&'a Local],
    all: Vec<(Option<usize>, Event)>,
    po: Relation,
    rmw: Relation,
    dep: Relation,
    ms: Relation,
}

/// Tries every way in which executions of the threads may fit together.
pub(super) fn decide(test: &Test, picked: &[&Local], verdict: &mut Verdict) {
    let events = Events::new(test, picked);
    let reads: Vec<usize> = events.events_of(Does::Read);
    let sources: Vec<Vec<usize>> = reads.iter().map(|&read| events.sources(read)).collect();
    let fences: Vec<usize> = (0..events.all.len())
        .filter(|&e| events.is_fence_sc(e))
        .collect();
    let orders = permutations(&fences);
    combinations(&sources, &mut |from| {
        let mut rf = Relation::new(events.all.len());
        for (&read, &write) in reads.iter().zip(from) {
            rf.add(write, read);
        }
        if !rf.or(&events.dep).is_acyclic() {
            return;
        }
        for order in &orders {
            events.order(&rf, order, verdict);
        }
    });
}

/// One of each, in every way.
fn combinations(from: &[Vec<usize>], with: &mut impl FnMut(&[usize])) {
    fn go(from: &[Vec<usize>], picked: &mut Vec<usize>, with: &mut impl FnMut(&[usize])) {
        match from.get(picked.len()) {
            None => with(picked),
            Some(choices) => {
                for &choice in choices {
                    picked.push(choice);
                    go(from, picked, with);
                    picked.pop();
                }
            }
        }
    }
    go(from, &mut Vec::new(), with);
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in of.iter().enumerate() {
        let rest: Vec<usize> = [&of[..at], &of[at + 1..]].concat();
        for mut order in permutations(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

impl<'a> Events<'a> {
    fn new(test: &'a Test, picked: &'a [&'a Local]) -> Self {
        let first = |word| Event {
            does: Does::Write,
            word,
            value: 0,
            scope: None,
            semantics: Semantics::Weak,
            is_update: false,
            depends: 0,
        };
        let mut all: Vec<(Option<usize>, Event)> = (0..test.words.len())
            .map(|word| (None, first(word)))
            .collect();
        let mut starts = Vec::new();
        for (thread, local) in picked.iter().enumerate() {
            starts.push(all.len());
            all.extend(local.events.iter().map(|&event| (Some(thread), event)));
        }
        let count = all.len();
        let is_same_thread = |a: usize, b: usize| all[a].0.is_some() && all[a].0 == all[b].0;
        let po = Relation::of(count, |a, b| a < b && is_same_thread(a, b));
        let rmw = Relation::of(count, |a, b| all[b].1.is_update && a + 1 == b);
        let dep = Relation::of(count, |a, b| {
            let (Some(thread), Does::Write) = (all[a].0, all[b].1.does) else {
                return false;
            };
            po.has(a, b) && (all[b].1.depends >> (a - starts[thread])) & 1 != 0
        });
        let agent = |event: usize| all[event].0.map(|thread| test.threads[thread].agent);
        let reaches = |a: usize, b: usize| -> Option<bool> {
            let (one, other): (Agent, Agent) = (agent(a)?, agent(b)?);
            Some(one.reaches(all[a].1.scope?, other))
        };
        let ms = Relation::of(count, |a, b| {
            let (one, other) = (&all[a].1, &all[b].1);
            let is_memory = one.does != Does::Fence && other.does != Does::Fence;
            let is_wide = reaches(a, b) == Some(true) && reaches(b, a) == Some(true);
            a != b
                && (po.has(a, b) || po.has(b, a) || is_wide)
                && (!is_memory || one.word == other.word)
        });
        Self {
            test,
            picked,
            all,
            po,
            rmw,
            dep,
            ms,
        }
    }

    fn event(&self, event: usize) -> &Event {
        &self.all[event].1
    }

    fn events_of(&self, does: Does) -> Vec<usize> {
        (0..self.all.len())
            .filter(|&e| self.event(e).does == does)
            .collect()
    }

    fn is(&self, event: usize, does: Does) -> bool {
        self.event(event).does == does
    }

    fn is_strong(&self, event: usize, does: Does) -> bool {
        self.is(event, does) && self.event(event).scope.is_some()
    }

    fn is_fence_sc(&self, event: usize) -> bool {
        self.is(event, Does::Fence) && self.event(event).semantics == Semantics::Sc
    }

    fn is_same_word(&self, a: usize, b: usize) -> bool {
        let is_memory = !self.is(a, Does::Fence) && !self.is(b, Does::Fence);
        is_memory && self.event(a).word == self.event(b).word
    }

    /// The writes that a read may have read.
    fn sources(&self, read: usize) -> Vec<usize> {
        let fits = |&write: &usize| {
            self.is_same_word(read, write) && self.event(write).value == self.event(read).value
        };
        self.events_of(Does::Write)
            .into_iter()
            .filter(fits)
            .collect()
    }

    /// Goes on with what is read from what, and the order of fences.
    fn order(&self, rf: &Relation, fences: &[usize], verdict: &mut Verdict) {
        let count = self.all.len();
        let place = |event| fences.iter().position(|&fence| fence == event);
        let sc = Relation::of(count, |a, b| match (place(a), place(b)) {
            (Some(first), Some(second)) => first < second && self.ms.has(a, b),
            _ => false,
        });
        let cause = self.causality(rf, &sc);
        // FenceSC
        if !sc.then(&cause).is_irreflexive() {
            return;
        }
        // Pairs that are ordered in every execution, and pairs that must be in some order.
        let is_write = |event| self.is(event, Does::Write);
        let mut known = cause.between(is_write, is_write);
        known = Relation::of(count, |a, b| {
            let is_first = is_write(a) && is_write(b) && self.all[a].0.is_none();
            self.is_same_word(a, b) && a != b && (is_first || known.has(a, b))
        });
        let mut choices = Vec::new();
        for a in 0..count {
            for b in a + 1..count {
                let are_writes = is_write(a) && is_write(b) && self.ms.has(a, b);
                if are_writes && !known.has(a, b) && !known.has(b, a) {
                    choices.push((a, b));
                }
            }
        }
        for picked in 0..1u64 << choices.len() {
            let mut co = known.clone();
            for (bit, &(a, b)) in choices.iter().enumerate() {
                if (picked >> bit) & 1 == 0 {
                    co.add(a, b);
                } else {
                    co.add(b, a);
                }
            }
            let co = co.closure();
            if co.is_irreflexive() && self.is_consistent(rf, &co, &cause) {
                self.note(&co, &cause, verdict);
            }
        }
    }

    fn causality(&self, rf: &Relation, sc: &Relation) -> Relation {
        let po_word = Relation::of(self.all.len(), |a, b| {
            self.po.has(a, b) && self.is_same_word(a, b)
        });
        let direct = self.ms.and(rf);
        // obs = (ms & rf) | obs; rmw; obs
        let obs = direct.then(&self.rmw.then(&direct).closure().optional());
        let releases = |e: usize| {
            let semantics = self.event(e).semantics;
            semantics.releases() && self.event(e).scope.is_some()
        };
        let acquires = |e: usize| {
            let semantics = self.event(e).semantics;
            semantics.acquires() && self.event(e).scope.is_some()
        };
        let write = |e: usize| self.is_strong(e, Does::Write);
        let read = |e: usize| self.is_strong(e, Does::Read);
        let by_access = po_word
            .optional()
            .between(|e| write(e) && releases(e), write);
        let by_fence = |e: usize| self.is(e, Does::Fence);
        let released = self.po.between(|e| by_fence(e) && releases(e), write);
        let release = by_access.or(&released);
        let acquire = po_word
            .optional()
            .between(read, |e| read(e) && acquires(e))
            .or(&self.po.between(read, |e| by_fence(e) && acquires(e)));
        let sw = self.ms.and(&release.then(&obs).then(&acquire));
        let po = self.po.optional();
        let base = po.then(&sc.or(&sw)).then(&po).closure();
        let observed = obs.then(&base.or(&po_word));
        base.or(&observed)
    }

    fn is_consistent(&self, rf: &Relation, co: &Relation, cause: &Relation) -> bool {
        let count = self.all.len();
        let fr = rf.inverse().then(co);
        let po_word = Relation::of(count, |a, b| self.po.has(a, b) && self.is_same_word(a, b));
        let all = rf.or(co).or(&fr);
        let is_write = |event| self.is(event, Does::Write);
        let caused = cause.between(is_write, is_write);
        let is_coherent = Relation::of(count, |a, b| {
            caused.has(a, b) && self.is_same_word(a, b) && !co.has(a, b)
        });
        // An atomic operation that does not even race reads the last write before its own.
        let between = self.ms.and(&fr).then(&self.ms.and(co));
        is_coherent.is_empty()
            && between.and(&self.rmw).is_empty()
            && self.ms.and(&all).or(&po_word).is_acyclic()
            && rf.or(&fr).then(cause).is_irreflexive()
    }

    /// Records the outcome of a consistent execution.
    fn note(&self, co: &Relation, cause: &Relation, verdict: &mut Verdict) {
        let is_last = |event: usize| !(0..self.all.len()).any(|later| co.has(event, later));
        let holds = |term: &Term| match *term {
            Term::Register {
                thread,
                register,
                value,
            } => self.picked[thread].registers[register].0 == value,
            Term::Word { word, value } => self
                .events_of(Does::Write)
                .into_iter()
                .any(|e| self.event(e).word == word && self.event(e).value == value && is_last(e)),
        };
        verdict.allowed |= self.test.exists.iter().all(holds);
        verdict.races = verdict.races.max(self.races(cause));
    }

    fn races(&self, cause: &Relation) -> Races {
        let mut worst = Races::Clean;
        // An atomic operation is one operation, which races where its write does.
        let is_read_of_update = |event: usize| (0..self.all.len()).any(|e| self.rmw.has(event, e));
        for a in self.test.words.len()..self.all.len() {
            for b in a + 1..self.all.len() {
                let conflict = self.is_same_word(a, b)
                    && self.all[a].0 != self.all[b].0
                    && (self.is(a, Does::Write) || self.is(b, Does::Write));
                if !conflict
                    || is_read_of_update(a)
                    || is_read_of_update(b)
                    || self.ms.has(a, b)
                    || cause.has(a, b)
                    || cause.has(b, a)
                {
                    continue;
                }
                let is_strong = |event: usize| self.event(event).scope.is_some();
                worst = worst.max(if is_strong(a) && is_strong(b) {
                    Races::Narrow
                } else {
                    Races::Race
                });
            }
        }
        worst
    }
}
