//! Compares the graph with OpenMP's specification: random tasks, run in random order by a simulated
//! host and devices.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Executor, Graph, Mark, New, QueueId, Resolve};
use crate::task::error::{TaskError, TaskName};
use crate::task::rules::{Access, merged, waits};
use crate::task::slab::Id;

const ALL: [Access; 5] = [
    Access::In,
    Access::Out,
    Access::InOut,
    Access::MutexInOutSet,
    Access::InOutSet,
];

#[derive(Clone, Debug)]
struct Plan {
    executor: Executor,
    accesses: Vec<(usize, Access)>,
    fails: bool,
    /// Whether an unrelated earlier operation in its queue fails.
    disturbed: bool,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let executor = prop_oneof![
        Just(Executor::Host),
        Just(Executor::Target(0)),
        Just(Executor::Target(1))
    ];
    let access = (0..4usize, prop::sample::select(&ALL[..]));
    let accesses = prop::collection::vec(access, 0..4);
    let plan = (executor, accesses, 0..20u8).prop_map(|(executor, mut accesses, luck)| {
        merged(&mut accesses);
        Plan {
            executor,
            accesses,
            fails: luck == 0,
            disturbed: luck == 1,
        }
    });
    prop::collection::vec(plan, 1..30)
}

/// A task in a queue: its dependencies, and their positions there.
struct InQueue {
    task: usize,
    event: usize,
    after: Vec<usize>,
}

/// Runs tasks by the graph.
struct World<'a> {
    plans: &'a [Plan],
    graph: Graph<usize, usize>,
    ids: Vec<Id>,
    /// The dependencies by the specification.
    before: Vec<Vec<usize>>,
    queued: Vec<InQueue>,
    /// For each event, whether the operations before it succeeded.
    events: Vec<Option<bool>>,
    /// Whether each task has really ended.
    over: Vec<bool>,
    /// Whether each target task has run, successfully or not.
    has_run: Vec<bool>,
    /// Whether each task's disturbance has happened.
    disturbed: Vec<bool>,
    exclusive: Vec<usize>,
}

fn overlap(one: &Plan, other: &Plan, test: impl Fn(Access, Access) -> bool) -> bool {
    one.accesses.iter().any(|&(address, access)| {
        let mut theirs = other.accesses.iter();
        theirs.any(|&(at, their)| at == address && test(access, their))
    })
}

impl<'a> World<'a> {
    fn new(plans: &'a [Plan], resolve: Resolve) -> Self {
        let before = (0..plans.len()).map(|task| {
            let earlier = (0..task).filter(|&other| overlap(&plans[task], &plans[other], waits));
            earlier.collect()
        });
        Self {
            plans,
            graph: Graph::new(resolve),
            ids: Vec::new(),
            before: before.collect(),
            queued: Vec::new(),
            events: Vec::new(),
            over: vec![false; plans.len()],
            has_run: vec![false; plans.len()],
            disturbed: vec![false; plans.len()],
            exclusive: Vec::new(),
        }
    }

    fn error() -> TaskError {
        TaskError::Failed {
            task: TaskName {
                number: 0,
                name: None,
            },
            message: String::new(),
        }
    }

    fn spawn(&mut self) {
        let task = self.ids.len();
        let frame = self.graph.root;
        self.ids.push(self.graph.add(New {
            name: None,
            executor: self.plans[task].executor,
            frame,
            group: None,
            accesses: self.plans[task].accesses.clone(),
            work: task,
            held: true,
            waits: false,
        }));
    }

    /// A task begins: no task that it excludes may run.
    fn enter(&mut self, task: usize) {
        let both = |one, other| one == Access::MutexInOutSet && one == other;
        for &other in &self.exclusive {
            assert!(!overlap(&self.plans[task], &self.plans[other], both));
        }
        self.exclusive.push(task);
    }

    fn leave(&mut self, task: usize, over: bool) {
        self.exclusive.retain(|&other| other != task);
        self.over[task] = over;
    }

    fn assert_after(&self, task: usize) {
        for &earlier in &self.before[task] {
            assert!(self.over[earlier], "{task} before {earlier}");
        }
    }

    fn start_host(&mut self, id: Id) {
        let Some((task, _)) = self.graph.start(id) else {
            return;
        };
        self.enter(task);
        self.assert_after(task);
        self.leave(task, true);
        let error = self.plans[task].fails.then(Self::error);
        self.graph.ended(id, error);
    }

    fn start_target(&mut self, id: Id) {
        let Some((task, marks)) = self.graph.start(id) else {
            return;
        };
        self.enter(task);
        let after = marks.iter().map(|mark| mark.at).collect();
        let event = self.events.len();
        self.events.push(None);
        self.queued.push(InQueue { task, event, after });
        let mark = Mark {
            task: id,
            queue: QueueId {
                device: 0,
                number: 0,
                epoch: 0,
            },
            at: event,
        };
        self.graph.queued(id, task, mark);
    }

