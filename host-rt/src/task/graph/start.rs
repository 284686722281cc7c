//! The start of tasks.

use std::sync::Arc;

use super::task::{Edge, Mark, Phase};
use super::{Failure, Graph};
use crate::task::error::TaskError;
use crate::task::slab::Id;

impl<W, V: Clone> Graph<W, V> {
    /// Called when one of a task's dependencies is resolved, and when it may start otherwise.
    pub(in crate::task) fn may_start(&mut self, id: Id) {
        let mut ended = Vec::new();
        self.count_down(id, &mut ended);
        self.end_all(ended);
    }

    pub(super) fn count_down(&mut self, id: Id, ended: &mut Vec<(Id, Failure)>) {
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

    /// Starts a ready task: returns its work, and the tasks whose events its queue waits for.
    /// `None` if it does not start.
    pub(in crate::task) fn start(&mut self, id: Id) -> Option<(W, Vec<Mark<V>>)> {
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
                // It was removed from its queue, and will be queued again.
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

    /// Called when a target task is in its queue. Its work is kept, in case it must be repeated.
    pub(in crate::task) fn queued(&mut self, id: Id, work: W, mark: Mark<V>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if task.cause.is_some() {
            self.effects.to_cancel.push(mark.at.clone());
        }
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
}
