//! The end of tasks, and its effects on others.

use std::sync::Arc;

use super::task::{Edge, PARTS, Phase, Task};
use super::{Failure, Graph};
use crate::task::error::{TaskError, TaskName};
use crate::task::slab::Id;

impl<W, V: Clone> Graph<W, V> {
    /// Called when a target task's operations have ended; `behind_failure` if an earlier operation
    /// of that queue had failed, so that it has not been run.
    pub(in crate::task) fn target_ended(
        &mut self,
        id: Id,
        error: Option<TaskError>,
        behind_failure: bool,
    ) {
        let mut ended = Vec::new();
        if let Some(task) = self.tasks.get_mut(id) {
            task.error = error.map(Arc::new);
            task.behind_failure = behind_failure;
        }
        self.end_part(id, &mut ended);
        self.end_all(ended);
    }

    /// Called when a task has ended that ran on the host, or that was never queued.
    pub(in crate::task) fn ended(&mut self, id: Id, error: Option<TaskError>) {
        self.end_all(vec![(id, error.map(Arc::new))]);
    }

    /// Called when one of the parts of a queued task's end has happened.
    pub(super) fn end_part(&mut self, id: Id, ended: &mut Vec<(Id, Failure)>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.before_end -= 1;
        if task.before_end > 0 || task.phase == Phase::Ended {
            return;
        }
        let excused = task.behind_failure || task.after_repeated;
        if task.error.is_some() && task.cause.is_none() && excused {
            // Another task's failure kept it from running: it is queued again.
            task.before_end = PARTS;
            task.error = None;
            task.mark = None;
            task.behind_failure = false;
            task.after_repeated = false;
            task.phase = Phase::Ready;
            let queued = task.next.iter().filter(|(_, edge)| *edge == Edge::End);
            let queued: Vec<_> = queued.map(|&(next, _)| next).collect();
            for next in queued {
                // Those that have not started will wait for the new operations.
                let is_behind =
                    |task: &&mut Task<W, V>| matches!(task.phase, Phase::Started | Phase::Queued);
                if let Some(task) = self.tasks.get_mut(next).filter(is_behind) {
                    task.after_repeated = true;
                }
            }
            self.stats.queued -= 1;
            self.stats.repeated += 1;
            self.effects.target.push_back(id);
        } else {
            let error = task.error.take();
            ended.push((id, error));
        }
    }

    /// Ends tasks, and the tasks that end with them.
    pub(super) fn end_all(&mut self, mut ended: Vec<(Id, Failure)>) {
        while let Some((id, error)) = ended.pop() {
            let group = self.tasks.get(id).and_then(|task| task.group);
            let is_cancelled = self.is_cancelled(group);
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
            let error = match task.cause.take() {
                // It would have been cancelled itself.
                Some(cause)
                    if is_cancelled
                        && matches!(cause.first_cause(), TaskError::Cancelled { .. }) =>
                {
                    Some(Arc::new(TaskError::Cancelled { task: name }))
                }
                Some(cause) => Some(Arc::new(cause.passed_on(name))),
                None => error,
            };
            task.error.clone_from(&error);
            self.effects.ended.push(id);
            self.effects.dropped.extend(task.work.take());
            let next = std::mem::take(&mut task.next);
            let locks = std::mem::take(&mut task.locks);
            let (frame, group) = (task.frame, task.group);
            let kept = task.held || error.is_some();
            self.effects.changed |= task.held;
            if !kept {
                self.tasks.remove(id);
            }
            if error.is_some() {
                self.keep_failed(id);
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
                if error.is_some() {
                    let at = task.mark.as_ref().map(|mark| mark.at.clone());
                    self.effects.to_cancel.extend(at);
                }
                // Set before it starts, since it must not run.
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
        // The canceller knows of it.
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
            self.effects.changed |= known.unfinished == 0;
        }
        self.forget_frame(frame);
        let mut group = group;
        while let Some(known) = group.and_then(|id| self.groups.get_mut(id)) {
            known.unfinished -= 1;
            note(&mut known.error);
            self.effects.changed |= known.unfinished == 0;
            group = known.parent;
        }
        self.effects.changed |= self.stats.pending == 0;
    }
}
