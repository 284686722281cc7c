//! The streams of a device, and their end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Context;
use super::signal::Signals;
use super::stream::Stream;
use crate::device::gpu::pool::{Pool, Pooled};

/// Streams of a device, beyond those that queues hold at a time. Each that runs kernels has a
/// queue of the hardware, of which about so many make progress at a time.
const MOST: usize = 32;

/// How long copies of a device that is lost may take to come to their end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The streams of a device.
pub(super) struct Streams {
    context: Arc<Context>,
    signals: Arc<Signals>,
    pool: Pool<Stream>,
}

impl Streams {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            signals: Signals::new(context),
            pool: Pool::new(MOST),
        }
    }

    fn make(&self) -> Result<Stream, Infallible> {
        Ok(Stream::new(&self.context, &self.signals))
    }

    /// A stream in which nothing is under way.
    pub(super) fn take(&self) -> Stream {
        let Ok(stream) = self.pool.take(|| self.make());
        stream
    }

    /// A stream in which something may be under way, if there are many.
    pub(super) fn take_shared(&self) -> Stream {
        let Ok(stream) = self.pool.take_shared(|| self.make());
        stream
    }

    /// Keeps a stream. What is under way in it goes on.
    pub(super) fn put(&self, mut stream: Stream) {
        stream.drop_readbacks();
        self.pool.put(stream);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let mut busy = self.pool.take_busy();
        let mut lost = self.context.check_lost().is_err();
        for stream in &mut busy {
            // What streams hold must outlive what is under way.
            lost |= stream.synchronize().is_err();
        }
        if !lost {
            return;
        }
        // First none of them runs kernels, then none waits for one of another.
        busy.iter_mut().for_each(Stream::stop);
        let until = Instant::now() + PATIENCE;
        for mut stream in busy {
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
