//! Which receive gets which message, by the rules of MPI: a message goes to the first receive that accepts it, in the
//! order in which receives have begun; a receive gets the first message that it accepts, in the order in which they came.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use mpi_calls::ANY;

/// Where a message comes from, and its tag. Receives accept [`ANY`] as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) from: u32,
    pub(crate) tag: u32,
}

impl Source {
    /// Whether a receive from here accepts a message from there.
    fn accepts(self, message: Self) -> bool {
        (self.from == ANY || self.from == message.from)
            && (self.tag == ANY || self.tag == message.tag)
    }
}

/// The receives of type `R` and the messages of type `M` that have not found each other.
pub(crate) struct Matching<R, M> {
    /// The number of the next receive.
    next: u64,
    /// By number, so in the order in which they have begun.
    receives: BTreeMap<u64, (Source, R)>,
    /// In the order in which they came.
    messages: VecDeque<(Source, M)>,
}

impl<R, M> Default for Matching<R, M> {
    fn default() -> Self {
        Self {
            next: 0,
            receives: BTreeMap::new(),
            messages: VecDeque::new(),
        }
    }
}

impl<R, M> Matching<R, M> {
    /// Begins a receive. Returns its number, and both if there is a message for it; otherwise it waits.
    pub(crate) fn begin(&mut self, source: Source, receive: R) -> (u64, Option<(R, M)>) {
        let number = self.next;
        self.next += 1;
        let mut messages = self.messages.iter();
        let first = messages.position(|&(message, _)| source.accepts(message));
        match first.and_then(|first| self.messages.remove(first)) {
            Some((_, message)) => (number, Some((receive, message))),
            None => {
                self.receives.insert(number, (source, receive));
                (number, None)
            }
        }
    }

    /// Has a message come. Returns the receive that gets it, with its number, and the message; otherwise that waits.
    pub(crate) fn come(&mut self, source: Source, message: M) -> Option<(u64, R, M)> {
        let mut receives = self.receives.iter();
        let first = receives.find(|(_, (receive, _))| receive.accepts(source));
        let number = first.map(|(&number, _)| number);
        match number.and_then(|number| self.receives.remove_entry(&number)) {
            Some((number, (_, receive))) => Some((number, receive, message)),
            None => {
                self.messages.push_back((source, message));
                None
            }
        }
    }

    /// Whether receives wait.
    pub(crate) fn has_receives(&self) -> bool {
        !self.receives.is_empty()
    }

    /// The receive of that number, if it waits.
    pub(crate) fn receive(&self, number: u64) -> Option<&R> {
        self.receives.get(&number).map(|(_, receive)| receive)
    }

    /// Removes and returns it.
    pub(crate) fn remove(&mut self, number: u64) -> Option<R> {
        self.receives.remove(&number).map(|(_, receive)| receive)
    }

    /// Removes and returns all messages.
    pub(crate) fn remove_messages(&mut self) -> impl Iterator<Item = M> + use<R, M> {
        let messages = mem::take(&mut self.messages).into_iter();
        messages.map(|(_, message)| message)
    }

    /// Removes all receives, with their numbers.
    pub(crate) fn remove_all(&mut self) -> impl Iterator<Item = (u64, R)> + use<R, M> {
        let receives = mem::take(&mut self.receives).into_iter();
        receives.map(|(number, (_, receive))| (number, receive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(from: u32, tag: u32) -> Source {
        Source { from, tag }
    }

    /// Receives, and what they get: texts.
    fn matching() -> Matching<&'static str, &'static str> {
        Matching::default()
    }

    #[test]
    fn a_message_goes_to_the_first_receive_that_accepts_it() {
        let mut matching = matching();
        for (number, (from, tag)) in [(1, 7), (ANY, 8), (1, ANY), (ANY, ANY)]
            .into_iter()
            .enumerate()
        {
            assert_eq!(
                matching.begin(source(from, tag), "waits"),
                (number as u64, None)
            );
        }
        let mut come = |from, tag| {
            matching
                .come(source(from, tag), "came")
                .map(|found| found.0)
        };
        assert_eq!(come(1, 9), Some(2));
        assert_eq!(come(1, 8), Some(1));
        assert_eq!(come(2, 7), Some(3));
        assert_eq!(come(2, 7), None);
        assert_eq!(come(1, 7), Some(0));
        assert!(!matching.has_receives());
    }

    #[test]
    fn a_receive_gets_the_first_message_that_it_accepts() {
        let mut matching = matching();
        for (from, tag, message) in [(1, 7, "a"), (2, 7, "b"), (1, 8, "c"), (1, 7, "d")] {
            assert_eq!(matching.come(source(from, tag), message), None);
        }
        let mut gets = |from, tag| {
            let (_, found) = matching.begin(source(from, tag), "begins");
            found.map(|found| found.1)
        };
        assert_eq!(gets(2, ANY), Some("b"));
        assert_eq!(gets(1, 8), Some("c"));
        assert_eq!(gets(ANY, 7), Some("a"));
        assert_eq!(gets(2, ANY), None);
        assert_eq!(gets(ANY, ANY), Some("d"));
    }

    #[test]
    fn a_receive_that_is_removed_gets_nothing() {
        let mut matching = matching();
        let (first, _) = matching.begin(source(ANY, ANY), "first");
        let (second, _) = matching.begin(source(ANY, ANY), "second");
        assert_eq!(matching.receive(first), Some(&"first"));
        assert_eq!(matching.remove(first), Some("first"));
        assert_eq!(matching.remove(first), None);
        let found = matching.come(source(1, 1), "came");
        assert_eq!(found, Some((second, "second", "came")));
        let (third, _) = matching.begin(source(3, 3), "third");
        assert!(matching.remove_all().eq([(third, "third")]));
        assert_eq!(matching.come(source(4, 4), "unreceived"), None);
        assert!(matching.remove_messages().eq(["unreceived"]));
        assert!(matching.remove_messages().eq([""; 0]));
        assert!(!matching.has_receives());
    }
}
