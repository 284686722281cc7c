//! The graph of the tasks that have not ended: what may start, what has ended, what fails.
//!
//! Nothing here runs a task or knows a device. A task that depends on another one waits for
//! it in one of two ways: to *start*, when the other has ended; or, where the device
//! resolves the dependency, to *end*, and to start only until the other is in its queue.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::error::{TaskError, TaskName};
use super::rules::{Access, Locations, merged};
use super::slab::{Id, Slab};

/// Who sees to it that a target task comes after target tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve {
    /// The device, where it can: its queue waits for events.
    #[default]
    OnDevice,
    /// The host: a task is queued when those that it depends on have ended. For comparison.
    OnHost,
}

/// What a task is to the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It runs on a thread of the host.
    Host,
    /// It is queued on a device, among those whose queues wait for each other's events.
    Target(u32),
}

/// A task to be.
pub(super) struct New<W> {
    pub(super) name: Option<Arc<str>>,
    pub(super) place: Place,
    pub(super) frame: Id,
    pub(super) group: Option<Id>,
    pub(super) accesses: Vec<(usize, Access)>,
    pub(super) work: W,
    /// Somebody holds its [handle](Graph::release).
    pub(super) held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Ready,
    /// It runs, or is on its way into a queue.
    Started,
    /// It is in its queue.
    Queued,
    Ended,
}

/// How a task waits for one that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// It starts when the other has ended.
    Start,
    /// It starts when the other is queued, and ends when that has ended.
    Queue,
    /// It ends when the other has ended.
    End,
}

/// Where in its queue a task is.
#[derive(Clone)]
pub(super) struct Mark<V> {
    pub(super) task: Id,
    pub(super) lane: Lane,
    pub(super) event: V,
}

/// A queue of a device, as it was until something in it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) device: u32,
    pub(super) lane: u32,
    pub(super) epoch: u32,
}

struct Task<W, V> {
    number: u32,
    name: Option<Arc<str>>,
    place: Place,
    phase: Phase,
    held: bool,
    /// It was queued again, since something else in its queue had failed.
    repeated: bool,
    /// So was one that it waits for.
    after_repeated: bool,
    /// Its queue had failed before it.
    behind_failure: bool,
    before_start: u32,
    before_end: u32,
    frame: Id,
    group: Option<Id>,
    next: Vec<(Id, Edge)>,
    /// Those whose events its queue waits for.
    after: Vec<Id>,
    locks: Box<[usize]>,
    /// The error of one that it depends on.
    cause: Option<Arc<TaskError>>,
    /// Its own; in the end, how it ended.
    error: Option<Arc<TaskError>>,
    mark: Option<Mark<V>>,
    work: Option<W>,
}

/// What the children of one task share.
#[derive(Default)]
struct Frame {
    /// That of the task whose children these are.
    parent: Option<Id>,
    locations: Locations<Id>,
    unfinished: usize,
    /// Its task runs, or it is that of the scope.
    open: bool,
    error: Option<Arc<TaskError>>,
}

struct Group {
    parent: Option<Id>,
    unfinished: usize,
    cancelled: bool,
    error: Option<Arc<TaskError>>,
}

/// That of a location, which tasks with `mutexinoutset` take in turn.
#[derive(Default)]
struct Lock {
    users: usize,
    holder: Option<Id>,
    waiting: VecDeque<Id>,
}

/// What has happened so far, and what is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Tasks that were spawned.
    pub spawned: u64,
    /// Those of them that have not ended.
    pub pending: u64,
    /// Those of these that are in a queue of a device.
    pub queued: u64,
    /// Tasks that ended well.
    pub done: u64,
    /// Tasks that failed, were given up for one that failed, or were cancelled.
    pub failed: u64,
    /// How often a target task had to wait for another one by way of the host.
    pub host_waits: u64,
    /// Target tasks that were queued once more, since something that they did not depend on
    /// had failed before them in a queue.
    pub repeated: u64,
    /// Queues of devices in use.
    pub queues: usize,
    /// Threads for host tasks.
    pub threads: usize,
}

/// What the caller of a method has to do.
pub(super) struct Due<W> {
    pub(super) host: VecDeque<Id>,
    pub(super) target: VecDeque<Id>,
    /// To be dropped without the lock on the graph, since it is not our code that is.
    pub(super) dropped: Vec<W>,
    /// Something that is waited for may have happened.
    pub(super) news: bool,
}

