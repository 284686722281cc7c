//! The streams of a device, and their destruction.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Context;
use super::signal::Signals;
use super::stream::Stream;
use crate::device::gpu::pool::{Pool, Pooled};

/// Streams of a device, beyond those that queues hold at a time. Each one that runs kernels has a
/// hardware queue, and about this many hardware queues make progress at a time.
const MAX_STREAMS: usize = 32;

/// How long copies of a lost device may take to end.
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
            pool: Pool::new(MAX_STREAMS),
        }
    }

    fn make(&self) -> Result<Stream, Infallible> {
        Ok(Stream::new(&self.context, &self.signals))
    }

    /// A stream without pending work.
    pub(super) fn take(&self) -> Stream {
        let Ok(stream) = self.pool.take(|| self.make());
        stream
    }

    /// A stream that may have pending work, if there are many.
    pub(super) fn take_shared(&self) -> Stream {
        let Ok(stream) = self.pool.take_shared(|| self.make());
        stream
    }

    /// Returns a stream. Its pending work continues.
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
            // Resources of streams must outlive their pending work.
            lost |= stream.synchronize().is_err();
        }
        if !lost {
            return;
        }
        // First stop all kernels, so that no stream waits for another one's.
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