    /// Runs a queued task, if one can run.
    fn device(&mut self, pick: usize) -> bool {
        let can = |queued: &InQueue| {
            let mut after = queued.after.iter();
            after.all(|&event| self.events[event].is_some())
        };
        let able: Vec<_> = (0..self.queued.len())
            .filter(|&at| can(&self.queued[at]))
            .collect();
        let Some(&at) = able.get(pick % able.len().max(1)) else {
            return false;
        };
        let InQueue { task, event, after } = self.queued.swap_remove(at);
        let plan = &self.plans[task];
        let disturbed = plan.disturbed && !std::mem::replace(&mut self.disturbed[task], true);
        // Failures propagate along events.
        let travels = after.iter().any(|&event| self.events[event] == Some(false));
        let runs = !disturbed && !travels;
        if runs {
            self.assert_after(task);
            assert!(!self.has_run[task], "{task} runs twice");
            self.has_run[task] = true;
        }
        self.leave(task, runs);
        let fine = runs && !plan.fails;
        self.events[event] = Some(fine);
        let error = (!fine).then(Self::error);
        self.graph.target_ended(self.ids[task], error, disturbed);
        true
    }

    /// One step, chosen by `pick`; `false` if there is none.
    fn step(&mut self, pick: usize) -> bool {
        let effects = &mut self.graph.effects;
        let (hosts, targets) = (effects.host.len(), effects.target.len());
        match pick % 4 {
            0 if self.ids.len() < self.plans.len() => self.spawn(),
            1 if hosts > 0 => {
                let id = effects.host.remove(pick / 4 % hosts).unwrap();
                self.start_host(id);
            }
            2 if targets > 0 => {
                let id = effects.target.pop_front().unwrap();
                self.start_target(id);
            }
            _ => return self.device(pick / 4),
        }
        true
    }
}

proptest! {
    #[test]
    fn does_what_the_text_says(
        plans in plans(),
        picks in prop::collection::vec(any::<usize>(), 200),
        on_host in any::<bool>(),
    ) {
        let resolve = if on_host { Resolve::OnHost } else { Resolve::OnDevice };
        let mut world = World::new(&plans, resolve);
        for pick in picks {
            world.step(pick);
        }
        // The remaining steps, in some order.
        while (0..4).any(|pick| world.step(pick)) {}
        let mut failed: Vec<bool> = Vec::new();
        for (task, plan) in plans.iter().enumerate() {
            failed.push(plan.fails || world.before[task].iter().any(|&at| failed[at]));
            let outcome = world.graph.outcome(world.ids[task]);
            prop_assert_eq!(outcome.map(|outcome: Result<(), Arc<TaskError>>| outcome.is_err()),
                Some(failed[task]), "task {}", task);
        }
        prop_assert_eq!(world.graph.stats.pending, 0);
        prop_assert_eq!(world.graph.stats.queued, 0);
    }
}

#[test]
fn tasks_that_have_failed_go_when_nothing_can_depend_on_them() {
    let mut graph = Graph::<usize, usize>::new(Resolve::OnDevice);
    let add = |graph: &mut Graph<usize, usize>, location| {
        graph.add(New {
            name: None,
            executor: Executor::Host,
            frame: graph.root,
            group: None,
            accesses: vec![(location, Access::InOut)],
            work: 0,
            held: false,
            waits: false,
        })
    };
    let first = add(&mut graph, 0);
    graph.start(first);
    graph.ended(first, Some(World::error()));
    for _ in 0..1000 {
        // Each one ends the next.
        add(&mut graph, 0);
        let other = add(&mut graph, 1);
        if graph.start(other).is_some() {
            graph.ended(other, None);
        }
    }
    assert_eq!(graph.stats.failed, 1001);
    assert!(graph.tasks.len() < 100, "{} tasks", graph.tasks.len());
}

#[test]
fn a_task_that_fails_after_a_repeated_one_runs_once() {
    let mut graph = Graph::<usize, usize>::new(Resolve::OnDevice);
    let add = |graph: &mut Graph<usize, usize>| {
        graph.add(New {
            name: None,
            executor: Executor::Target(0),
            frame: graph.root,
            group: None,
            accesses: vec![(0, Access::InOut)],
            work: 0,
            held: true,
            waits: false,
        })
    };
    let queue = |graph: &mut Graph<usize, usize>, task| {
        assert_eq!(graph.effects.target.pop_front(), Some(task));
        assert!(graph.start(task).is_some());
        let queue = QueueId {
            device: 0,
            number: 0,
            epoch: 0,
        };
        graph.queued(task, 0, Mark { task, queue, at: 0 });
    };
    let first = add(&mut graph);
    queue(&mut graph, first);
    graph.target_ended(first, Some(World::error()), true);
    queue(&mut graph, first);
    // It is queued after the repetition, and fails by itself.
    let second = add(&mut graph);
    queue(&mut graph, second);
    graph.target_ended(second, Some(World::error()), false);
    graph.target_ended(first, None, false);
    assert_eq!(graph.effects.target.pop_front(), None, "it is queued again");
    assert!(
        graph
            .outcome(second)
            .is_some_and(|outcome| outcome.is_err())
    );
}
