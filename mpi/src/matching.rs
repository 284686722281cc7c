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

/// A receive or a message.
pub(crate) trait HasSource {
    fn source(&self) -> Source;
}

/// The receives of type `R` and the messages of type `M` that have not found each other.
pub(crate) struct Matching<R, M> {
    /// The number of the next receive.
    next: u64,
    /// By number, so in the order in which they have begun.
    receives: BTreeMap<u64, R>,
    /// In the order in which they came.
    messages: VecDeque<M>,
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

impl<R: HasSource, M: HasSource> Matching<R, M> {
    /// Begins a receive. Returns its number, and both if there is a message for it; otherwise it waits.
    pub(crate) fn begin(&mut self, receive: R) -> (u64, Option<(R, M)>) {
        let number = self.next;
        self.next += 1;
        let source = receive.source();
        let mut messages = self.messages.iter();
        let first = messages.position(|message| source.accepts(message.source()));
        match first.and_then(|first| self.messages.remove(first)) {
            Some(message) => (number, Some((receive, message))),
            None => {
                self.receives.insert(number, receive);
                (number, None)
            }
        }
    }

    /// Adds a message. Returns the receive that gets it, with its number, and the message; otherwise that waits.
    pub(crate) fn add_message(&mut self, message: M) -> Option<(u64, R, M)> {
        let source = message.source();
        let mut receives = self.receives.iter();
        let first = receives.find(|(_, receive)| receive.source().accepts(source));
        let number = first.map(|(&number, _)| number);
        match number.and_then(|number| self.receives.remove_entry(&number)) {
            Some((number, receive)) => Some((number, receive, message)),
            None => {
                self.messages.push_back(message);
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
        self.receives.get(&number)
    }

    /// Removes and returns it.
    pub(crate) fn remove(&mut self, number: u64) -> Option<R> {
        self.receives.remove(&number)
    }

    /// Removes and returns all messages.
    pub(crate) fn remove_messages(&mut self) -> impl Iterator<Item = M> + use<R, M> {
        mem::take(&mut self.messages).into_iter()
    }

    /// Removes all receives, with their numbers.
    pub(crate) fn remove_all(&mut self) -> impl Iterator<Item = (u64, R)> + use<R, M> {
        mem::take(&mut self.receives).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receive or a message with a text.
    #[derive(Debug, PartialEq)]
    struct Text(Source, &'static str);

    impl HasSource for Text {
        fn source(&self) -> Source {
            self.0
        }
    }

    fn text(from: u32, tag: u32, text: &'static str) -> Text {
        Text(Source { from, tag }, text)
    }

    fn matching() -> Matching<Text, Text> {
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
                matching.begin(text(from, tag, "waits")),
                (number as u64, None)
            );
        }
        let mut come = |from, tag| {
            matching
                .add_message(text(from, tag, "came"))
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
            assert_eq!(matching.add_message(text(from, tag, message)), None);
        }
        let mut gets = |from, tag| {
            let (_, found) = matching.begin(text(from, tag, "begins"));
            found.map(|(_, message)| message.1)
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
        let (first, _) = matching.begin(text(ANY, ANY, "first"));
        let (second, _) = matching.begin(text(ANY, ANY, "second"));
        assert_eq!(matching.receive(first), Some(&text(ANY, ANY, "first")));
        assert_eq!(matching.remove(first), Some(text(ANY, ANY, "first")));
        assert_eq!(matching.remove(first), None);
        let found = matching.add_message(text(1, 1, "came"));
        let both = (text(ANY, ANY, "second"), text(1, 1, "came"));
        assert_eq!(found, Some((second, both.0, both.1)));
        let (third, _) = matching.begin(text(3, 3, "third"));
        assert!(matching.remove_all().eq([(third, text(3, 3, "third"))]));
        assert_eq!(matching.add_message(text(4, 4, "unreceived")), None);
        assert!(matching.remove_messages().eq([text(4, 4, "unreceived")]));
        assert_eq!(matching.remove_messages().next(), None);
        assert!(!matching.has_receives());
    }
}
