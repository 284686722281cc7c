//! Makes operations wait for each other, as a ticket lock does.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// Serves tickets one after the other, in the order in which they are issued.
#[derive(Default)]
pub(crate) struct TicketQueue(Mutex<Tickets>);

#[derive(Default)]
struct Tickets {
    next: u64,
    /// The numbers of tickets that are not done. The first is served.
    numbers: VecDeque<u64>,
}

impl TicketQueue {
    /// Issues the next ticket.
    pub(crate) fn issue(self: &Arc<Self>) -> Ticket {
        let mut tickets = self.lock();
        let number = tickets.next;
        tickets.next += 1;
        tickets.numbers.push_back(number);
        Ticket {
            queue: Arc::clone(self),
            number,
        }
    }

    /// The number of tickets issued so far.
    pub(crate) fn issued(&self) -> u64 {
        self.lock().next
    }

    /// Waits until the first `count` tickets are done. Nothing wakes the task.
    pub(crate) async fn wait_done(&self, count: u64) {
        poll_fn(|_| match self.lock().numbers.front() {
            Some(&first) if first < count => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Tickets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A ticket, which is done when this is dropped.
pub(crate) struct Ticket {
    queue: Arc<TicketQueue>,
    number: u64,
}

impl Ticket {
    /// Waits until it is served. Nothing wakes the task.
    pub(crate) async fn wait_served(&self) {
        poll_fn(|_| match self.queue.lock().numbers.front() {
            Some(&first) if first == self.number => Poll::Ready(()),
            _ => Poll::Pending,
        })
        .await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let number = self.number;
        self.queue.lock().numbers.retain(|&other| other != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::is_done;
    use revoff_fn::BoxFuture;

    #[test]
    fn tickets_are_served_in_order_and_may_be_done_early() {
        let queue = Arc::default();
        let [first, second, third] = [(); 3].map(|()| TicketQueue::issue(&queue));
        let is_served = |ticket: &Ticket| {
            let ticket = Ticket {
                queue: Arc::clone(&ticket.queue),
                number: ticket.number,
            };
            let mut wait: BoxFuture<'static, ()> = Box::pin(async move {
                ticket.wait_served().await;
                std::mem::forget(ticket);
            });
            let is_served = is_done(&mut wait);
            // The ticket is not done.
            std::mem::forget(wait);
            is_served
        };
        let are_done = |count| {
            let queue = Arc::clone(&queue);
            let mut done: BoxFuture<'static, ()> =
                Box::pin(async move { queue.wait_done(count).await });
            is_done(&mut done)
        };
        assert!(is_served(&first) && !is_served(&second) && !is_served(&third));
        drop(second);
        assert!(!is_served(&third));
        assert!(are_done(0) && !are_done(1));
        drop(first);
        assert!(is_served(&third));
        assert!(are_done(2) && !are_done(3));
        drop(third);
        assert!(are_done(queue.issued()));
    }
}