impl<W> Default for Due<W> {
    fn default() -> Self {
        Self {
            host: VecDeque::new(),
            target: VecDeque::new(),
            dropped: Vec::new(),
            news: false,
        }
    }
}

/// The graph. `W` is a task's work, `V` a device's event.
pub(super) struct Graph<W, V> {
    tasks: Slab<Task<W, V>>,
    frames: Slab<Frame>,
    groups: Slab<Group>,
    locks: HashMap<(Id, usize), Lock>,
    resolve: Resolve,
    pub(super) root: Id,
    pub(super) due: Due<W>,
    pub(super) stats: Stats,
    error: Option<Arc<TaskError>>,
}

type Failure = Option<Arc<TaskError>>;

impl<W, V: Clone> Graph<W, V> {
    pub(super) fn new(resolve: Resolve) -> Self {
        let mut frames = Slab::default();
        let root = frames.insert(Frame {
            open: true,
            ..Frame::default()
        });
        Self {
            tasks: Slab::default(),
            frames,
            groups: Slab::default(),
            locks: HashMap::new(),
            resolve,
            root,
            due: Due::default(),
            stats: Stats::default(),
            error: None,
        }
    }

    /// What the next task is called.
    pub(super) fn next_name(&self, name: &Option<Arc<str>>) -> TaskName {
        TaskName {
            // Numbers begin again after four billion tasks: they are for messages.
            number: self.stats.spawned as u32,
            name: name.clone(),
        }
    }

    /// Adds a task, the youngest child of its frame.
    pub(super) fn add(&mut self, new: New<W>) -> Id {
        let mut accesses = new.accesses;
        merged(&mut accesses);
        let exclusive = accesses.iter().filter(|(_, a)| *a == Access::MutexInOutSet);
        let locks: Box<[usize]> = exclusive.map(|&(address, _)| address).collect();
        for &address in &locks {
            self.locks.entry((new.frame, address)).or_default().users += 1;
        }
        let id = self.tasks.insert(Task {
            number: self.stats.spawned as u32,
            name: new.name,
            place: new.place,
            phase: Phase::Waiting,
            held: new.held,
            repeated: false,
            after_repeated: false,
            behind_failure: false,
            before_start: 1,
            // Being queued, and what is queued.
            before_end: 2,
            frame: new.frame,
            group: new.group,
            next: Vec::new(),
            after: Vec::new(),
            locks,
            cause: None,
            error: None,
            mark: None,
            work: Some(new.work),
        });
        self.stats.spawned += 1;
        self.stats.pending += 1;
        let mut group = new.group;
        while let Some(known) = group.and_then(|id| self.groups.get_mut(id)) {
            known.unfinished += 1;
            group = known.parent;
        }
        let mut after = Vec::new();
        if let Some(frame) = self.frames.get_mut(new.frame) {
            frame.unfinished += 1;
            let tasks = &self.tasks;
            let needed = |id| {
                let known = tasks.get(id);
                known.is_some_and(|task| task.phase != Phase::Ended || task.error.is_some())
            };
            frame.locations.add(id, &accesses, needed, &mut after);
        }
        after.retain(|&earlier| earlier != id);
        for earlier in after {
            self.depend(id, earlier, new.place);
        }
        self.may_start(id);
        id
    }

    fn depend(&mut self, id: Id, earlier: Id, place: Place) {
        let Some(other) = self.tasks.get_mut(earlier) else {
            return;
        };
        if other.phase == Phase::Ended {
            let cause = other.error.clone();
            if let Some(task) = self.tasks.get_mut(id) {
                task.cause = task.cause.take().or(cause);
            }
            return;
        }
        let both = |a, b| matches!((a, b), (Place::Target(_), Place::Target(_)));
        let edge = match self.resolve {
            Resolve::OnDevice if both(place, other.place) && place == other.place => {
                if other.phase == Phase::Queued {
                    Edge::End
                } else {
                    Edge::Queue
                }
            }
            _ => Edge::Start,
        };
        if edge == Edge::Start && both(place, other.place) {
            self.stats.host_waits += 1;
        }
        other.next.push((id, edge));
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if edge != Edge::End {
            task.before_start += 1;
        }
        if edge != Edge::Start {
            task.before_end += 1;
            task.after.push(earlier);
        }
    }

    /// One thing less to wait for.
    fn may_start(&mut self, id: Id) {
        let mut ended = Vec::new();
        self.count_down(id, &mut ended);
        self.end_all(ended);
    }

