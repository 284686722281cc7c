//! Streams kept for reuse.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::base::lock::lock;

/// A stream of a device.
pub(in crate::device) trait Pooled {
    /// Whether it has finished its work without errors.
    fn is_idle(&mut self) -> bool;
}

/// The streams of a device.
pub(in crate::device) struct Pool<S> {
    /// The maximum number of streams, unless queues hold more at a time.
    most: usize,
    kept: Mutex<Kept<S>>,
}

struct Kept<S> {
    /// Streams without pending work.
    idle: Vec<S>,
    /// Streams that had pending work when last checked, in the order of their return.
    busy: VecDeque<S>,
    /// Shared streams handed out since the last check of all.
    shared: usize,
    /// The number of streams, including those that queues hold.
    count: usize,
}

impl<S> Kept<S> {
    /// Removes streams above `most`, as far as they are known to be idle.
    fn take_beyond(&mut self, most: usize) -> Vec<S> {
        let mut beyond = Vec::new();
        while self.count > most
            && let Some(stream) = self.idle.pop()
        {
            self.count -= 1;
            beyond.push(stream);
        }
        beyond
    }
}

impl<S: Pooled> Pool<S> {
    pub(in crate::device) fn new(most: usize) -> Self {
        Self {
            most,
            kept: Mutex::new(Kept {
                idle: Vec::new(),
                busy: VecDeque::new(),
                shared: 0,
                count: 0,
            }),
        }
    }

    /// Checks all streams with pending work.
    ///
    /// One by one and without the lock: the check may call the driver, and a log subscriber that
    /// receives its failure may use this pool, or panic.
    fn sweep(&self) {
        let count = {
            let mut kept = lock(&self.kept);
            kept.shared = 0;
            kept.busy.len()
        };
        for _ in 0..count {
            let Some(stream) = lock(&self.kept).busy.pop_front() else {
                return;
            };
            self.keep(stream);
        }
    }

    fn keep(&self, mut stream: S) {
        let is_idle = stream.is_idle();
        let mut kept = lock(&self.kept);
        if is_idle {
            kept.idle.push(stream);
        } else {
            kept.busy.push_back(stream);
        }
    }

    /// A stream without pending work; a new one if there is none.
    ///
    /// # Errors
    /// It cannot be created.
    pub(in crate::device) fn take<E>(&self, make: impl FnOnce() -> Result<S, E>) -> Result<S, E> {
        if lock(&self.kept).idle.is_empty() {
            self.sweep();
        }
        let mut kept = lock(&self.kept);
        if let Some(stream) = kept.idle.pop() {
            return Ok(stream);
        }
        kept.count += 1;
        drop(kept);
        // Without the lock, since it takes long.
        make().inspect_err(|_| lock(&self.kept).count -= 1)
    }

    /// A stream that may have pending work, if there are many.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub(in crate::device) fn take_shared<E>(
        &self,
        make: impl FnOnce() -> Result<S, E>,
    ) -> Result<S, E> {
        match self.take_any() {
            Some(stream) => Ok(stream),
            None => self.take(make),
        }
    }

    /// A returned stream, even with pending work; `None` if more may be created.
    fn take_any(&self) -> Option<S> {
        let mut kept = lock(&self.kept);
        if kept.count < self.most {
            return None;
        }
        // Checking all of them takes longer than a launch, so it is done once per round.
        if kept.idle.is_empty() && kept.shared >= kept.busy.len() {
            drop(kept);
            self.sweep();
            kept = lock(&self.kept);
        }
        kept.shared += 1;
        kept.idle.pop().or_else(|| kept.busy.pop_front())
    }

    /// Returns a stream. Its pending work continues.
    pub(in crate::device) fn put(&self, stream: S) {
        self.keep(stream);
        let beyond = lock(&self.kept).take_beyond(self.most);
        // Dropped without the lock, since destroying a stream may call the log subscriber.
        drop(beyond);
    }

    /// Takes all returned streams with pending work.
    pub(in crate::device) fn take_busy(&self) -> VecDeque<S> {
        std::mem::take(&mut lock(&self.kept).busy)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::rc::Rc;

    use super::*;

    struct Stream {
        is_idle: Rc<Cell<bool>>,
    }

    impl Pooled for Stream {
        fn is_idle(&mut self) -> bool {
            self.is_idle.get()
        }
    }

    /// A stream, and whether it was created.
    fn take(pool: &Pool<Stream>) -> (Stream, bool) {
        let mut is_new = false;
        let stream = pool.take(|| {
            is_new = true;
            let is_idle = Rc::new(Cell::new(true));
            Ok::<_, Infallible>(Stream { is_idle })
        });
        (stream.unwrap(), is_new)
    }

    /// Returns `count` new streams with pending work.
    fn put_busy(pool: &Pool<Stream>, count: usize) -> Vec<Rc<Cell<bool>>> {
        let streams: Vec<_> = (0..count).map(|_| take(pool).0).collect();
        let put = streams.into_iter().map(|stream| {
            let is_idle = Rc::clone(&stream.is_idle);
            is_idle.set(false);
            pool.put(stream);
            is_idle
        });
        put.collect()
    }

    #[test]
    fn busy_streams_hide_no_idle_one() {
        let pool = Pool::new(32);
        put_busy(&pool, 8);
        pool.put(take(&pool).0);
        for _ in 0..100 {
            let (stream, is_new) = take(&pool);
            assert!(!is_new);
            pool.put(stream);
        }
    }

    #[test]
    fn busy_streams_keep_no_others() {
        let pool = Pool::new(4);
        let flags = put_busy(&pool, 40);
        for is_idle in &flags[8..] {
            is_idle.set(true);
        }
        pool.put(take(&pool).0);
        let there = flags.iter().filter(|flag| Rc::strong_count(flag) > 1);
        assert_eq!(there.count(), 8);
        assert_eq!(pool.take_busy().len(), 8);
    }

    #[test]
    fn where_there_are_many_busy_ones_are_shared_in_turn() {
        let pool = Pool::new(2);
        let flags = put_busy(&pool, 2);
        let shared = || {
            let make = || -> Result<Stream, &str> { Err("there are enough") };
            pool.take_shared(make).unwrap()
        };
        for is_busy in [&flags[0], &flags[1], &flags[0]] {
            let stream = shared();
            assert!(Rc::ptr_eq(&stream.is_idle, is_busy));
            pool.put(stream);
        }
    }

    /// A log subscriber that receives a failure may use the pool.
    #[test]
    fn a_look_at_a_stream_may_use_the_pool() {
        struct Nosy<'p>(&'p std::cell::OnceCell<Pool<Self>>, u32);

        impl Pooled for Nosy<'_> {
            fn is_idle(&mut self) -> bool {
                if let Some(pool) = self.0.get() {
                    assert!(
                        pool.kept.try_lock().is_ok(),
                        "locked while one is looked at"
                    );
                }
                self.1 += 1;
                self.1 > 1
            }
        }

        let cell = std::cell::OnceCell::new();
        let pool = cell.get_or_init(|| Pool::new(1));
        pool.put(Nosy(&cell, 0));
        let make = || -> Result<Nosy<'_>, &str> { Err("there is one") };
        assert_eq!(pool.take(make).unwrap().1, 2);
    }

    #[test]
    fn one_that_cannot_be_made_does_not_count() {
        let pool: Pool<Stream> = Pool::new(1);
        for take in [Pool::take, Pool::take_shared] {
            assert_eq!(take(&pool, || Err("no memory")).err(), Some("no memory"));
        }
        assert_eq!(lock(&pool.kept).count, 0);
    }
}
