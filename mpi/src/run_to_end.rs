//! Futures that run to their end, whatever becomes of the call that waits for them.

use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::task::{Context, Poll};

use revoff_fn::BoxFuture;

use crate::progress::Command;

/// The command to finish a future that is dropped before its end.
type Abandon = fn(BoxFuture<'static, ()>) -> Command;

/// A future that owns memory which MPI uses, or has a part in a collective function.
///
/// If this is dropped before its end, such as by the abort of a launch, the thread `mpi` polls it to its end.
pub(crate) struct RunToEnd<T: Send + 'static> {
    /// `None` at its end, or after a panic.
    future: Option<BoxFuture<'static, T>>,
    thread: Sender<Command>,
    abandon: Abandon,
}

impl<T: Send + 'static> RunToEnd<T> {
    pub(crate) fn new(
        thread: &Sender<Command>,
        abandon: Abandon,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self {
            future: Some(Box::pin(future)),
            thread: thread.clone(),
            abandon,
        }
    }
}

impl<T: Send + 'static> Future for RunToEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken, so that one that panics is not polled again.
        let Some(mut future) = self.future.take() else {
            unreachable!("a future is not polled after its end")
        };
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            self.future = Some(future);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for RunToEnd<T> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            let rest = Box::pin(async move { drop(future.await) });
            // If the thread has ended, so has MPI, or the program ends without that: the future is dropped.
            let _ = self.thread.send((self.abandon)(rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::progress::{is_done, run};

    /// A future that is ready at its `polls`th poll, and counts these.
    fn counting(polls: u32) -> (Arc<AtomicU32>, impl Future<Output = Arc<()>> + Send) {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let owned = Arc::new(());
        let future = poll_fn(move |_| {
            // Relaxed, here and below: a number alone, or ordered by the thread's end.
            match counted.fetch_add(1, Ordering::Relaxed) + 1 {
                poll if poll < polls => Poll::Pending,
                _ => Poll::Ready(Arc::clone(&owned)),
            }
        });
        (count, future)
    }

    #[test]
    fn a_dropped_future_is_polled_to_its_end() {
        let (thread, messages) = channel();
        let (count, future) = counting(5);
        let rest = RunToEnd::new(&thread, Command::Abandoned, future);
        let mut call: BoxFuture<'static, ()> = Box::pin(async move { drop(rest.await) });
        assert!(!is_done(&mut call) && !is_done(&mut call));
        drop(call);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        let polls = thread::spawn(move || run(&messages, Vec::new));
        while count.load(Ordering::Relaxed) < 5 {
            thread::yield_now();
        }
        drop(thread);
        let rest = polls.join().expect("it does not panic");
        assert!(rest.is_none());
        assert_eq!(count.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn a_future_that_has_ended_is_left_alone() {
        let (thread, messages) = channel();
        let (_, future) = counting(1);
        let ended = RunToEnd::new(&thread, Command::Abandoned, future);
        let mut call: BoxFuture<'static, ()> = Box::pin(async move { drop(ended.await) });
        assert!(is_done(&mut call));
        drop(call);
        assert!(messages.try_recv().is_err());
    }
}