    fn count_down(&mut self, id: Id, ended: &mut Vec<(Id, Failure)>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.before_start -= 1;
        if task.before_start > 0 || task.phase != Phase::Waiting {
            return;
        }
        if task.cause.is_some() {
            ended.push((id, None));
        } else {
            self.lock(id);
        }
    }

    /// Makes a task ready if it gets all its locks; otherwise it waits for one of them, and
    /// holds none.
    fn lock(&mut self, id: Id) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        let frame = task.frame;
        let held = task.locks.iter().find_map(|&address| {
            let lock = self.locks.get(&(frame, address))?;
            // It has them already if it was ready before.
            let holder = lock.holder.filter(|&holder| holder != id)?;
            Some((address, holder))
        });
        if let Some((address, holder)) = held {
            let on_target = |place| matches!(place, Place::Target(_));
            let waits = on_target(task.place);
            if waits && self.tasks.get(holder).is_some_and(|t| on_target(t.place)) {
                self.stats.host_waits += 1;
            }
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.waiting.push_back(id);
            }
            return;
        }
        for &address in &task.locks {
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.holder = Some(id);
            }
        }
        task.phase = Phase::Ready;
        match task.place {
            Place::Host => {
                self.due.host.push_back(id);
                self.due.news = true;
            }
            Place::Target(_) => self.due.target.push_back(id),
        }
    }

    fn unlock(&mut self, id: Id, frame: Id, locks: &[usize]) {
        for &address in locks {
            if let Some(lock) = self.locks.get_mut(&(frame, address))
                && lock.holder == Some(id)
            {
                lock.holder = None;
            }
        }
        for &address in locks {
            while let Some(lock) = self.locks.get_mut(&(frame, address))
                && lock.holder.is_none()
                && let Some(next) = lock.waiting.pop_front()
            {
                self.lock(next);
            }
            if let Some(lock) = self.locks.get_mut(&(frame, address)) {
                lock.users -= 1;
                if lock.users == 0 {
                    self.locks.remove(&(frame, address));
                }
            }
        }
    }

    /// The work of a ready task, with what its queue waits for, which starts now; `None` if
    /// it does not start.
    pub(super) fn start(&mut self, id: Id) -> Option<(W, Vec<Mark<V>>)> {
        let group = self.tasks.get(id)?.group;
        if self.is_cancelled(group) {
            let error = TaskError::Cancelled {
                task: self.name(id),
            };
            self.end_all(vec![(id, Some(Arc::new(error)))]);
            return None;
        }
        if self.tasks.get(id)?.cause.is_some() {
            self.end_all(vec![(id, None)]);
            return None;
        }
        let after = std::mem::take(&mut self.tasks.get_mut(id)?.after);
        let mut marks = Vec::new();
        let mut again = Vec::new();
        for &earlier in &after {
            let Some(other) = self.tasks.get_mut(earlier) else {
                continue;
            };
            if other.phase == Phase::Ended {
                continue;
            }
            match &other.mark {
                Some(mark) => marks.push(mark.clone()),
                // It has been taken out of its queue, and will be in another one.
                None => {
                    let edges = other.next.iter_mut();
                    for (_, edge) in edges.filter(|(next, edge)| *next == id && *edge == Edge::End)
                    {
                        *edge = Edge::Queue;
                    }
                    again.push(earlier);
                }
            }
        }
        let task = self.tasks.get_mut(id)?;
        if !again.is_empty() {
            task.before_start += again.len() as u32;
            task.after = after;
            task.phase = Phase::Waiting;
            return None;
        }
        task.phase = Phase::Started;
        Some((task.work.take()?, marks))
    }

    /// A target task is in its queue. Its work is kept, for once more.
    pub(super) fn queued(&mut self, id: Id, work: W, mark: Mark<V>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.phase = Phase::Queued;
        task.mark = Some(mark);
        task.work = Some(work);
        self.stats.queued += 1;
        let mut released = Vec::new();
        for (next, edge) in &mut task.next {
            if *edge == Edge::Queue {
                *edge = Edge::End;
                released.push(*next);
            }
        }
        let mut ended = Vec::new();
        for next in released {
            self.count_down(next, &mut ended);
        }
        self.end_part(id, &mut ended);
        self.end_all(ended);
    }

    /// What a target task had in its queue has ended; `behind_failure` if something in that
    /// queue had failed before, so that it has not been run.
    pub(super) fn target_ended(&mut self, id: Id, error: Option<TaskError>, behind_failure: bool) {
        let mut ended = Vec::new();
        if let Some(task) = self.tasks.get_mut(id) {
            task.error = error.map(Arc::new);
            task.behind_failure = behind_failure;
        }
        self.end_part(id, &mut ended);
        self.end_all(ended);
    }

    /// A task has ended that ran on the host, or that no queue took.
    pub(super) fn ended(&mut self, id: Id, error: Option<TaskError>) {
        self.end_all(vec![(id, error.map(Arc::new))]);
    }

    /// One of the things that a queued task ends with has happened.
    fn end_part(&mut self, id: Id, ended: &mut Vec<(Id, Failure)>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.before_end -= 1;
        if task.before_end > 0 || task.phase == Phase::Ended {
            return;
        }
        let excused = task.behind_failure || task.after_repeated;
        if task.error.is_some() && task.cause.is_none() && excused {
            // It was not run, for nothing that it depends on: once more.
            task.before_end = 2;
            task.error = None;
            task.mark = None;
            task.behind_failure = false;
            task.after_repeated = false;
            task.repeated = true;
            task.phase = Phase::Ready;
            self.stats.queued -= 1;
            self.stats.repeated += 1;
            self.due.target.push_back(id);
        } else {
            let error = task.error.take();
            ended.push((id, error));
        }
    }

    /// Ends tasks, and those that they take with them.
    fn end_all(&mut self, mut ended: Vec<(Id, Failure)>) {
        while let Some((id, error)) = ended.pop() {
            let Some(task) = self.tasks.get_mut(id) else {
                continue;
            };
            if task.phase == Phase::Ended {
                continue;
            }
            self.stats.queued -= u64::from(task.phase == Phase::Queued);
            task.phase = Phase::Ended;
            task.mark = None;
            task.after = Vec::new();
            let name = TaskName {
                number: task.number,
                name: task.name.take(),
            };
            let cause = task.cause.take();
            let error = cause.map(|cause| Arc::new(cause.passed_on(name))).or(error);
            task.error.clone_from(&error);
            self.due.dropped.extend(task.work.take());
            let next = std::mem::take(&mut task.next);
            let locks = std::mem::take(&mut task.locks);
            let (frame, group, repeated) = (task.frame, task.group, task.repeated);
            let kept = task.held || error.is_some();
            self.due.news |= task.held;
            if !kept {
                self.tasks.remove(id);
            }
            self.account(frame, group, error.as_ref());
            self.unlock(id, frame, &locks);
            for (next, edge) in next {
                let Some(task) = self.tasks.get_mut(next) else {
                    continue;
                };
                if task.phase == Phase::Ended {
                    continue;
                }
                task.cause = task.cause.take().or_else(|| error.clone());
                task.after_repeated |= repeated;
                // Before it starts, as it would otherwise do so.
                if edge != Edge::Start {
                    self.end_part(next, &mut ended);
                }
                if edge != Edge::End {
                    self.count_down(next, &mut ended);
                }
            }
        }
    }

    fn account(&mut self, frame: Id, group: Option<Id>, error: Option<&Arc<TaskError>>) {
        self.stats.pending -= 1;
        *(match error {
            None => &mut self.stats.done,
            Some(_) => &mut self.stats.failed,
        }) += 1;
        // Who cancels knows of it.
        let error = error.filter(|error| !matches!(***error, TaskError::Cancelled { .. }));
        let note = |place: &mut Failure| {
            if place.is_none() {
                *place = error.cloned();
            }
        };
        note(&mut self.error);
        if let Some(known) = self.frames.get_mut(frame) {
            known.unfinished -= 1;
            note(&mut known.error);
            self.due.news |= known.unfinished == 0;
        }
        self.forget_frame(frame);
        let mut group = group;
        while let Some(known) = group.and_then(|id| self.groups.get_mut(id)) {
            known.unfinished -= 1;
            note(&mut known.error);
            self.due.news |= known.unfinished == 0;
            group = known.parent;
        }
        self.due.news |= self.stats.pending == 0;
    }

    /// What a task is called.
    pub(super) fn name(&self, id: Id) -> TaskName {
        let task = self.tasks.get(id);
        TaskName {
            number: task.map_or(0, |task| task.number),
            name: task.and_then(|task| task.name.clone()),
        }
    }

    /// A frame for the children of a task that runs.
    pub(super) fn open_frame(&mut self, parent: Id) -> Id {
        self.frames.insert(Frame {
            parent: Some(parent),
            open: true,
            ..Frame::default()
        })
    }

    /// The task of a frame has ended.
    pub(super) fn close_frame(&mut self, frame: Id) {
        if let Some(known) = self.frames.get_mut(frame) {
            known.open = false;
        }
        self.forget_frame(frame);
    }

    fn forget_frame(&mut self, frame: Id) {
        let known = self.frames.get(frame);
        if known.is_some_and(|known| known.unfinished == 0 && !known.open) {
            self.frames.remove(frame);
        }
    }

    /// The children of a frame that have not ended, and the first error of one.
    pub(super) fn children(&self, frame: Id) -> (usize, Failure) {
        let known = self.frames.get(frame);
        known.map_or((0, None), |known| (known.unfinished, known.error.clone()))
    }

    pub(super) fn open_group(&mut self, parent: Option<Id>) -> Id {
        self.groups.insert(Group {
            parent,
            unfinished: 0,
            cancelled: false,
            error: None,
        })
    }

    /// The tasks of a group that have not ended, and the first error of one.
    pub(super) fn members(&self, group: Id) -> (usize, Failure) {
        let known = self.groups.get(group);
        known.map_or((0, None), |known| (known.unfinished, known.error.clone()))
    }

    pub(super) fn close_group(&mut self, group: Id) {
        self.groups.remove(group);
    }

    /// None of the group's tasks starts any more.
    pub(super) fn cancel(&mut self, group: Id) {
        if let Some(known) = self.groups.get_mut(group) {
            known.cancelled = true;
        }
    }

    /// Whether a group was cancelled, or one that it is in.
    pub(super) fn is_cancelled(&self, group: Option<Id>) -> bool {
        let groups = std::iter::successors(group.and_then(|id| self.groups.get(id)), |known| {
            known.parent.and_then(|id| self.groups.get(id))
        });
        groups.into_iter().any(|known| known.cancelled)
    }

    /// How a task ended whose handle is held; `None` if it has not.
    pub(super) fn outcome(&self, id: Id) -> Option<Result<(), Arc<TaskError>>> {
        let task = self.tasks.get(id)?;
        (task.phase == Phase::Ended).then(|| task.error.clone().map_or(Ok(()), Err))
    }

    /// Nobody holds the handle of a task any more.
    pub(super) fn release(&mut self, id: Id) {
        if let Some(task) = self.tasks.get_mut(id) {
            task.held = false;
            if task.phase == Phase::Ended && task.error.is_none() {
                self.tasks.remove(id);
            }
        }
    }

    /// The first error of any task.
    pub(super) fn first_error(&self) -> Failure {
        self.error.clone()
    }

    /// The frame that a task is a child of, and its group.
    pub(super) fn home_of(&self, id: Id) -> Option<(Id, Option<Id>)> {
        self.tasks.get(id).map(|task| (task.frame, task.group))
    }

    /// A host task of `of` that is ready: the youngest, since that is most likely one of
    /// those that are waited for; for who waits for all, the oldest.
    pub(super) fn take_ready(&mut self, of: Family) -> Option<Id> {
        if matches!(of, Family::Frame(frame) if frame == self.root) {
            return self.due.host.pop_front();
        }
        let at = self.due.host.iter().rposition(|&id| self.is_in(id, of))?;
        self.due.host.remove(at)
    }

    /// Whether there is such a task.
    pub(super) fn has_ready(&self, of: Family) -> bool {
        self.due.host.iter().rev().any(|&id| self.is_in(id, of))
    }

    fn is_in(&self, id: Id, family: Family) -> bool {
        let Some(task) = self.tasks.get(id) else {
            return false;
        };
        match family {
            Family::Frame(frame) if frame == self.root => true,
            Family::Frame(frame) => {
                let mut frames = std::iter::successors(Some(task.frame), |&frame| {
                    self.frames.get(frame).and_then(|known| known.parent)
                });
                frames.any(|known| known == frame)
            }
            Family::Group(group) => {
                let mut groups = std::iter::successors(task.group, |&group| {
                    self.groups.get(group).and_then(|known| known.parent)
                });
                groups.any(|known| known == group)
            }
        }
    }
}

/// Tasks that belong together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Family {
    /// The descendants of the task whose frame this is.
    Frame(Id),
    /// All in a group and in those in it.
    Group(Id),
}
