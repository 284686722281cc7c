//! Streams that wait to be used again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::context::Context;
use super::signal::Signals;
use super::stream::Stream;
use crate::lock::lock;

/// Streams of a device, beyond those that queues hold at a time. Each that runs kernels has a
/// queue of the hardware, of which about so many make progress at a time.
const MOST: usize = 32;

/// Streams that are looked at for one in which nothing is under way. The first was given
/// back first; where it and the next are busy, so will the others be.
const LOOKS: usize = 4;

/// How long copies of a device that is lost may take to come to their end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The streams of a device.
pub(super) struct Streams {
    context: Arc<Context>,
    signals: Arc<Signals>,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    /// The one that was given back first comes first.
    waiting: VecDeque<Stream>,
    /// With those that queues hold.
    count: usize,
}

impl Pool {
    /// One in which nothing is under way.
    fn take_idle(&mut self) -> Option<Stream> {
        let mut looked = self.waiting.iter_mut().take(LOOKS);
        let at = looked.position(Stream::is_idle)?;
        self.waiting.remove(at)
    }
}

impl Streams {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            signals: Signals::new(context),
            pool: Mutex::default(),
        }
    }

    /// A stream in which nothing is under way.
    pub(super) fn take(&self) -> Stream {
        let mut pool = lock(&self.pool);
        pool.take_idle().unwrap_or_else(|| {
            pool.count += 1;
            Stream::new(&self.context, &self.signals)
        })
    }

    /// A stream in which something may be under way, if there are many.
    pub(super) fn take_shared(&self) -> Stream {
        let mut pool = lock(&self.pool);
        if let Some(stream) = pool.take_idle() {
            return stream;
        }
        let busy = pool.count >= MOST;
        match busy.then(|| pool.waiting.pop_front()).flatten() {
            Some(stream) => stream,
            None => {
                drop(pool);
                self.take()
            }
        }
    }

    /// Keeps a stream. What is under way in it goes on.
    pub(super) fn put(&self, mut stream: Stream) {
        stream.leave_landings(usize::MAX);
        let mut pool = lock(&self.pool);
        pool.waiting.push_back(stream);
        let mut beyond = Vec::new();
        while pool.count > MOST && pool.waiting.front_mut().is_some_and(Stream::is_idle) {
            beyond.extend(pool.waiting.pop_front());
            pool.count -= 1;
        }
        drop(pool);
        // With ROCr, outside the lock.
        drop(beyond);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let pool = &mut *lock(&self.pool);
        let mut lost = self.context.check_lost().is_err();
        for stream in &mut pool.waiting {
            // What streams hold must outlive what is under way.
            lost |= stream.synchronize().is_err();
        }
        if !lost {
            return;
        }
        // First none of them runs kernels, then none waits for one of another.
        pool.waiting.iter_mut().for_each(Stream::stop);
        let until = Instant::now() + PATIENCE;
        for mut stream in pool.waiting.drain(..) {
            while !stream.is_idle() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !stream.is_idle() {
                tracing::warn!(
                    device = self.context.name(),
                    "a copy does not end: its memory is left to it"
                );
                std::mem::forget(stream);
            }
        }
    }
}
