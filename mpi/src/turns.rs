//! One after the other.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// Gives turns, in the order in which they are asked for.
#[derive(Default)]
pub(crate) struct Turns(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    next: u64,
    /// The numbers of turns that have not ended. The first has come.
    numbers: VecDeque<u64>,
}

impl Turns {
    /// The next turn.
    pub(crate) fn take(self: &Arc<Self>) -> Turn {
        let mut queue = self.lock();
        let number = queue.next;
        queue.next += 1;
        queue.numbers.push_back(number);
        Turn {
            turns: Arc::clone(self),
            number,
        }
    }

    /// The number of turns that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().next
    }

    /// Waits until the first `count` turns have ended. Nothing wakes the task.
    pub(crate) async fn ended(&self, count: u64) {
        poll_fn(|_| match self.lock().numbers.front() {
            Some(&first) if first < count => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn, which ends when this is dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

impl Turn {
    /// Waits for it. Nothing wakes the task.
    pub(crate) async fn wait(&self) {
        poll_fn(|_| match self.turns.lock().numbers.front() {
            Some(&first) if first == self.number => Poll::Ready(()),
            _ => Poll::Pending,
        })
        .await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let number = self.number;
        self.turns.lock().numbers.retain(|&other| other != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::is_done;
    use revoff_fn::BoxFuture;

    #[test]
    fn turns_come_in_order_and_end_early() {
        let turns = Arc::default();
        let [first, second, third] = [(); 3].map(|()| Turns::take(&turns));
        let comes = |turn: &Turn| {
            let turn = Turn {
                turns: Arc::clone(&turn.turns),
                number: turn.number,
            };
            let mut wait: BoxFuture<'static, ()> = Box::pin(async move {
                turn.wait().await;
                std::mem::forget(turn);
            });
            let has_come = is_done(&mut wait);
            // Not the end of that turn.
            std::mem::forget(wait);
            has_come
        };
        let have_ended = |count| {
            let turns = Arc::clone(&turns);
            let mut ended: BoxFuture<'static, ()> =
                Box::pin(async move { turns.ended(count).await });
            is_done(&mut ended)
        };
        assert!(comes(&first) && !comes(&second) && !comes(&third));
        drop(second);
        assert!(!comes(&third));
        assert!(have_ended(0) && !have_ended(1));
        drop(first);
        assert!(comes(&third));
        assert!(have_ended(2) && !have_ended(3));
        drop(third);
        assert!(have_ended(turns.taken()));
    }
}
