//! Related tasks: the children of one task, and groups.

use super::{Failure, Graph};
use crate::task::rules::Locations;
use crate::task::slab::Id;

/// Data shared by the children of one task.
#[derive(Default)]
pub(super) struct Frame {
    /// The task whose children these are; none for the scope.
    pub(super) parent: Option<Id>,
    pub(super) locations: Locations<Id>,
    pub(super) unfinished: usize,
    /// Whether its task runs; always for the scope's.
    pub(super) open: bool,
    pub(super) error: Failure,
}

pub(super) struct Group {
    pub(super) parent: Option<Id>,
    pub(super) unfinished: usize,
    pub(super) cancelled: bool,
    pub(super) error: Failure,
}

/// Related tasks.
#[derive(Clone, Copy, Debug)]
pub(in crate::task) enum Family {
    /// The descendants of the task whose frame this is.
    Frame(Id),
    /// All tasks in a group and in its subgroups.
    Group(Id),
}

impl<W, V> Graph<W, V> {
    /// Makes a frame for the children of a running task.
    pub(in crate::task) fn open_frame(&mut self, parent: Id) -> Id {
        self.frames.insert(Frame {
            parent: Some(parent),
            open: true,
            ..Frame::default()
        })
    }

    /// Called when the task of a frame has ended.
    pub(in crate::task) fn close_frame(&mut self, frame: Id) {
        if let Some(known) = self.frames.get_mut(frame) {
            known.open = false;
        }
        self.forget_frame(frame);
    }

    pub(super) fn forget_frame(&mut self, frame: Id) {
        let known = self.frames.get(frame);
        if known.is_some_and(|known| known.unfinished == 0 && !known.open) {
            self.frames.remove(frame);
        }
    }

    /// The number of unfinished children of a frame, and the first error of a child.
    pub(in crate::task) fn children(&self, frame: Id) -> (usize, Failure) {
        let known = self.frames.get(frame);
        known.map_or((0, None), |known| (known.unfinished, known.error.clone()))
    }

    pub(in crate::task) fn open_group(&mut self, parent: Option<Id>) -> Id {
        self.groups.insert(Group {
            parent,
            unfinished: 0,
            cancelled: false,
            error: None,
        })
    }

    /// The number of unfinished tasks of a group, and the first error of one.
    pub(in crate::task) fn members(&self, group: Id) -> (usize, Failure) {
        let known = self.groups.get(group);
        known.map_or((0, None), |known| (known.unfinished, known.error.clone()))
    }

    pub(in crate::task) fn close_group(&mut self, group: Id) {
        self.groups.remove(group);
    }

    /// Keeps the group's tasks from starting.
    pub(in crate::task) fn cancel(&mut self, group: Id) {
        if let Some(known) = self.groups.get_mut(group) {
            known.cancelled = true;
        }
    }

    /// Whether a group, or one that contains it, was cancelled.
    pub(in crate::task) fn is_cancelled(&self, group: Option<Id>) -> bool {
        let groups = std::iter::successors(group.and_then(|id| self.groups.get(id)), |known| {
            known.parent.and_then(|id| self.groups.get(id))
        });
        groups.into_iter().any(|known| known.cancelled)
    }

    /// The frame that a task is a child of, and its group.
    pub(in crate::task) fn home_of(&self, id: Id) -> Option<(Id, Option<Id>)> {
        self.tasks.get(id).map(|task| (task.frame, task.group))
    }

    /// A ready host task of `of`: the youngest, which is most likely waited for; or the oldest if
    /// the caller waits for all.
    pub(in crate::task) fn take_ready(&mut self, of: Family) -> Option<Id> {
        if matches!(of, Family::Frame(frame) if frame == self.root) {
            return self.effects.host.pop_front();
        }
        let at = self
            .effects
            .host
            .iter()
            .rposition(|&id| self.is_in(id, of))?;
        self.effects.host.remove(at)
    }

    /// Whether there is such a task.
    pub(in crate::task) fn has_ready(&self, of: Family) -> bool {
        self.effects.host.iter().rev().any(|&id| self.is_in(id, of))
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
